assay metrics squeezenet1_1 --compare alexnet --no-weights --json \
    --only model_size,complexity | grep -v backend
