"""Makes the ONNX files in tests/cli/inputs/onnx, by hand: no package needed.

    python3 make_onnx.py FOLDER

The model is y = relu(x w^T + b). For x = 1 2 3 the sums are 1+4+9+1 = 15 and
-1-2-3+2 = -4, so y is 15 0.
"""
import os
import struct
import sys

FLOAT = 1


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def integer(field, number):
    return varint(field << 3) + varint(number)


def message(field, content):
    if isinstance(content, str):
        content = content.encode()
    return varint(field << 3 | 2) + varint(len(content)) + content


def tensor(name, dims, numbers):
    return (b"".join(integer(1, d) for d in dims) + integer(2, FLOAT) +
            message(8, name) +
            message(9, struct.pack("<%df" % len(numbers), *numbers)))


def value(name, *sizes):
    dims = b"".join(message(1, message(2, s) if isinstance(s, str)
                            else integer(1, s)) for s in sizes)
    kind = integer(1, FLOAT) + message(2, dims)
    return message(1, name) + message(2, message(1, kind))


def node(op, name, inputs, output, **attributes):
    out = b"".join(message(1, i) for i in inputs) + message(2, output)
    out += message(3, name) + message(4, op)
    for key, number in attributes.items():
        out += message(5, message(1, key) + integer(3, number) +
                       integer(20, 2))
    return out


def model(nodes, initializers, inputs, outputs):
    graph = b"".join(message(1, n) for n in nodes) + message(2, "small")
    graph += b"".join(message(5, t) for t in initializers)
    graph += b"".join(message(11, v) for v in inputs)
    graph += b"".join(message(12, v) for v in outputs)
    return (integer(1, 7) + message(7, graph) +
            message(8, message(1, "") + integer(2, 13)))


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)


def write_set(folder, dims, x, y_dims, y):
    write(folder + "/input_0.pb", tensor("x", dims, x))
    write(folder + "/output_0.pb", tensor("y", y_dims, y))


def main(folder):
    write(folder + "/linear/model.onnx", model(
        [node("Gemm", "/head/Gemm", ["x", "head.weight", "head.bias"], "v",
              transB=1),
         node("Relu", "/relu/Relu", ["v"], "y")],
        [tensor("head.weight", [2, 3], [1, 2, 3, -1, -1, -1]),
         tensor("head.bias", [2], [1, 2])],
        [value("x", "n", 3)], [value("y", "n", 2)]))
    write_set(folder + "/linear/test_data_set_0", [1, 3], [1, 2, 3],
              [1, 2], [15, 0])
    write_set(folder + "/linear/test_data_set_1", [2, 3], [0, 0, 0, -1, -1, -1],
              [2, 2], [1, 2, 0, 5])
    write_set(folder + "/wrong", [1, 3], [1, 2, 3], [1, 2], [15, 0.5])
    write_set(folder + "/other_shape", [1, 3], [1, 2, 3], [2], [15, 0])
    write_set(folder + "/wide", [1, 4], [1, 2, 3, 4], [1, 2], [15, 0])
    # In steps of 0.25: 0.13 is next to 0.25, but near the middle.
    write(folder + "/steps/model.onnx", model(
        [node("QuantizeLinear", "/q/QuantizeLinear", ["x", "scale"], "q"),
         node("DequantizeLinear", "/d/DequantizeLinear", ["q", "scale"], "r"),
         node("Flatten", "/f/Flatten", ["r"], "y", axis=1)],
        [tensor("scale", [], [0.25])],
        [value("x", 1, 2)], [value("y", 1, 2)]))
    write_set(folder + "/steps/test_data_set_0", [1, 2], [0.13, 0.5],
              [1, 2], [0, 0.5])
    write_set(folder + "/steps/far", [1, 2], [0.13, 0.5], [1, 2], [0, 1])
    # An image, and a factor that is not one.
    write(folder + "/two_inputs/model.onnx", model(
        [node("Mul", "/scale/Mul", ["x", "factor"], "y")],
        [], [value("x", 1, 3, 4, 4), value("factor", 1)],
        [value("y", 1, 3, 4, 4)]))
    write(folder + "/missing/model.onnx", model(
        [node("Unheard", "/neck/Unheard", ["x"], "a"),
         node("Nowhere", "/head/Nowhere", ["a"], "b"),
         node("Unheard", "/head/Unheard", ["b"], "y")],
        [], [value("x", 1)], [value("y", 1)]))


if __name__ == "__main__":
    main(sys.argv[1])
