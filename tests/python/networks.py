"""Small networks that the tests of the Python package record."""
import torch
from torch import nn


class Block(nn.Module):
    """A convolution, a norm, and an addition that is no module."""

    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm = nn.BatchNorm2d(channels)
        self.act = nn.ReLU(inplace=True)

    def forward(self, x):
        return self.act(self.norm(self.conv(x)) + x)


class Net(nn.Module):
    """Blocks in a ModuleList, which is never called, and a shared module."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.blocks = nn.ModuleList([Block(8), Block(8)])
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(8, 4))

    def forward(self, x):
        x = self.pool(self.stem(x)) + self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(self.pool(x))


class Images(torch.utils.data.Dataset):
    def __init__(self, n, transform=None):
        self.n = n
        self.transform = transform

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        image = torch.full((3, 8, 8), float(i) / self.n)
        return (self.transform(image) if self.transform else image), i % 4


class Scale:
    """A transform that is not a module."""

    def __init__(self, factor):
        self.factor = factor

    def __call__(self, image):
        return image * self.factor


class Best(nn.Module):
    """A transform of outputs."""

    def forward(self, images, labels, predictions):
        return predictions.argmax(1)


class Failing(nn.Module):
    """Raises inside a module inside it, if told to."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2)
        self.deep = Raising()

    def forward(self, x, fails):
        return self.deep(self.inner(x), fails)


class Raising(nn.Module):
    def forward(self, x, fails):
        if fails:
            raise ZeroDivisionError("told to fail")
        return x
