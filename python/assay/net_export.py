"""Exports a network that is given as Python, `my_models.py:make_net`, to ONNX:
`assay campaign` starts `python -m assay.net_export` for each.

make_net is a function or a class that returns a torch.nn.Module if it is called
without arguments, or a module itself.
"""
import argparse
import importlib.util
import inspect
import os
import sys
import warnings

from assay.torch_test import answer, import_torch


def find(source):
    """The file of FILE.py:NAME, and what it calls NAME."""
    path, name = source.rsplit(":", 1)
    if not os.path.exists(path):
        raise ValueError(f"there is no file {path}")
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location("assay_user_networks", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:  # sys.exit() too ends the import only
        raise ValueError(f"importing {path} fails: {_first_line(error)}") \
            from None
    if not hasattr(module, name):
        names = sorted(key for key, value in vars(module).items()
                       if callable(value) and not key.startswith("_") and
                       getattr(value, "__module__", "") == spec.name)
        has = f"; it has {', '.join(names[:8])}" if names else ""
        raise ValueError(f"{path} has no {name}{has}")
    return getattr(module, name)


def make(torch, found, source):
    network = found
    if not isinstance(found, torch.nn.Module):
        if not callable(found):
            raise ValueError(f"{source} is neither a torch.nn.Module nor a "
                             f"function that makes one, but {_kind(found)}")
        try:
            network = found()
        except Exception as error:
            raise ValueError(f"{source}() fails: {_first_line(error)}") \
                from None
    if not isinstance(network, torch.nn.Module):
        raise ValueError(f"{source}() returns {_kind(network)}, not a "
                         "torch.nn.Module")
    return network


def keep_apart(torch, network):
    """Moves tensors that equal another one by the least step there is:
    PyTorch's exporter would make one tensor of both, and they would be pruned
    and trained as one."""
    seen = {}
    for tensor in [*network.parameters(), *network.buffers()]:
        if not tensor.is_floating_point() or not tensor.numel():
            continue
        alike = seen.setdefault(tuple(tensor.shape), [])
        first = tensor.data.view(-1)[:1]
        while any(torch.equal(tensor.data, other) for other in alike):
            first.copy_(torch.nextafter(first, first + 1))
        alike.append(tensor.data)


def export(torch, network, side, path):
    """With norms as they are: exporters fold them into convolutions if a
    network is for inference only."""
    keywords = {"opset_version": 13, "input_names": ["images"],
                "output_names": ["output"],
                "dynamic_axes": {"images": {0: "batch"},
                                 "output": {0: "batch"}},
                "training": torch.onnx.TrainingMode.PRESERVE}
    if "dynamo" in inspect.signature(torch.onnx.export).parameters:
        keywords["dynamo"] = False
    network.to("cpu").float().eval()
    keep_apart(torch, network)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(network, torch.rand(1, 3, side, side), path,
                              **keywords)
    except Exception as error:
        raise ValueError("PyTorch cannot export it to ONNX for images of "
                         f"3x{side}x{side}: {_first_line(error)}") from None


def _kind(value):
    return f"an object of {type(value).__name__}"


def _first_line(error):
    lines = str(error).strip().splitlines()
    name = type(error).__name__
    return f"{name}: {lines[0]}" if lines else name


def main():
    parser = argparse.ArgumentParser(prog="python -m assay.net_export")
    parser.add_argument("--line", type=int, default=1)
    parser.add_argument("--source", required=True)
    parser.add_argument("--side", type=int, default=224)
    parser.add_argument("--output", required=True)
    options = parser.parse_args()
    try:
        torch = import_torch()
        network = make(torch, find(options.source), options.source)
        export(torch, network, options.side, options.output)
    except Exception as error:  # whatever it is, it is the answer
        os.write(options.line, answer("failed", reason=str(error)[:400]))
        return
    os.write(options.line, answer("ok"))


if __name__ == "__main__":
    main()
