# Runs a model.
# The event file of a training has every step, warm-up included, and the one of
# the whole run does not repeat them.
assay train --synthetic --min-size 32 --steps 4 --threads 1 -o run.assay \
    --set model.name=squeezenet1_1 --tensorboard runs >/dev/null 2>&1
ls runs/run | sed 's/[0-9][0-9]*/TIME/' | sort
for tag in train/loss train/learning_rate train/wait_ms train/images_per_s; do
    grep -aoh "$tag" runs/run/*.a-training | sort | uniq -c
    grep -ac "$tag" runs/run/*.assay
done
