assay layers resnet18 --variant cifar100 --csv | sed -n '1,3p; /^layer4.1.add/,$p' | tr -d '\r'
