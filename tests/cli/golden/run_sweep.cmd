# Runs a model.
assay run squeezenet1_1 --random --input size=64 --iters 2 --tune 0.01 --warmup 0 \
    --sweep batch=1,2 --sweep threads=1,2 -o grid.assay |
    sed -E 's/^( +[0-9]+ +[0-9]+) .*B$/\1  MEASURED/'
ls
assay show grid-batch2-threads1.assay --json | sed -n '/"sweep/p'
