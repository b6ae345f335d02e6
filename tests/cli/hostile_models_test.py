#!/usr/bin/python3
"""Model files that strangers send: each is run, or refused in one line.

    hostile_models_test.py PROGRAM

The files are made here; those under ../shared/data/hostile are tried too,
where they are.
"""
import os
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SHARED = os.path.join(HERE, "../../../shared/data/hostile")
FLOAT, INT64 = 1, 7


class Skipped(Exception):
    pass


# ---- ONNX files, field by field --------------------------------------------

def varint(number):
    number &= (1 << 64) - 1
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, value):
    """An integer, or the bytes of a text or a message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensor(name, dims, numbers, kind=FLOAT):
    code = {FLOAT: "f", INT64: "q"}[kind]
    return (b"".join(field(1, size) for size in dims) + field(2, kind) +
            field(8, name) +
            field(9, struct.pack(f"<{len(numbers)}{code}", *numbers)))


def value(name, dims, kind=FLOAT):
    sizes = b"".join(field(1, field(1, size)) for size in dims)
    return field(1, name) + field(2, field(1, field(1, kind) +
                                           field(2, sizes)))


def attribute(name, number):
    """An integer or a list of them."""
    if isinstance(number, int):
        return field(1, name) + field(3, number) + field(20, 2)
    return (field(1, name) + b"".join(field(8, each) for each in number) +
            field(20, 7))


def node(op, inputs, outputs, name="", **attributes):
    return (b"".join(field(1, each) for each in inputs) +
            b"".join(field(2, each) for each in outputs) + field(3, name) +
            field(4, op) + b"".join(field(5, attribute(*each))
                                    for each in attributes.items()))


def onnx(nodes, inputs=(), outputs=(), initializers=(), opset=13):
    graph = (b"".join(field(1, each) for each in nodes) + field(2, "g") +
             b"".join(field(5, each) for each in initializers) +
             b"".join(field(11, each) for each in inputs) +
             b"".join(field(12, each) for each in outputs))
    return field(1, 8) + field(7, graph) + field(8, field(2, opset))


# ---- running ---------------------------------------------------------------

class Place:
    """A folder to work in, and the program."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def write(self, name, content):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def shared(self, name):
        path = os.path.join(SHARED, name)
        if not os.path.exists(path):
            raise Skipped(f"{name} of ../shared/data/hostile is not here")
        return path

    def run(self, *words):
        """The exit code, and what was said on both streams."""
        done = subprocess.run(
            [self.program, *words], cwd=self.folder, timeout=240,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, "XDG_CACHE_HOME": self.folder})
        return (done.returncode, done.stdout.decode(),
                done.stderr.decode(errors="replace"))

    def works(self, *words):
        code, out, said = self.run(*words)
        expect(code == 0, f"{words}: {code}\n{said}")
        return out

    def refuses(self, code, *words, saying):
        got, _, said = self.run(*words)
        last = said.strip().rsplit("\n", 1)[-1]
        expect(got == code, f"{words}: {got}, not {code}\n{said}")
        expect(saying in last, f"{words}: no '{saying}' in\n{said}")
        expect(len(last) < 400, f"{words}: not one sentence\n{said}")


def expect(condition, otherwise):
    if not condition:
        raise AssertionError(otherwise)


# ---- the tests -------------------------------------------------------------

def without_inputs():
    return onnx([node("Relu", ["w"], ["y"])], outputs=[value("y", [1, 4])],
                initializers=[tensor("w", [1, 4], [-1, 2, -3, 4])])


def a_model_without_inputs_runs(place):
    path = place.write("noin.onnx", without_inputs())
    out = place.works("run", path, "--iters", "2", "--output", "r.assay")
    expect("input    none" in out, out)
    place.works("metrics", path)
    place.works("layers", path, "--run")


def a_shared_model_without_inputs_runs(place):
    place.works("run", place.shared("noin.onnx"), "--iters", "2", "--output",
                "r.assay")


def a_model_without_inputs_takes_no_photographs_and_no_batch(place):
    path = place.write("noin.onnx", without_inputs())
    photo = os.path.join(HERE, "../../assets/coffee.jpg")
    place.refuses(2, "run", path, photo, saying="has no inputs")
    place.refuses(2, "run", path, "--batch", "3", saying="has no inputs")


def archives_with_a_changed_byte_are_refused_by_the_entry(place):
    place.refuses(3, "run", place.shared("flip.keras"),
                  saying="model.weights.h5 in the archive is damaged")
    place.refuses(3, "weights", "show", place.shared("t_flip.pth"),
                  saying="t_flip.pth: archive/data/0 in the archive is damaged")


def hdf5_that_crashes_its_library_is_refused(place):
    """Flags that no real file has, and that libhdf5 1.10 follows."""
    with open(os.path.join(HERE, "../formats/keras/caffe_style_k2.h5"),
              "rb") as file:
        content = bytearray(file.read())
    content[901], content[3311] = 32, 1
    place.refuses(3, "layers", place.write("crash.h5", content),
                  saying="reading ")


