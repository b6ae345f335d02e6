assay prune nothing.onnx --percent 30
