XDG_CACHE_HOME=$PWD
export XDG_CACHE_HOME
mkdir -p assay/weights
echo x >assay/weights/ssd300_vgg16_coco-b556d3b4.pth
assay weights fetch ssd300_vgg16 2>said
code=$?
sed "s,$PWD,.," said >&2
exit $code
