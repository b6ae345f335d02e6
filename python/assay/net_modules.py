"""A network description (docs/net.md) as PyTorch modules with its weights.

`load(path)` reads FILE.net and the safetensors file beside it. The modules have
the paths that the description gives them; an op that PyTorch's modules here do
not cover is refused by its name.
"""
import json
import os
import re
import struct

import torch
from torch import nn
from torch.nn import functional

_WORD = re.compile(r'"(?:[^"\\]|\\.)*"|[(),=]|[^\s(),="]+')
_DTYPES = {"float32": torch.float32, "float64": torch.float64,
           "float16": torch.float16, "int64": torch.int64,
           "int32": torch.int32, "uint8": torch.uint8, "bool": torch.bool}
_STORED = {"F32": torch.float32, "F64": torch.float64, "F16": torch.float16,
           "BF16": torch.bfloat16, "I64": torch.int64, "I32": torch.int32,
           "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8,
           "BOOL": torch.bool}


class NetError(ValueError):
    """The description cannot be read, or not be built in PyTorch."""


# ---- reading

def _words(line):
    """The words of a line without its comment; names in quotes come plain."""
    words = []
    for word in _WORD.findall(line):
        if word.startswith("#"):
            break
        if word.startswith('"'):
            word = re.sub(r"\\(x[0-9a-fA-F]{2}|.)", _unescape, word[1:-1])
        words.append(word)
    return words


def _unescape(match):
    text = match.group(1)
    return chr(int(text[1:], 16)) if len(text) == 3 else text


def _shape(text):
    return [] if text == "scalar" else [int(n) for n in text.split("x")]


class Layer:
    """One line of the description: outputs = op(inputs) in scope, attributes."""

    def __init__(self, words):
        equals = words.index("=")
        self.outputs = words[:equals]
        self.op = words[equals + 1]
        close = words.index(")")
        self.inputs = [None if word == "-" else word
                       for word in words[equals + 3:close] if word != ","]
        self.scope, self.name, self.attrs = "", "", {}
        rest = words[close + 1:]
        while rest:
            if rest[0] in ("in", "as") and rest[1:2] != ["="]:
                setattr(self, "scope" if rest[0] == "in" else "name", rest[1])
                rest = rest[2:]
            else:
                rest = self._take_attribute(rest)

    def _take_attribute(self, words):
        values = [words[2]]
        words, key = words[3:], words[0]
        while words[:1] == [","]:
            values.append(words[1])
            words = words[2:]
        self.attrs[key] = values
        return words

    def number(self, key, default=0):
        return float(self.attrs[key][0]) if key in self.attrs else default

    def pair(self, key, default=0):
        return tuple(int(n) for n in self.attrs.get(key, [default, default]))

    def flag(self, key):
        return self.attrs.get(key) == ["yes"]


class Description:
    """What FILE.net says, with the data of its weights."""

    def __init__(self, path):
        self.layers, self.outputs, self.input_shape = [], [], None
        self.inputs, self.parameters, self.constants = [], {}, {}
        self._stored = {}
        with open(path, encoding="utf-8") as file:
            if file.readline().strip() != "assay-net 1":
                raise NetError(f"{path} is not a network description")
            for line in file:
                words = _words(line)
                if words:
                    self._take(path, words)

    def _take(self, path, words):
        kind = words[0]
        if kind == "weights":
            self._stored = read_safetensors(
                os.path.join(os.path.dirname(path), words[1]))
        elif kind == "input":
            self.inputs.append(words[1])
            self.input_shape = words[3].split("x") if len(words) > 3 else None
        elif kind in ("parameter", "buffer"):
            self.parameters[words[1]] = self._data(path, words[1])
        elif kind == "constant":
            self.constants[words[1]] = self._constant(path, words)
        elif kind == "output":
            self.outputs.append(words[2])
        elif kind not in ("model", "module"):
            self.layers.append(Layer(words))

    def _data(self, path, name):
        if name not in self._stored:
            raise NetError(f"{path} has no data for {name}")
        return self._stored[name]

    def _constant(self, path, words):
        if "=" not in words:
            return self._data(path, words[1])
        numbers = [float(word) for word in words[words.index("=") + 1:]]
        return torch.tensor(numbers, dtype=torch.float64).reshape(
            _shape(words[3])).to(_DTYPES[words[2]])


def read_safetensors(path):
    """The tensors of a safetensors file by name."""
    with open(path, "rb") as file:
        data = bytearray(file.read())
    (length,) = struct.unpack_from("<Q", data)
    tensors = {}
    for name, entry in json.loads(data[8:8 + length].decode()).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        dtype = _STORED[entry["dtype"]]
        flat = torch.frombuffer(data, dtype=torch.uint8, offset=8 + length +
                                begin, count=end - begin) if end > begin \
            else torch.empty(0, dtype=torch.uint8)
        tensors[name] = flat.clone().view(dtype).reshape(entry["shape"])
    return tensors


# ---- building

