cd "$inputs/onnx" && assay verify missing
