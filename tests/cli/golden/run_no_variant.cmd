assay run alexnet --random --variant cifar10