class _Norm(nn.BatchNorm2d):
    """Over images, and over the outputs of fully connected layers."""

    def _check_input_dim(self, input):
        pass


class _Apply(nn.Module):
    """A function of tensors as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *tensors):
        return self.function(*tensors)


class _First(_Apply):
    """A function of the first input; the others are already in it."""


class _Padded(nn.Module):
    """Padding that differs between two sides, and then a module."""

    def __init__(self, before, after, value, inner):
        super().__init__()
        self.sides = (before[1], after[1], before[0], after[0])
        self.value, self.inner = value, inner

    def forward(self, x):
        return self.inner(functional.pad(x, self.sides, value=self.value))


class _Builder:
    """Makes the module of a layer. The parameters of a description become
    nn.Parameter once, however many layers use them."""

    def __init__(self, description):
        self.description = description
        self.made = {}
        self.readers = {}
        for layer in description.layers:
            for name in layer.inputs:
                self.readers[name] = self.readers.get(name, 0) + 1
        for name in description.outputs:
            self.readers[name] = self.readers.get(name, 0) + 1
        self.makers = {name: layer.op for layer in description.layers
                       for name in layer.outputs}

    def data(self, layer, place):
        """The tensor of an input that must be a parameter or a constant."""
        name = layer.inputs[place] if place < len(layer.inputs) else None
        if name is None:
            return None
        known = self.description.parameters
        if name not in known and name not in self.description.constants:
            raise NetError(f"{layer.op} with computed weights cannot be built "
                           "in PyTorch")
        return known[name] if name in known else \
            self.description.constants[name]

    def set_parameters(self, module, layer, names):
        """Gives a module the parameters at these inputs."""
        for place, name in names.items():
            data = self.data(layer, place)
            if data is None:
                continue
            key = layer.inputs[place]
            if name.startswith("running_"):
                getattr(module, name).copy_(data)
                continue
            if key not in self.made:
                self.made[key] = nn.Parameter(data)
            setattr(module, name, self.made[key])
        return module

    def in_place(self, layer):
        """Whether a layer may overwrite its input, as torchvision's do: nobody
        else reads it, and its maker's gradient does not need it."""
        name = layer.inputs[0]
        return self.readers.get(name) == 1 and self.makers.get(name) in (
            "Conv2d", "BatchNorm", "Linear", "Add")

    def module(self, layer):
        make = _MAKERS.get(layer.op)
        if make is None:
            raise NetError(f"the op {layer.op} cannot be built in PyTorch yet")
        return make(self, layer)


def _conv(builder, layer):
    weight = builder.data(layer, 1)
    if len([name for name in layer.inputs[3:] if name]) or \
            layer.flag("has_relu") or "activation" in layer.attrs:
        raise NetError("a fused Conv2d cannot be built in PyTorch")
    before, after = layer.pair("before"), layer.pair("after")
    groups = int(layer.number("groups", 1))
    has_bias = len(layer.inputs) > 2 and layer.inputs[2] is not None
    module = nn.Conv2d(weight.shape[1] * groups, weight.shape[0],
                       tuple(weight.shape[2:]), layer.pair("stride", 1),
                       before if before == after else 0,
                       layer.pair("dilation", 1), groups, has_bias)
    builder.set_parameters(module, layer, {1: "weight", 2: "bias"})
    return module if before == after else _Padded(before, after, 0.0, module)


def _norm(builder, layer):
    module = _Norm(builder.data(layer, 3).shape[0], layer.number("eps"),
                   layer.number("momentum", 0.1))
    return builder.set_parameters(module, layer, {
        1: "weight", 2: "bias", 3: "running_mean", 4: "running_var"})


def _linear(builder, layer):
    weight = builder.data(layer, 1)
    has_bias = len(layer.inputs) > 2 and layer.inputs[2] is not None
    module = nn.Linear(weight.shape[1], weight.shape[0], has_bias)
    return builder.set_parameters(module, layer, {1: "weight", 2: "bias"})


def _clip(builder, layer):
    low, high = layer.number("low"), layer.number("high")
    in_place = builder.in_place(layer)
    return nn.ReLU6(in_place) if (low, high) == (0, 6) else \
        nn.Hardtanh(low, high, in_place)


def _max_pool(builder, layer):
    del builder
    before, after = layer.pair("before"), layer.pair("after")
    kernel = layer.pair("kernel", 1)
    is_plain = before == after and all(2 * b <= k
                                       for b, k in zip(before, kernel))
    module = nn.MaxPool2d(kernel, layer.pair("stride", 1),
                          before if is_plain else 0,
                          ceil_mode=layer.flag("ceil"))
    return module if is_plain else _Padded(before, after, -float("inf"),
                                           module)


def _avg_pool(builder, layer):
    del builder
    before, after = layer.pair("before"), layer.pair("after")
    if before != after:
        raise NetError("AvgPool2d with uneven padding cannot be built in "
                       "PyTorch")
    return nn.AvgPool2d(layer.pair("kernel", 1), layer.pair("stride", 1),
                        before, layer.flag("ceil"),
                        layer.flag("counts_padding"))


