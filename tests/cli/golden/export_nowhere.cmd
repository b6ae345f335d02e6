assay export resnet18
