# As wide as the screen; columns that do not fit are named.
COLUMNS=60 assay layers resnet18 --variant cifar10 | sed -n '1,8p; /^total/,$p'
COLUMNS=60 assay layers faster-rcnn | awk '{ gsub(/…/, "."); n = length($0) }
    n > 60 { print n ": " $0 }'
COLUMNS=60 assay metrics resnet18 --no-weights --short --notes |
    awk 'length($0) > 60 { print length($0) ": " $0 }'