def shared_hdf5_that_crashes_its_library_is_refused(place):
    place.refuses(3, "run", place.shared("crash2_927.h5"), saying="reading ")
    place.refuses(3, "run", place.shared("crash1_169.keras"),
                  saying="reading ")


def large_model(n):
    """Adds a tensor of n numbers, which is used in place in the file."""
    for pad in range(4):
        content = onnx([node("Add", ["x", "w"], ["y"], name="a" * pad)],
                       inputs=[value("x", [1, n])],
                       outputs=[value("y", [1, n])],
                       initializers=[tensor("w", [1, n], [2.5] * n)])
        if content.index(struct.pack("<4f", *[2.5] * 4)) % 4 == 0:
            return content
    raise AssertionError("no offset is a multiple of 4")


def a_model_that_shrinks_while_it_runs_ends_in_a_sentence(place):
    content = large_model(1 << 20)
    for seconds in (0.02, 0.2, 1.5):
        path = place.write("large.onnx", content)
        running = subprocess.Popen(
            [place.program, "run", path, "--iters", "100000000", "--output",
             "r.assay"], cwd=place.folder, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={**os.environ, "XDG_CACHE_HOME": place.folder})
        time.sleep(seconds)
        os.truncate(path, 4096)
        said = running.communicate(timeout=240)[1].decode()
        last = said.strip().rsplit("\n", 1)[-1]
        expect(running.returncode == 3, f"{running.returncode}\n{said}")
        expect("large.onnx" in last, said)
        expect(not os.path.exists(os.path.join(place.folder, "r.assay")),
               "a run of a damaged model was written")
    expect("large.onnx changed while it was in use" in last, said)


