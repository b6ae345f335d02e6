# Runs a model.
XDG_CACHE_HOME=$PWD
export XDG_CACHE_HOME
mkdir -p assay/weights
# As large as the published one; its contents are checked when it is read.
truncate -s 167502151 assay/weights/fasterrcnn_resnet50_fpn_coco-258fb6c6.pth
COLUMNS=400 assay run --full faster-rcnn "$inputs/../../../assets/coffee.jpg" --min-size 64 --iters 1 --warmup 0 --tune 0.01 |
    sed -n "s,$PWD,FOLDER,; /^note/p"
assay weights fetch faster-rcnn | sed "s,$PWD,.,"
