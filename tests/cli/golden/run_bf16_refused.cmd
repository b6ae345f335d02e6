ASSAY_CPU=avx2 assay run resnet18 --variant cifar100 --random --precision bf16
