# Runs a model.
COLUMNS=200 assay run --full faster-rcnn --random --min-size 64 --iters 1 --warmup 0 --tune 0.01 |
    sed -n '/^input\|^content/p'
