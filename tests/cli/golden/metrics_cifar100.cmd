# The known table; the line of the backend depends on the build.
COLUMNS=120 assay metrics resnet18 --dataset cifar100 --no-weights --short | grep -v Backend
