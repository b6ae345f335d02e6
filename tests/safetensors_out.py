"""Writes torch tensors as a safetensors file, for the tests to read."""
import json
import struct

import torch

NAMES = {torch.float32: "F32", torch.int64: "I64", torch.uint8: "U8"}


def write(path, tensors):
    header, parts, at = {}, [], 0
    for name, tensor in tensors.items():
        data = tensor.detach().contiguous().numpy().tobytes()
        header[name] = {"dtype": NAMES[tensor.dtype],
                        "shape": list(tensor.shape),
                        "data_offsets": [at, at + len(data)]}
        parts.append(data)
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.writelines(parts)
