"""Lists, in FOLDER/MODEL.txt, the modules of Faster R-CNN and Mask R-CNN that
torchvision calls for an image, and those that hold them: path, class, and
"called" or "holds", in the order of the model.

    list_modules.py FOLDER

Exits with 77 if torchvision is missing.
"""
import sys

from make_detector import FasterRCNN, MaskRCNN, build, torch


def list_modules(model):
    called = set()
    for path, module in model.named_modules():
        module.register_forward_hook(
            lambda _, __, ___, path=path: called.add(path))
    model([torch.rand(3, 64, 64)])
    for path, module in model.named_modules():
        if path in called:
            yield path, module, "called"
        elif any(other.startswith(path + ".") for other in called):
            yield path, module, "holds"


def main(folder):
    for name, kind in (("faster-rcnn", FasterRCNN), ("mask-rcnn", MaskRCNN)):
        with open("%s/%s.txt" % (folder, name), "w") as file:
            for path, module, how in list_modules(build(kind, 64)):
                if path:
                    print(path, type(module).__name__, how, file=file)


if __name__ == "__main__":
    torch.set_grad_enabled(False)
    main(sys.argv[1])
