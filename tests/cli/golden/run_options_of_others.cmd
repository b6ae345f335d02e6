# An option that would change nothing is refused.
assay run model.onnx --weights other.pth
assay run model.h5 --classes 5
assay run model.net --variant cifar10
assay run model.keras --min-size 100
assay run mobilenet_v2 --random --max-size 100
assay run mobilenet_v2 --random --norm batch
assay run faster-rcnn --random --iou 0.3
assay run resnet18 --random --allow-outside
assay layers model.onnx --classes 5
assay run resnet18 --random --sweep batch=1,2 --html report.html
assay run resnet18 --random --sweep batch=1,2 --explain
assay run resnet18 --random --sweep batch=1,2 --json
assay run resnet18 --random --explain --json
assay run resnet18 --random -o -
assay run resnet18 --random --sweep batch=1,2 -o -
assay run resnet18 --random --trace -
assay run resnet18 --random --html=-
assay metrics model.onnx --weights other.pth
