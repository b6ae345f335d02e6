# Runs a model.
XDG_CACHE_HOME=$PWD
export XDG_CACHE_HOME
COLUMNS=200 assay run faster-rcnn --random --min-size 64 --iters 1 --warmup 0 --tune 0.01 |
    sed -n '/^input\|^content/p'
