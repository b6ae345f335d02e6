#!/usr/bin/python3
"""Exported models: ONNX's own checker accepts them, and PyTorch, given the nodes
one by one, computes what assay does."""
import os
import subprocess
import sys
import tempfile

try:
    import onnx
    import torch
    import torch.nn.functional as F
    from onnx import numpy_helper
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

MODELS = [("resnet18", "30"), ("mobilenet_v2", "50"), ("googlenet", "60"),
          ("squeezenet1_1", "20")]


def window(node):
    given = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    pads = given.get("pads", [0, 0, 0, 0])
    assert pads[:2] == pads[2:]
    return given, list(pads[:2])


def conv(node, x, weight, bias=None):
    given, pads = window(node)
    return F.conv2d(x, weight, bias, given["strides"], pads,
                    given["dilations"], given["group"])


def max_pool(node, x):
    given, pads = window(node)
    return F.max_pool2d(x, given["kernel_shape"], given["strides"], pads,
                        ceil_mode=bool(given["ceil_mode"]))


def batch_norm(node, x, scale, bias, mean, var):
    given, _ = window(node)
    return F.batch_norm(x, mean, var, scale, bias, eps=given["epsilon"])


def gemm(node, a, b, c=None):
    assert window(node)[0]["transB"] == 1
    return F.linear(a, b, c)


OPS = {
    "Conv": conv,
    "MaxPool": max_pool,
    "BatchNormalization": batch_norm,
    "Gemm": gemm,
    "Relu": lambda node, x: torch.relu(x),
    "Clip": lambda node, x, low, high: torch.clamp(x, low, high),
    "Add": lambda node, a, b: a + b,
    "Concat": lambda node, *parts: torch.cat(parts, window(node)[0]["axis"]),
    "Dropout": lambda node, x, ratio: x,
    "Flatten": lambda node, x: torch.flatten(x, window(node)[0]["axis"]),
    "GlobalAveragePool": lambda node, x: x.mean((2, 3), keepdim=True),
}


def run(model, image):
    values = {t.name: torch.from_numpy(numpy_helper.to_array(t).copy())
              for t in model.graph.initializer}
    values[model.graph.input[0].name] = image
    for node in model.graph.node:
        given = [values[name] for name in node.input]
        values[node.output[0]] = OPS[node.op_type](node, *given)
    return values[model.graph.output[0].name]


def save(path, tensor, name):
    with open(path, "wb") as file:
        file.write(numpy_helper.from_array(tensor.numpy(), name)
                   .SerializeToString())


def check(assay, folder, name, percent):
    path = os.path.join(folder, name + ".onnx")
    subprocess.run([assay, "prune", name, "--percent", percent, "--seed", "3",
                    "--classes", "10", "-o", path], check=True,
                   stdout=subprocess.DEVNULL)
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    image = torch.rand(2, 3, 224, 224, generator=torch.manual_seed(0))
    with torch.no_grad():
        logits = run(model, image)
    data = os.path.join(folder, name, "test_data_set_0")
    os.makedirs(data)
    save(os.path.join(data, "input_0.pb"), image, model.graph.input[0].name)
    save(os.path.join(data, "output_0.pb"), logits, model.graph.output[0].name)
    net = os.path.join(folder, name + ".net")
    subprocess.run([assay, "export", path, "-o", net], check=True,
                   stdout=subprocess.DEVNULL)
    for file in (path, net):
        subprocess.run([assay, "verify", file, "--data",
                        os.path.dirname(data)], check=True,
                       stdout=subprocess.DEVNULL)
    print(f"{name} at {percent} %: as PyTorch computes it")


torch.set_num_threads(2)
with tempfile.TemporaryDirectory() as scratch:
    for model_name, level in MODELS:
        check(sys.argv[1], scratch, model_name, level)
