# Files that people mistake for a model.
cp "$inputs/weights.pth" weights.pth
cp "$inputs/../../../assets/coffee.jpg" coffee.jpg
printf '\034\0\0\0TFL3\0\0\0\0' >face.tflite
printf '\200\002\212\012l\374\234F\371' >old.pth
printf '\020\0\0\0\0\0\0\0{"a":{}}      ' >tensors.safetensors
assay import "$inputs/small.json" -o small.assay >wrote || cat wrote
for file in weights.pth old.pth tensors.safetensors face.tflite coffee.jpg small.assay nowhere.pth; do
    assay run $file coffee.jpg
    echo "exit $?"
done
