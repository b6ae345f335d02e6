cd "$inputs/onnx" && assay verify linear/model.onnx --data other_shape
