cd "$inputs/onnx" && assay verify linear --shape images=1x3
