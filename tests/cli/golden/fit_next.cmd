# Runs a model.
# The suggested command trains what was tried.
assay fit --synthetic --min-size 32 --set model.name=squeezenet1_1 --set 'model.weights="random"' \
    --memory 1GiB --most 1 --steps 2 --threads 1 2>/dev/null | tail -n 1
