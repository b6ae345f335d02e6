assay run resnet18 --random --input size=64,colour=red
assay run resnet18 --random --input std=0
assay run resnet18 --random --input size=0
assay run resnet18 --random --input fit=squeeze
assay run resnet18 --random --input mean=1:2
assay run faster-rcnn --random --input size=64
assay run resnet18 --random --shape 1x3x4
assay run model.onnx --shape x=1x3xk
