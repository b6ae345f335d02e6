assay run nowhere.onnx
