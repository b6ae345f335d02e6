assay export faster-rcnn -o x.onnx; code=$?; ls; exit $code
