"""Builds torchvision's classifiers and writes their outputs, tensors and modules
into a folder.

    make_zoo.py FOLDER

zoo.safetensors has, for each model, NAME.images and NAME.logits; NAME.txt the
names and shapes of its tensors, then the paths and classes of its modules.
Weights come from a formula of an element's number and its tensor's name. The
test computes the same, so no checkpoint is needed. Exits with 77 if torchvision
is missing.
"""
import json
import math
import struct
import sys

try:
    import numpy
    import torch
    import torchvision
except ImportError:
    sys.exit(77)

CLASSES = 20
NAMES = ["alexnet", "googlenet", "mnasnet1_0", "mobilenet_v2", "resnet18",
         "resnet34", "resnet50", "resnet101", "squeezenet1_0",
         "squeezenet1_1", "vgg11", "vgg11_bn", "vgg16", "vgg16_bn", "vgg19",
         "vgg19_bn"]
# The last norm of a residual block is small, as after training: with full
# branches a random network multiplies rounding errors.
QUIET = (".bn3.weight",)
# A detector's last layers start with small weights, as before training.
GENTLE = (".bbox_pred.weight", ".cls_logits.weight", ".cls_score.weight")
CIFAR = ["resnet18", "mobilenet_v2", "vgg11_bn"]


def name_hash(name):
    """FNV-1a."""
    value = 2166136261
    for byte in name.encode():
        value = (value ^ byte) * 16777619 & 0xffffffff
    return value


def uniform(name, n):
    """n numbers from -1 to 1; they repeat after 2**20."""
    bits = numpy.arange(min(n, 1 << 20), dtype=numpy.uint32)
    bits *= numpy.uint32(2654435761)
    bits += numpy.uint32(name_hash(name))
    bits ^= bits >> numpy.uint32(15)
    bits *= numpy.uint32(2246822519)
    bits ^= bits >> numpy.uint32(13)
    bits >>= numpy.uint32(8)
    return numpy.resize(bits.astype(numpy.float32) * numpy.float32(2.0 ** -23)
                        - numpy.float32(1), n)


def fill(model):
    """Layers keep the magnitude of their inputs, norms are all different and
    close to the identity."""
    for name, tensor in model.state_dict().items():
        if name.endswith("num_batches_tracked"):
            continue
        values = uniform(name, tensor.numel())
        if tensor.dim() > 1:
            fan_in = tensor.numel() // tensor.shape[0]
            values *= numpy.float32(math.sqrt(6 / fan_in))
            if name.endswith(GENTLE):
                values *= numpy.float32(0.125)
        elif name.endswith("running_var"):
            values = 1 + values * numpy.float32(0.5)
        elif name.endswith(".weight"):
            values = 1 + values * numpy.float32(0.125)
            if name.endswith(QUIET):
                values *= numpy.float32(0.25)
        else:
            values *= numpy.float32(0.125)
        tensor.copy_(torch.from_numpy(values).view_as(tensor))


def build(name):
    arguments = {"weights": None, "num_classes": CLASSES}
    if name == "googlenet":
        arguments.update(aux_logits=False, init_weights=False)
    return getattr(torchvision.models, name)(**arguments).eval()


def build_cifar(name):
    """The model as it is usually changed for images of 32x32."""
    model = build(name)
    if name.startswith("resnet"):
        model.conv1 = torch.nn.Conv2d(3, 64, 3, 1, 1, bias=False)
        model.maxpool = torch.nn.Identity()
    elif name.startswith("vgg"):
        model.avgpool = torch.nn.Identity()
        model.classifier = torch.nn.Linear(512, CLASSES)
    else:
        model.features[0][0].stride = (1, 1)
        model.features[2].conv[1][0].stride = (1, 1)
    return model.eval()


def answer(folder, name, model, size, answers):
    fill(model)
    images = torch.from_numpy(uniform("images", 2 * 3 * size * size)).view(
        2, 3, size, size)
    answers[name + ".images"] = images
    answers[name + ".logits"] = model(images)
    with open("%s/%s.txt" % (folder, name), "w") as file:
        for key, tensor in model.state_dict().items():
            if not key.endswith("num_batches_tracked"):
                print("tensor", key, "x".join(map(str, tensor.shape)),
                      file=file)
        for path, module in model.named_modules():
            if path and not isinstance(module, torch.nn.Identity):
                print("module", path, type(module).__name__, file=file)


def write_safetensors(path, tensors):
    header, at = {}, 0
    for name, tensor in tensors.items():
        size = tensor.numel() * 4
        header[name] = {"dtype": "F32", "shape": list(tensor.shape),
                        "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            file.write(tensor.contiguous().numpy().tobytes())


def main(folder):
    answers = {}

    # Everything is filled afterwards, and random numbers would take longer than
    # the models.
    for name in ("kaiming_normal_", "kaiming_uniform_", "normal_", "uniform_",
                 "trunc_normal_"):
        setattr(torch.nn.init, name, lambda tensor, *_, **__: tensor)
    with torch.no_grad():
        for name in NAMES:
            answer(folder, name, build(name), 96, answers)
        for name in CIFAR:
            answer(folder, name + "_cifar", build_cifar(name), 32, answers)
    write_safetensors(folder + "/zoo.safetensors", answers)


if __name__ == "__main__":
    main(sys.argv[1])
