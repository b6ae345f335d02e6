"""Writes a large ONNX model, 170 MB, with an input and PyTorch's output for it.

    onnx_model.py FOLDER

Exits with 77 if torchvision is missing.
"""
import os
import sys

try:
    import torch
    import torchvision
except ImportError:
    sys.exit(77)


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def write_tensor(path, tensor, name):
    """A TensorProto of float32: dims, type, name, raw data."""
    raw = tensor.numpy().tobytes()
    with open(path, "wb") as file:
        for size in tensor.shape:
            file.write(varint(1 << 3) + varint(size))
        file.write(varint(2 << 3) + varint(1))
        file.write(varint(8 << 3 | 2) + varint(len(name)) + name.encode())
        file.write(varint(9 << 3 | 2) + varint(len(raw)) + raw)


def main(folder):
    torch.manual_seed(0)
    model = torchvision.models.resnet101(weights=None).eval()
    image = torch.rand(1, 3, 224, 224)
    vectors = folder + "/test_data_set_0"
    os.makedirs(vectors)
    torch.onnx.export(model, (image,), folder + "/model.onnx",
                      opset_version=13, input_names=["image"],
                      output_names=["logits"])
    write_tensor(vectors + "/input_0.pb", image, "image")
    write_tensor(vectors + "/output_0.pb", model(image), "logits")


if __name__ == "__main__":
    with torch.no_grad():
        main(sys.argv[1])
