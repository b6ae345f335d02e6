model=$inputs/onnx/two_inputs/model.onnx
photo=$inputs/../../../assets/coffee.jpg
assay run "$model" "$photo"
assay run "$model" "$photo" --set q=1
assay run "$model" "$photo" --set factor=1x2
assay run "$model" "$photo" --set factor=half
assay run "$model" "$photo" --set x=1
assay run "$model" "$photo" --set factor=1 --input factor
assay run "$model" "$photo" --set factor=1 --input y:size=4
for words in "--set factor=0.5" "--set factor=2 --input x" \
    "--set factor=2 --input x:fit=letterbox"; do
    # shellcheck disable=SC2086
    assay run "$model" "$photo" -n 1 $words >out && grep -c 'random' out
done
assay run "$model" --set factor=3 -n 1 | grep -o 'random values: [^(]*  '
