assay prune resnet18 --percent 40 --mode random_weighted --repeats 2 -o x.net >out && ls && grep seed out
