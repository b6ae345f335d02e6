cd "$inputs/onnx" && assay verify linear
