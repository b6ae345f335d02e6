# What a newcomer types; and a model file in place of a command.
assay models
: >net.onnx
assay net.onnx
