assay metrics alexnet --set threshold
