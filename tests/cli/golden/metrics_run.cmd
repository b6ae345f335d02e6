# Runs a model.
assay metrics resnet18 --dataset cifar10 -n 2 --csv \
    --only execution_time,throughput,memory_measured | cut -d, -f1,2,5,6
