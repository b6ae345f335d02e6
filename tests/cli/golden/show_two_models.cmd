# Runs a model.
# Iterations of two models have no meaningful mean.
for model in squeezenet1_0 squeezenet1_1; do
    assay run $model --random --input size=32 --iters 1 --warmup 0 --tune 0.01 -o $model.assay >/dev/null
done
assay show squeezenet1_0.assay squeezenet1_1.assay
