assay prune resnet18 -o x.net
