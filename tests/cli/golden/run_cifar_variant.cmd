# Runs a model.
COLUMNS=200 assay run --full resnet18 --variant cifar100 --random --threads 2 --iters 2 --warmup 0 --batch 2 --tune 0.01 |
    sed -n '/^model\|^settings\|^input\|^note/p'
