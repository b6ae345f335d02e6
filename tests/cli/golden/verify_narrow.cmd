# As wide as the screen: what is long is shortened, sentences break.
cd "$inputs/onnx"
COLUMNS=48 assay verify linear/model.onnx --data wrong
COLUMNS=48 assay verify linear
