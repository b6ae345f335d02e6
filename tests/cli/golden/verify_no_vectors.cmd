cd "$inputs/onnx" && assay verify linear/model.onnx --data missing
