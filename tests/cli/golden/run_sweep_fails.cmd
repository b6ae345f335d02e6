# Runs a model.
assay run squeezenet1_1 --random --iters 1 --warmup 0 --plain --sweep size=8,32
