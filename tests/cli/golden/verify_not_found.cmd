assay verify nowhere.onnx
