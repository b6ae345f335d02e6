cd "$inputs/onnx" && assay verify linear/model.onnx --data wrong --atol 0.5 --rtol 0