def _hard_sigmoid(builder, layer):
    del builder
    alpha, beta = layer.number("alpha"), layer.number("beta")
    if abs(alpha - 1 / 6) < 1e-6 and beta == 0.5:
        return nn.Hardsigmoid()
    return _Apply(lambda x: (alpha * x + beta).clamp(0, 1))


def _concat(builder, layer):
    del builder
    axis = int(layer.number("axis"))
    return _Apply(lambda *tensors: torch.cat(tensors, axis))


def _pad(builder, layer):
    pads = [int(n) for n in builder.data(layer, 1)]
    value = builder.data(layer, 2)
    if layer.attrs.get("mode", ["constant"]) != ["constant"] or \
            any(layer.inputs[3:]):
        raise NetError("Pad by anything but a constant cannot be built in "
                       "PyTorch yet")
    rank = len(pads) // 2
    sides = [pads[axis + end] for axis in reversed(range(rank))
             for end in (0, rank)]
    fill = 0.0 if value is None else float(value)
    return _First(lambda x: functional.pad(x, sides, value=fill)
                  if any(sides) else x)


def _apply(function):
    return lambda builder, layer: _Apply(function)


_MAKERS = {
    "AdaptiveAvgPool2d": lambda builder, layer: nn.AdaptiveAvgPool2d(
        layer.pair("size", 1)),
    "Add": _apply(lambda x, y: x + y),
    "AvgPool2d": _avg_pool,
    "BatchNorm": _norm,
    "Clip": _clip,
    "Concat": _concat,
    "Conv2d": _conv,
    "Dropout": lambda builder, layer: nn.Dropout(layer.number("ratio")),
    "Flatten": lambda builder, layer: nn.Flatten(),
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": lambda builder, layer: nn.Hardswish(),
    "Identity": lambda builder, layer: nn.Identity(),
    "LeakyReLU": lambda builder, layer: nn.LeakyReLU(layer.number("alpha")),
    "Linear": _linear,
    "MaxPool2d": _max_pool,
    "Mul": _apply(lambda x, y: x * y),
    "Pad": _pad,
    "ReLU": lambda builder, layer: nn.ReLU(builder.in_place(layer)),
    "SiLU": lambda builder, layer: nn.SiLU(builder.in_place(layer)),
    "Sigmoid": lambda builder, layer: nn.Sigmoid(),
    "Sub": _apply(lambda x, y: x - y),
    "Sum": _apply(lambda *tensors: sum(tensors[1:], tensors[0])),
    "Tanh": lambda builder, layer: nn.Tanh(),
}


class Network(nn.Module):
    """The layers of a description, in its order. A tensor that no later layer
    reads is let go."""

    def __init__(self, description):
        super().__init__()
        if len(description.inputs) != 1 or not description.outputs:
            raise NetError("the network must have one input and an output")
        builder = _Builder(description)
        self.image_shape = description.input_shape
        self._input = description.inputs[0]
        self._output = description.outputs[0]
        self._fixed = dict(description.constants)
        self._steps = []
        last = {name: i for i, layer in enumerate(description.layers)
                for name in layer.inputs}
        for i, layer in enumerate(description.layers):
            module = builder.module(layer)
            self._place(layer, module)
            reads = layer.inputs if type(module) is _Apply else \
                layer.inputs[:1]
            self._steps.append((
                module, [self._named(builder, name) for name in reads],
                layer.outputs[0],
                [name for name in set(layer.inputs)
                 if last[name] == i and name in builder.makers and
                 name != self._output]))

    def _named(self, builder, name):
        """An input of a layer; a parameter among them becomes the network's."""
        known = builder.description.parameters
        if name in known and name not in self._fixed:
            if name not in builder.made:
                builder.made[name] = nn.Parameter(known[name])
            self.register_parameter(re.sub(r"\W", "_", name),
                                    builder.made[name])
            self._fixed[name] = builder.made[name]
        return name

    def _place(self, layer, module):
        """Registers a module under its path, or beside it."""
        path = [part for part in layer.scope.split(".") if part]
        path = path or [layer.name or layer.op]
        at = self
        for part in path[:-1]:
            if part not in at._modules:
                at.add_module(part, nn.Module())
            at = at._modules[part]
        name, n = path[-1], 1
        while name in at._modules:
            n += 1
            name = f"{path[-1]}_{n}"
        at.add_module(name, module)

    def to(self, *args, **kwargs):
        super().to(*args, **kwargs)
        for name, tensor in self._fixed.items():
            if not isinstance(tensor, nn.Parameter):
                self._fixed[name] = tensor.to(*args, **kwargs)
        return self

    def forward(self, images):
        values = {**self._fixed, self._input: images}
        for module, inputs, output, dead in self._steps:
            values[output] = module(*[values[name] for name in inputs])
            for name in dead:
                del values[name]
        return values[self._output]


def load(path):
    """The network of a description, in the mode that nn.Module starts in."""
    return Network(Description(path))
