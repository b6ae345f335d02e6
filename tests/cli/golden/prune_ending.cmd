assay prune resnet18 --percent 30 -o x.pt
