"""Writes none.safetensors, and whole.safetensors: a whole file for Faster R-CNN
of two classes, all zeros, sparse on the disk. What belongs into it is what
`assay weights check` misses in the other.
"""
import json
import re
import struct
import subprocess


def write(path, tensors):
    head, at = {}, 0
    for name, shape in tensors.items():
        size = 4
        for side in shape:
            size *= side
        head[name] = {"dtype": "F32", "shape": shape,
                      "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + at)


def check(path):
    return subprocess.run(
        ["assay", "weights", "check", "--classes", "2", path, "faster-rcnn"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


write("none.safetensors", {"a": [1]})
missing = re.findall("^missing  (.*)$", check("none.safetensors"), re.M)
write("guess.safetensors", {name: [1] for name in missing})
unfit = re.findall("^unfit  (.*) is float32 1, the model needs float32 (.*)$",
                   check("guess.safetensors"), re.M)
shapes = {name: [int(n) for n in shape.split("x")] for name, shape in unfit}
write("whole.safetensors",
      {name: shapes.get(name, [1]) for name in missing})
