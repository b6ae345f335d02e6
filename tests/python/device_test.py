"""Device times by events, on a driver that only plays one (fake_cuda.c). Its
library is named in LD_LIBRARY_PATH; torch itself sees no GPU."""
import os
import re
import subprocess
import time

import pytest
import torch
from torch import nn

import assay
from assay import _native, attach


class Nap(nn.Module):
    def forward(self, x):
        time.sleep(0.002)
        return x


@pytest.fixture
def device(monkeypatch):
    """Opens the stand-in where a recording would open a GPU. Returns the list
    of streams that PyTorch was asked for."""
    asked = []

    def stream(index):
        asked.append(index)
        return 0

    def open_device(patches, unused, has_all=False):
        _native.device_open_events(stream, lambda: 0, 0, True)

    monkeypatch.setattr(attach, "open_device", open_device)
    return asked


def record(tmp_path, n, model=None, warm_up=0):
    model = model or nn.Sequential(Nap(), nn.Sequential(Nap(), Nap()))
    path = tmp_path / "run.assay"
    with assay.recording(path, device=True, warm_up=warm_up):
        with torch.no_grad():
            for _ in range(n):
                model(torch.ones(1))
    return _native.read(path)


def leaves(run):
    return [scope for scope in run["scopes"] if scope["class"] == "Nap"]


def test_leaves_have_device_times_and_nothing_is_waited_for(tmp_path, device):
    run = record(tmp_path, 3)
    assert "cuda:0 stream 0" in run["lanes"]
    for scope in leaves(run):
        assert scope["device_calls"] == 3
        # Floats of the driver: its milliseconds have seven digits.
        assert 1.99 < scope["device_mean_ms"] < scope["mean_ms"] + 0.01
    assert "device.timed_iterations" not in run["facts"]
    assert not any(run["health"].values())


def test_of_many_iterations_some_have_device_times(tmp_path, device):
    """The first four, and then every eighth."""
    run = record(tmp_path, 20, warm_up=2)
    assert run["iterations"] == 18
    assert run["facts"]["device.timed_iterations"] == "6"
    assert [scope["device_calls"] for scope in leaves(run)] == [6, 6, 6]
    shown = subprocess.run(
        [os.environ["ASSAY_PROGRAM"], "show", "--json",
         tmp_path / "run.assay"], capture_output=True, text=True, check=True,
        env={name: value for name, value in os.environ.items()
             if name != "LD_PRELOAD"})  # the program has its own sanitizer
    naps = re.findall(r'"class": "Nap".*?"device_ms": ([\d.]+)', shown.stdout,
                      re.S)
    assert len(naps) == 3 and all(float(ms) > 1.99 for ms in naps)


def test_the_pipelines_times_are_those_of_an_iteration(tmp_path, device):
    model = nn.Sequential(Nap())
    with assay.ModelTiming(model, device=True) as timing, torch.no_grad():
        for _ in range(20):
            model(torch.ones(1))
    nap = timing.timing_data.find("model.0")
    assert 0.00199 < nap.device_time


def test_a_stream_that_nobody_sets_is_asked_for_once(tmp_path, device):
    record(tmp_path, 3)
    assert len(device) == 1
    model = nn.Sequential(Nap())
    model.register_forward_hook(lambda *unused: _native.cuda_unfix())
    record(tmp_path, 3, model)
    assert len(device) > 3


def test_many_spans_wait_for_a_device_that_is_late(tmp_path, device):
    """The device is late by more than a pass through this model takes."""
    model = nn.Sequential(*[nn.Identity() for _ in range(2000)])
    run = record(tmp_path, 2, model)
    calls = [scope["device_calls"] for scope in run["scopes"]
             if scope["class"] == "Identity"]
    assert calls == [2] * 2000
