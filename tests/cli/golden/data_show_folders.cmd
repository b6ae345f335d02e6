mkdir -p photos/train/cat photos/train/dog photos/val/cat photos/val/dog
cp "$inputs/../../../assets/coffee.jpg" photos/train/cat/1.jpg
cp "$inputs/../../../assets/coffee.jpg" photos/val/dog/1.jpg
echo "no photograph" >photos/train/dog/broken.jpg
assay data show photos
assay data show --images --classes photos
assay data show --json --split test photos
