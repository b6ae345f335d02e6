XDG_CACHE_HOME=$PWD/cache
export XDG_CACHE_HOME
mkdir -p cache/assay/weights
touch cache/assay/weights/maskrcnn_resnet50_fpn_coco-bf2d0c1e.pth
assay weights list | sed "s,$PWD,.,"
