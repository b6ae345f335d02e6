"""Writes what torchvision's preset for ImageNet makes of photographs.

    make_preset.py FOLDER PHOTOGRAPH...

FOLDER/preset.safetensors has photo_0, photo_1, ... Exits with 77 where there is
no torchvision.
"""
import sys

from make_detector import torch, write_safetensors

from PIL import Image
from torchvision.transforms._presets import ImageClassification


def main(folder, photographs):
    preset = ImageClassification(crop_size=224)
    write_safetensors(folder + "/preset.safetensors", {
        "photo_%d" % i: preset(Image.open(path).convert("RGB"))
        for i, path in enumerate(photographs)})


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
