# Runs a model.
for threads in 7 1; do
    assay run --full faster-rcnn "$inputs/../../../assets/coffee.jpg" --min-size 64 --iters 1 --warmup 0 --tune 0.01 --threads $threads \
        --batch 2 --iters 3 -o run$threads.assay |
        sed -n 's/   recorded.*//; s/^machine.* \([0-9]* thread[s]*\).*/\1/p
            /^settings\|^runs/p'
done
# The number of threads does not change what is found.
assay run --full faster-rcnn "$inputs/../../../assets/coffee.jpg" --min-size 64 --iters 1 --warmup 0 --tune 0.01 --threads 7 | grep ^content >7
assay run --full faster-rcnn "$inputs/../../../assets/coffee.jpg" --min-size 64 --iters 1 --warmup 0 --tune 0.01 --threads 1 | grep ^content >1
cmp 7 1 && cat 1
