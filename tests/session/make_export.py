"""Exports Faster R-CNN and Mask R-CNN of torchvision as ONNX files and writes,
into the folder given, these, their checkpoints and an image.

    make_export.py FOLDER SIZE PHOTOGRAPH

The weights are those of make_detector.py. Exits with 77 if torchvision is
missing.
"""
import sys
import warnings

import make_detector
import torch
import torchvision
from torchvision.models.detection import FasterRCNN, MaskRCNN


def export(folder, name, model, image, outputs):
    torch.save(model.state_dict(), "%s/%s.pth" % (folder, name))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # shapes that are traced
        torch.onnx.export(model, ([image],), "%s/%s.onnx" % (folder, name),
                          opset_version=11, input_names=["image"],
                          output_names=outputs)


def main(folder, size, photograph):
    image = torchvision.io.read_image(
        photograph, torchvision.io.ImageReadMode.RGB).float() / 255
    mask = make_detector.build(MaskRCNN, size)
    make_detector.calibrate(mask, image)
    make_detector.spread_scores(mask, image)
    faster = make_detector.build(FasterRCNN, size)
    faster.load_state_dict(mask.state_dict(), strict=False)
    outputs = ["boxes", "labels", "scores"]
    export(folder, "faster", faster, image, outputs)
    export(folder, "mask", mask, image, outputs + ["masks"])
    make_detector.write_safetensors(folder + "/image.safetensors",
                                    {"image_0": image})


if __name__ == "__main__":
    with torch.no_grad():
        main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
