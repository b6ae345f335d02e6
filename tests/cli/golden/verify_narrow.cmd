# As wide as the screen: long names are shortened, sentences wrap.
cd "$inputs/onnx"
COLUMNS=48 assay verify linear/model.onnx --data wrong
COLUMNS=48 assay verify linear
