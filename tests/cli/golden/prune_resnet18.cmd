assay prune resnet18 --percent 30 --seed 7 -o small.net && head -3 small.net && assay layers small.net | tail -4
