assay metrics alexnet --dataset cifar100 --no-weights
