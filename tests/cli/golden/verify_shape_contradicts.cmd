cd "$inputs/onnx" && assay verify linear --shape x=1x4
