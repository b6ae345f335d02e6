# Runs a model.
XDG_CACHE_HOME=$PWD
export XDG_CACHE_HOME
COLUMNS=100 assay layers squeezenet1_1 --input size=64 --run --iters 1 --threads 1 | sed -n '4p; /^features.1 /p; /^memory/p; /^share/p'
