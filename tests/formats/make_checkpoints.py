#!/usr/bin/python3
"""Writes checkpoints with PyTorch, and tables of their contents.

    make_checkpoints.py FOLDER

NAME.pth and NAME.tsv (name, dtype, shape, sum, mean absolute value) for each
case; NAME.refuse.pth for those that no reader should accept. Exits with 77 if
torch is missing.
"""
import collections
import pathlib
import sys
import zipfile

try:
    import torch
except ImportError:
    sys.exit(77)


def walk(value, name=""):
    if isinstance(value, torch.Tensor):
        yield name, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from walk(item, f"{name}.{key}" if name else str(key))
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from walk(item, f"{name}.{i}" if name else str(i))


def write_table(path, value):
    with open(path, "w") as table:
        print("name\tdtype\tshape\tsum\tmean_abs", file=table)
        for name, tensor in walk(value):
            wide = tensor.detach().to(torch.float64)
            shape = "x".join(map(str, tensor.shape)) or "scalar"
            mean = wide.abs().mean().item() if tensor.numel() else 0
            print(name, str(tensor.dtype).replace("torch.", ""), shape,
                  "%.17g" % wide.sum().item(), "%.17g" % mean,
                  sep="\t", file=table)


def views():
    base = torch.randn(6, 8)
    return {
        "base": base,
        "row": base[2],
        "column": base[:, 3],
        "transposed": base.t(),
        "steps": base[1::2, ::3],
        "permuted": torch.randn(2, 3, 4, 5).permute(3, 1, 0, 2),
        "expanded": torch.randn(4, 1).expand(4, 7),
        "scalar": torch.tensor(3.25),
        "empty": torch.zeros(0, 5),
        "ones": torch.randn(1, 1, 3),
    }


def types():
    return {
        "half": torch.randn(33).half(),
        "large_half": torch.tensor([65504.0, -1.5]).half(),
        "tiny_half": torch.tensor([6e-8, -3e-6]).half(),
        "bfloat": torch.randn(33).bfloat16(),
        "double": torch.randn(7, 3).double(),
        "int64": torch.arange(-5, 50),
        "int32": torch.arange(9, dtype=torch.int32) - 4,
        "int16": torch.arange(9, dtype=torch.int16) - 4,
        "int8": torch.arange(9, dtype=torch.int8) - 4,
        "uint8": torch.arange(250, 256).to(torch.uint8),
        "bool": torch.tensor([True, False, True]),
    }


def nested():
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3),
                                torch.nn.BatchNorm2d(4))
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.randn(2, 3, 8, 8)).sum().backward()
    optimizer.step()
    wrapped = collections.OrderedDict(
        ("module." + name, tensor)
        for name, tensor in model.state_dict().items())
    return {
        "epoch": 3, "loss": 0.25, "best": None, "done": True, "big": 1 << 80,
        "name": "naïve", "raw": b"\0\xff", "size": torch.Size([1, 2]),
        "where": torch.device("cpu"), "tuple": (torch.ones(2), [torch.zeros(3)]),
        -3: torch.ones(1), 1 << 40: torch.ones(1), -(1 << 40): torch.ones(1),
        "state_dict": wrapped, "optimizer": optimizer.state_dict(),
    }


def cases():
    model = torch.nn.Linear(5, 3)
    yield "views", views()
    yield "types", types()
    yield "nested", nested()
    yield "plain", model.state_dict()
    yield "parameters", dict(model.named_parameters())
    yield "list", [torch.randn(3), {"a": torch.randn(2, 2)}]


def rewrite(source, target, compression, n_more=0):
    """The same archive, compressed or with many more entries."""
    with zipfile.ZipFile(source) as old, \
            zipfile.ZipFile(target, "w", compression) as new:
        for i in range(n_more):
            new.writestr(f"more/{i}", b"")
        for name in old.namelist():
            new.writestr(name, old.read(name))


class Stranger:
    pass


def main(folder):
    torch.manual_seed(0)
    for name, value in cases():
        for container, is_zip in (("zip", True), ("legacy", False)):
            stem = folder / f"{name}-{container}"
            torch.save(value, f"{stem}.pth",
                       _use_new_zipfile_serialization=is_zip)
            write_table(f"{stem}.tsv", value)
        torch.save(value, folder / f"{name}-protocol4.pth", pickle_protocol=4)
        write_table(folder / f"{name}-protocol4.tsv", value)
    # An archive with more than 65535 entries is ZIP64.
    rewrite(folder / "plain-zip.pth", folder / "zip64.pth",
            zipfile.ZIP_STORED, 66000)
    (folder / "zip64.tsv").write_text((folder / "plain-zip.tsv").read_text())
    rewrite(folder / "plain-zip.pth", folder / "compressed.refuse.pth",
            zipfile.ZIP_DEFLATED)
    torch.save({"x": Stranger()}, folder / "stranger.refuse.pth")
    torch.save(torch.nn.Linear(2, 2), folder / "module.refuse.pth",
               _use_new_zipfile_serialization=False)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
