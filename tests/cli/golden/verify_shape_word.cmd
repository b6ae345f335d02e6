cd "$inputs/onnx" && assay verify linear --shape x=1,3
