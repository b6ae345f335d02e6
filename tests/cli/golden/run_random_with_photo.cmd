assay run resnet18 --random street.jpg
