assay metrics resnet18 --limit 5
