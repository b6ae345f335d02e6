mkdir empty
assay metrics resnet18 --dataset cifar10 --data empty
