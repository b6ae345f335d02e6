assay run resnet18
