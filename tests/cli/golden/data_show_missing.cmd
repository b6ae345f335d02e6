mkdir empty
assay data show empty
echo $?
assay data show --dataset coco empty
echo $?
assay data show nowhere
