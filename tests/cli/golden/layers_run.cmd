# Runs a model.
COLUMNS=100 assay layers squeezenet1_1 --input size=64 --run --iters 1 --threads 1 | sed -n '4p; /^features.1 /p; /^memory/p; /^share/p'
