#!/usr/bin/python3
"""Writes, with PyTorch, files that people mistake for models.

    make_models.py FOLDER

Exits with 77 if torch is missing.
"""
import os
import sys

try:
    import torch
except ImportError:
    sys.exit(77)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3)

    def forward(self, x):
        return self.conv(x).mean((2, 3))


def main(folder):
    os.chdir(folder)
    net = Net().eval()
    old = {"_use_new_zipfile_serialization": False}
    torch.save(net, "whole.pt")
    torch.save(net, "whole_old.pt", **old)
    torch.save({"epoch": 1, "model": net}, "whole_in_dict.pt")
    torch.save(net.state_dict(), "state.pth")
    torch.save(net.state_dict(), "state_old.pth", **old)
    torch.save({"state_dict": net.state_dict(), "epoch": 1}, "training.pth")
    torch.jit.save(torch.jit.script(net), "scripted.pt")
    torch.jit.save(torch.jit.trace(net, torch.rand(1, 3, 8, 8)), "traced.pt")


if __name__ == "__main__":
    main(sys.argv[1])
