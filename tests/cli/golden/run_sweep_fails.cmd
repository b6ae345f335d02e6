# Runs a model.
XDG_CACHE_HOME=$PWD
export XDG_CACHE_HOME
assay run squeezenet1_1 --random --iters 1 --warmup 0 --plain --sweep size=8,32
