assay run resnet18 --random --set x=1
assay run model.onnx --set orig_size
assay run model.onnx --set a=1 --set a=2
assay run resnet18 --random --input images:size=64
