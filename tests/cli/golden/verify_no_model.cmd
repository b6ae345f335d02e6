echo "not a model" >model.onnx
assay verify model.onnx
