python3 "$inputs/make_weights.py"
assay weights check --classes 2 none.safetensors faster-rcnn | tail -n 2
assay weights check --classes 2 whole.safetensors faster-rcnn
assay weights check whole.safetensors faster-rcnn
echo $?
