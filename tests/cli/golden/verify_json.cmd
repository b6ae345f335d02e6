cd "$inputs/onnx" && assay verify --json linear/model.onnx --data wrong
