# Runs a model.
assay run faster-rcnn "$inputs/../../../assets/coffee.jpg" --min-size 64 \
    --iters 1 --warmup 0 --plain --explain |
    sed -n '/^kernels/,$ { s/: .*//; p }' | sed -n '1,7p'
