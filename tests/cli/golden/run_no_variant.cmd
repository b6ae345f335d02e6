XDG_CACHE_HOME=$PWD
export XDG_CACHE_HOME
assay run alexnet --random --variant cifar10
