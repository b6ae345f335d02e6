"""Preprocesses photographs with torchvision's preset for ImageNet.

    make_preset.py FOLDER PHOTOGRAPH...

FOLDER/preset.safetensors has photo_0, photo_1, ... Exits with 77 if torchvision
is missing.
"""
import os
import sys

try:
    from PIL import Image
    from torchvision.transforms._presets import ImageClassification
except ImportError:
    sys.exit(77)

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import safetensors_out


def main(folder, photographs):
    preset = ImageClassification(crop_size=224)
    safetensors_out.write(folder + "/preset.safetensors", {
        "photo_%d" % i: preset(Image.open(path).convert("RGB"))
        for i, path in enumerate(photographs)})


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
