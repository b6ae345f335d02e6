"""The work of common leaf modules: MACs, other arithmetic, traffic, shapes.

work_of(module) returns a function of (module, args, output) for the modules
listed here, and None for others, whose work is unknown. args[0] is the module.
A multiply-add is one MAC; norms and activations are other arithmetic.

The backward pass of what has MACs does the same number again for the gradient of
the weights, and once more for that of the input, where they are needed.
"""
import math


def _size(shape):
    return math.prod(int(n) for n in shape)


def _text(shape):
    return "x".join(str(int(n)) for n in shape)


def _first(value):
    while isinstance(value, (tuple, list)):
        value = value[0]
    return value


def _own_parameters(module):
    """Without those of modules inside. parameters() would take longer than all
    else here, in the first iteration of a recording."""
    return [p for p in module._parameters.values() if p is not None]


def _backward(parameters, x, y, macs, own):
    """MACs, bytes read and bytes written of the backward pass; 0: unknown."""
    if not macs or not y.requires_grad:
        return 0.0, 0.0, 0.0
    of_weights = any(p.requires_grad for p in parameters)
    size_x = x.numel() * x.element_size()
    return (float(macs) * (of_weights + x.requires_grad),
            float(y.numel() * y.element_size() + of_weights * size_x
                  + x.requires_grad * own),
            float(of_weights * own + x.requires_grad * size_x))


def _report(module, x, y, macs=0.0, flops=0.0, is_view=False):
    """is_view: nothing is moved if input and output share their memory."""
    parameters = _own_parameters(module)
    own = sum(p.numel() * p.element_size() for p in parameters)
    n = sum(p.numel() for p in parameters)
    is_shared = y.data_ptr() == x.data_ptr()
    kept = y.requires_grad and not is_shared
    read, written = (float(x.numel() * x.element_size() + own),
                     float(y.numel() * y.element_size()))
    return (float(macs), float(flops), read, written,
            written if kept else 0.0,
            float(n), f"{_text(x.shape)} -> {_text(y.shape)}",
            y.device.type == "cpu", *_backward(parameters, x, y, macs, own),
            0.0 if is_view and is_shared else read + written)


def _convolution(module, args, y):
    each = module.in_channels // module.groups * _size(module.kernel_size)
    return _report(module, args[1], y, macs=y.numel() * each)


def _transposed(module, args, y):
    each = module.out_channels // module.groups * _size(module.kernel_size)
    return _report(module, args[1], y, macs=args[1].numel() * each)


def _linear(module, args, y):
    return _report(module, args[1], y, macs=y.numel() * module.in_features)


def _bilinear(module, args, y):
    each = module.in1_features * module.in2_features
    return _report(module, args[1], y, macs=y.numel() * each)


def _norm(module, args, y):
    return _report(module, args[1], y, flops=4 * y.numel())


def _each(module, args, y):
    return _report(module, args[1], y, flops=y.numel())


def _move(module, args, y):
    return _report(module, args[1], y, is_view=True)


def _pool(module, args, y):
    return _report(module, args[1], y, flops=args[1].numel())


def _recurrent(gates):
    def work(module, args, output):
        x, y = args[1], _first(output)
        if not hasattr(x, "shape") or not hasattr(y, "shape"):
            raise TypeError("packed sequences have no single shape")
        steps = x.numel() // module.input_size
        sides = 2 if module.bidirectional else 1
        kept = getattr(module, "proj_size", 0) or module.hidden_size
        each = 0
        for layer in range(module.num_layers):
            width = module.input_size if layer == 0 else kept * sides
            each += sides * gates * module.hidden_size * (width + kept)
            if getattr(module, "proj_size", 0):
                each += sides * module.hidden_size * module.proj_size
        return _report(module, x, y, macs=steps * each)
    return work


def _attention(module, args, output):
    q, k, y = args[1], args[2], _first(output)
    e, b_at = module.embed_dim, 0 if module.batch_first else 1
    if q.dim() == 2:
        batch, n_q, n_k = 1, q.shape[0], k.shape[0]
    else:
        batch = q.shape[b_at]
        n_q, n_k = q.shape[1 - b_at], k.shape[1 - b_at]
    kdim, vdim = module.kdim or e, module.vdim or e
    macs = batch * (n_q * e * e * 2 + n_k * e * (kdim + vdim)
                    + 2 * n_q * n_k * e)
    extra = module.out_proj.weight.numel()
    report = _report(module, q, y, macs=macs, flops=3 * batch * n_q * n_k)
    return (*report[:5], report[5] + extra, *report[6:])


_BY_NAME = {
    "Conv1d": _convolution, "Conv2d": _convolution, "Conv3d": _convolution,
    "DeformConv2d": _convolution,
    "ConvTranspose1d": _transposed, "ConvTranspose2d": _transposed,
    "ConvTranspose3d": _transposed,
    "Linear": _linear, "NonDynamicallyQuantizableLinear": _linear,
    "Bilinear": _bilinear,
    "BatchNorm1d": _norm, "BatchNorm2d": _norm, "BatchNorm3d": _norm,
    "SyncBatchNorm": _norm, "FrozenBatchNorm2d": _norm, "LayerNorm": _norm,
    "LayerNorm2d": _norm, "GroupNorm": _norm, "InstanceNorm1d": _norm,
    "InstanceNorm2d": _norm, "InstanceNorm3d": _norm, "RMSNorm": _norm,
    "LocalResponseNorm": _norm,
    "ReLU": _each, "ReLU6": _each, "LeakyReLU": _each, "GELU": _each,
    "SiLU": _each, "Sigmoid": _each, "Tanh": _each, "Hardswish": _each,
    "Hardsigmoid": _each, "Softmax": _each, "LogSoftmax": _each, "ELU": _each,
    "Mish": _each, "Softplus": _each, "PReLU": _each,
    "Dropout": _each, "Dropout2d": _each,
    "MaxPool1d": _pool, "MaxPool2d": _pool, "MaxPool3d": _pool,
    "AvgPool1d": _pool, "AvgPool2d": _pool, "AvgPool3d": _pool,
    "AdaptiveAvgPool1d": _pool, "AdaptiveAvgPool2d": _pool,
    "AdaptiveMaxPool2d": _pool,
    "Identity": _move, "Flatten": _move, "Upsample": _each,
    "RNN": _recurrent(1), "LSTM": _recurrent(4), "GRU": _recurrent(3),
    "MultiheadAttention": _attention,
}


def work_of(module):
    """The function for a module of PyTorch or torchvision, or None."""
    for kind in type(module).__mro__:
        home = kind.__module__.partition(".")[0]
        if kind.__name__ in _BY_NAME and home in ("torch", "torchvision"):
            return _BY_NAME[kind.__name__]
    return None
