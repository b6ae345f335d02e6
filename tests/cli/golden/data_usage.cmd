assay data
echo $?
assay data fletch oxford-iiit-pet
echo $?
assay data fetch oxford-pet
echo $?
assay data show --keep x
echo $?
assay data list --images
