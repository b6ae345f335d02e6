# Running statistics are buffers in every format, so that one network has one
# number of parameters: torchvision's weights_meta says 11689512.
assay export resnet18 -o r.onnx >exported
for model in resnet18 r.onnx; do
    assay layers "$model" --json | grep -o '"parameters": [0-9]*' | sort -t: -k2 -n | tail -1
    assay metrics "$model" --no-weights --csv --only total_params,params_and_buffers | cut -d, -f1,3
done