def a_name_of_megabytes_costs_no_hours(place):
    """Before counting module by module this took 10^13 steps."""
    for part in ("a.", "a/", "a"):
        name = part * (5_000_000 // len(part)) + "b"
        path = place.write("name.onnx", onnx(
            [node("Relu", ["x"], ["y"], name=name)],
            inputs=[value("x", [1, 4])], outputs=[value("y", [1, 4])]))
        out = place.works("layers", path)
        expect(len(out) < 5000, "the whole name was shown")
        out = place.works("run", path, "--iters", "2", "--output", "r.assay")
        expect(len(out) < 10000, "the whole name was shown")


def small(nodes, initializers=(), dims=(1, 1, 4, 4), opset=13):
    """A model with an input x and an output y."""
    return onnx(nodes, inputs=[value("x", dims)], outputs=[field(1, "y")],
                initializers=initializers, opset=opset)


def a_value_with_two_makers_is_refused_by_their_names(place):
    path = place.write("two.onnx", small(
        [node("Relu", ["x"], ["y"], name="first"),
         node("Neg", ["x"], ["y"], name="second")]))
    place.refuses(3, "run", path, saying="'y' is made by node 0, first "
                  "(Relu), and by node 1, second (Neg)")
    path = place.write("over.onnx", small([node("Relu", ["x"], ["x"])]))
    place.refuses(3, "run", path, saying="its output 'x' has the name of")
    path = place.write("over.onnx", small(
        [node("Add", ["x", "w"], ["w"])], [tensor("w", [1], [1])]))
    place.refuses(3, "run", path, saying="its output 'w' has the name of")
    path = place.write("twice.onnx", small(
        [node("Add", ["x", "w"], ["y"])],
        [tensor("w", [1], [1]), tensor("w", [1], [2])]))
    place.refuses(3, "run", path, saying="two initializers are called 'w'")
    path = place.write("inputs.onnx", onnx(
        [node("Relu", ["x"], ["y"])],
        inputs=[value("x", [1, 4]), value("x", [1, 5])],
        outputs=[field(1, "y")]))
    place.refuses(3, "run", path, saying="two inputs are called 'x'")


MOST = 2**31 - 1


def windows_larger_than_anything_take_no_longer(place):
    """Padding is never read."""
    windows = {"kernel_shape": [MOST, MOST], "strides": [MOST, MOST],
               "pads": [MOST - 1] * 4}
    for op in ("MaxPool", "AveragePool", "LpPool"):
        path = place.write("pool.onnx", small([node(op, ["x"], ["y"],
                                                    **windows)]))
        place.works("run", path, "--iters", "1", "--output", "r.assay")
    path = place.write("pool.onnx", small(
        [node("MaxPool", ["x"], ["y"], kernel_shape=[5000, 5000],
              pads=[4999, 4999, 0, 0])], dims=(1, 1, 64, 64)))
    place.works("run", path, "--iters", "1", "--output", "r.assay")
    path = place.write("conv.onnx", small(
        [node("Conv", ["x", "w"], ["y"], pads=[MOST, MOST, 0, 0],
              dilations=[MOST // 2] * 2, strides=[MOST, MOST])],
        [tensor("w", [1, 1, 3, 3], [1] * 9)]))
    place.works("run", path, "--iters", "1", "--output", "r.assay")


def numbers_that_no_model_has_are_refused(place):
    def refuses(saying, nodes, initializers=(), opset=13, **more):
        path = place.write("odd.onnx", small(nodes, initializers,
                                             opset=opset, **more))
        place.refuses(3, "run", path, saying=saying)

    refuses("pads of 9223372036854775807",
            [node("Pad", ["x", "p"], ["y"])],
            [tensor("p", [8], [0, 0, 2**63 - 1, 0, 0, 0, 2**63 - 1, 0],
                    INT64)])
    refuses("no axis 1099511627776",
            [node("Softmax", ["x"], ["y"], axis=2**40)])
    refuses("no axis -9223372036854775808",
            [node("Concat", ["x", "x"], ["y"], axis=-2**63)])
    refuses("a sampling_ratio of 1048576; at most 1024 is supported",
            [node("RoiAlign", ["x", "b", "i"], ["y"],
                  sampling_ratio=2**20)],
            [tensor("b", [1, 4], [0, 0, 4, 4]), tensor("i", [1], [0], INT64)])
    refuses("a transform of length 1048576; at most 65536 is supported",
            [node("DFT", ["x", "n"], ["y"], axis=1)],
            [tensor("n", [], [2**20], INT64)], opset=17, dims=(1, 8, 1))


def tensors_that_no_memory_holds_are_told_with_their_size(place):
    """More than any machine has, whatever the system promises."""
    def refuses(saying, nodes, initializers):
        path = place.write("large.onnx", small(nodes, initializers))
        place.refuses(4, "run", path, saying=saying)

    def numbers(name, *values):
        return tensor(name, [len(values)], values, INT64)

    add = node("Add", ["x", "c"], ["y"])
    refuses("4.0 TiB needed", [node("ConstantOfShape", ["s"], ["c"]), add],
            [numbers("s", 2**40, 1, 1, 1)])
    refuses("64.0 TiB needed", [node("Expand", ["x", "s"], ["y"])],
            [numbers("s", 2**40, 1, 4, 4)])
    refuses("64.0 TiB needed", [node("Tile", ["x", "s"], ["y"])],
            [numbers("s", 2**20, 2**20, 1, 1)])
    refuses("8.0 TiB needed", [node("Range", ["a", "b", "d"], ["r"]),
                               node("Cast", ["r"], ["f"], to=FLOAT),
                               node("ReduceSum", ["f"], ["c"]), add],
            [tensor("a", [], [0], INT64), tensor("b", [], [2**40], INT64),
             tensor("d", [], [1], INT64)])


def functions_cannot_unfold_without_end(place):
    """Sixteen of them, each of which calls the next ten times."""
    def function(i):
        if i == 15:
            nodes = [node("Relu", ["a"], ["b"])]
        else:
            nodes = [field(7, "f") + node(f"f{i + 1}", [f"v{k}" if k else "a"],
                                          ["b" if k == 9 else f"v{k + 1}"])
                     for k in range(10)]
        return (field(1, f"f{i}") + field(4, "a") + field(5, "b") +
                b"".join(field(7, each) for each in nodes) +
                field(9, field(2, 13)) + field(10, "f"))

    content = small([field(7, "f") + node("f0", ["x"], ["y"])])
    content += b"".join(field(25, function(i)) for i in range(16))
    content += field(8, field(1, "f") + field(2, 1))
    place.refuses(3, "layers", place.write("functions.onnx", content),
                  saying="unfold to more than 1048576 nodes")


TESTS = [
    a_value_with_two_makers_is_refused_by_their_names,
    windows_larger_than_anything_take_no_longer,
    numbers_that_no_model_has_are_refused,
    tensors_that_no_memory_holds_are_told_with_their_size,
    functions_cannot_unfold_without_end,
    a_name_of_megabytes_costs_no_hours,
    a_model_that_shrinks_while_it_runs_ends_in_a_sentence,
    hdf5_that_crashes_its_library_is_refused,
    shared_hdf5_that_crashes_its_library_is_refused,
    archives_with_a_changed_byte_are_refused_by_the_entry,
    a_model_without_inputs_runs,
    a_shared_model_without_inputs_runs,
    a_model_without_inputs_takes_no_photographs_and_no_batch,
]


def main(program, pattern=""):
    n_failed = 0
    for test in TESTS:
        if pattern not in test.__name__:
            continue
        with tempfile.TemporaryDirectory() as folder:
            outcome = "      OK"
            try:
                test(Place(program, folder))
            except Skipped as why:
                print(f"skipped: {why}")
                outcome = " SKIPPED"
            except (AssertionError, subprocess.TimeoutExpired) as why:
                print(why)
                outcome = "  FAILED"
                n_failed += 1
        print(f"[{outcome} ] {test.__name__}", flush=True)
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1]), *sys.argv[2:]))
