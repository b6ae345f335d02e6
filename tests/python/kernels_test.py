"""Device times by kernels, on a CUPTI that only plays one (fake_cupti.c). Its
library is named in LD_LIBRARY_PATH; torch itself sees no GPU."""
import ctypes
import os
import re
import signal
import subprocess
import time
import types

import pytest
import torch
from torch import nn

import assay
from assay import _native, attach
from assay.record import span

fake = ctypes.CDLL("libcupti.so.13")


def launch(microseconds, name="gemm", stream=7):
    fake.fake_launch(name.encode(), stream, microseconds)


class Launch(nn.Module):
    """Launches kernels of so many microseconds each."""

    def __init__(self, *microseconds, name="gemm"):
        super().__init__()
        self.microseconds = microseconds
        self.name = name

    def forward(self, x):
        for microseconds in self.microseconds:
            launch(microseconds, self.name)
        return x


class Around(nn.Module):
    """A module that launches something itself, before and after another."""

    def __init__(self):
        super().__init__()
        self.inner = Launch(300, 200)

    def forward(self, x):
        launch(100)
        x = self.inner(x)
        launch(50, "HtoD")
        return x


@pytest.fixture
def device(monkeypatch):
    """Opens the stand-in where a recording would open a GPU."""
    def open_device(patches, unused, has_all=False):
        assert attach._open_kernels(patches, torch, has_all) is None

    monkeypatch.setattr(attach, "open_device", open_device)
    monkeypatch.setattr(attach, "times_some",
                        lambda torch, device, has_all=False: not has_all)


def tree(path):
    """Path -> scope, and the run."""
    run = _native.read(path)
    paths, found = [], {}
    for scope in run["scopes"]:
        parent = paths[scope["parent"]] if scope["parent"] >= 0 else None
        paths.append("" if parent is None else scope["name"] if parent == ""
                     else f"{parent}.{scope['name']}")
        found[paths[-1]] = scope
    assert not any(run["health"].values())
    return found, run


def record(tmp_path, step, n=3, **options):
    path = tmp_path / "run.assay"
    options.setdefault("device", True)
    with assay.recording(path, **options):
        for _ in range(n):
            step()
    return tree(path)


def test_kernels_belong_to_the_module_that_launched_them(tmp_path, device):
    model = nn.Sequential(Around(), Launch(1000))
    with torch.no_grad():
        found, run = record(tmp_path, lambda: model(torch.ones(1)))
    ms = {path: (scope["device_calls"], round(scope["device_mean_ms"], 6))
          for path, scope in found.items() if scope["device_calls"]}
    assert ms == {"": (15, 1.65), "model": (15, 1.65), "model.0": (12, 0.65),
                  "model.0.inner": (6, 0.5), "model.1": (3, 1.0)}
    assert run["facts"]["device.timed_by"] == "CUPTI 130001"
    assert "device.timed_iterations" not in run["facts"]
    assert {"cuda:0 stream 7", "cuda:0 stream 7 copy in"} <= set(run["lanes"])


def test_a_forked_child_leaves_the_device_to_its_parent(tmp_path, device):
    recording = assay.recording(tmp_path / "run.assay", device=True)
    with recording:
        Launch(1000)(torch.ones(1))
        child = os.fork()
        if child == 0:
            recording.stop()
            os._exit(0)
        ended, late = (0, 0), time.monotonic() + 30
        while not ended[0] and time.monotonic() < late:
            time.sleep(0.01)
            ended = os.waitpid(child, os.WNOHANG)
        if not ended[0]:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    assert ended == (child, 0)
    found, _ = tree(tmp_path / "run.assay")
    assert found["forward"]["device_calls"] == 1


def test_what_no_module_launched_is_an_operation_of_its_own(tmp_path, device):
    model = nn.Sequential(Launch(500))

    def step():
        with torch.no_grad():
            model(torch.ones(1))
        launch(70)
        with span("after"):
            launch(30)

    found, _ = record(tmp_path, step)
    assert found["operations"]["device_mean_ms"] == pytest.approx(0.07)
    assert found["after"]["device_mean_ms"] == pytest.approx(0.03)


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        launch(10)
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        launch(40)
        return gradient * 2


class Doubling(nn.Module):
    def forward(self, x):
        return Double.apply(x)


def test_the_backward_pass_has_kernels_by_module(tmp_path, device):
    model = nn.Sequential(nn.Linear(2, 2), Doubling())
    model[0].weight.register_hook(lambda gradient: launch(5))
    rate = torch.optim.SGD(model.parameters(), lr=0.1)
    original = rate.step

    def step():
        model(torch.ones(1, 2)).sum().backward()
        original()

    found, _ = record(tmp_path, step)
    assert found["forward.1"]["device_mean_ms"] == pytest.approx(0.01)
    assert found["backward.1"]["device_mean_ms"] == pytest.approx(0.04)
    assert found["backward"]["device_mean_ms"] == pytest.approx(0.045)


def test_of_many_iterations_some_have_kernels(tmp_path, device):
    """The first four, and then every eighth."""
    model = nn.Sequential(Launch(100))
    with torch.no_grad():
        found, run = record(tmp_path, lambda: model(torch.ones(1)), 18)
    assert run["facts"]["device.timed_iterations"] == "6"
    assert found["model.0"]["device_calls"] == 6
    assert "operations" not in found


def test_every_kernel_is_a_scope_by_its_name(tmp_path, device):
    model = nn.Sequential(
        Launch(100, name="_ZN2at6native6kernelIiEEvT_i"),
        Launch(20, 20, name="void cudnn::(anonymous namespace)::conv<int>(int)"))
    with torch.no_grad():
        found, run = record(tmp_path, lambda: model(torch.ones(1)), 18,
                            kernels=True)
    assert "device.timed_iterations" not in run["facts"]
    calls = {path: scope["device_calls"] for path, scope in found.items()
             if scope["class"] == "kernel"}
    assert calls == {"model.0.at::native::kernel": 18,
                     "model.1.cudnn::conv": 36}


def test_waiting_for_the_device_is_no_part_of_an_iteration(tmp_path, device,
                                                           monkeypatch):
    closed = _native.device_close

    def close():
        with span("closing"):
            closed()

    monkeypatch.setattr(_native, "device_close", close)
    model = nn.Sequential(Launch(100))
    with torch.no_grad():
        found, _ = record(tmp_path, lambda: model(torch.ones(1)))
    assert found["closing"]["is_outside"]


class Waiting(Launch):
    """The device is done before it returns."""

    def forward(self, x):
        super().forward(x)
        time.sleep(0.012)
        return x


def show(tmp_path, *options):
    return subprocess.run(
        [os.environ["ASSAY_PROGRAM"], "show", *options, tmp_path / "run.assay"],
        capture_output=True, text=True, check=True,
        env={**{name: value for name, value in os.environ.items()
                if name != "LD_PRELOAD"}, "COLUMNS": "200"}).stdout


def test_the_screen_balances_the_device(tmp_path, device):
    model = nn.Sequential(Waiting(3000), Waiting(4000))
    with torch.no_grad():
        record(tmp_path, lambda: model(torch.ones(1)), 4)
    assert re.search(r"device +kernels 7\.0 \+ copies 0\.0 \+ idle [0-9.]+ = "
                     r".* idle for: .*launch.* timed by CUPTI 130001",
                     show(tmp_path))


def test_the_balance_is_not_that_of_a_slow_first_iteration(tmp_path, device):
    """The first iterations are kept, because these are timed. The median one is
    not."""
    model = nn.Sequential(Waiting(3000))
    extra_ms = iter([300] + [0] * 3 + [20 if i % 8 == 0 else 10
                                       for i in range(4, 28)])

    def step():
        model(torch.ones(1))
        time.sleep(next(extra_ms) / 1e3)

    with torch.no_grad():
        record(tmp_path, step, 28)
    span_ms = float(re.search(r"device +kernels .* = ([\d.]+) ms",
                              show(tmp_path)).group(1))
    assert span_ms < 300


def test_kernels_by_name_are_no_part_of_the_hosts_balance(tmp_path, device):
    model = nn.Sequential(Waiting(3000), Waiting(4000))
    with torch.no_grad():
        record(tmp_path, lambda: model(torch.ones(1)), 4, kernels=True)
    ops, gaps, residual, whole = map(float, re.search(
        r"ops ([\d.]+) \+ gaps ([\d.]+) \+ residual ([-\d.]+) = model ([\d.]+)",
        show(tmp_path)).groups())
    assert gaps == 0 and residual >= 0 and ops > 24
    assert "pass between the ops" not in show(tmp_path)


def test_the_timed_iterations_stand_for_all(tmp_path, device):
    """A module with several kernels, timed in 6 of 18 iterations."""
    model = nn.Sequential(Launch(100, 200, 300))
    with torch.no_grad():
        record(tmp_path, lambda: model(torch.ones(1)), 18)
    ms = re.findall(r'"class": "Launch".*?"device_ms": ([\d.]+)',
                    show(tmp_path, "--json"), re.S)
    assert [float(each) for each in ms] == [pytest.approx(0.6)]


def test_a_gpu_is_timed_once_a_model_is_on_it(tmp_path, device, monkeypatch):
    """Of 18 iterations, also of the one that has begun before."""
    monkeypatch.setattr(attach, "is_on_gpu", lambda model: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "a GPU")
    model = nn.Sequential(Launch(100))

    def steps():
        for batch in torch.utils.data.DataLoader(torch.ones(18)):
            with torch.no_grad():
                model(batch)

    found, run = record(tmp_path, steps, 1, device=None)
    assert run["facts"]["machine.gpu"] == "a GPU"
    assert run["facts"]["device.timed_iterations"] == "6"
    assert found["model.0"]["device_calls"] == 6
    found, run = record(tmp_path, steps, 1, device=None, warm_up=2)
    assert run["facts"]["device.timed_iterations"] == "5"
    assert found["model.0"]["device_calls"] == 5
    found, run = record(tmp_path, steps, 1, device=False)
    assert found["model.0"]["device_calls"] == 0
    with torch.no_grad(), assay.ModelTiming(model) as timing:
        model(torch.ones(1))
    assert timing.timing_data.find("model.0").device_time == 1e-4


class Far(torch.Tensor):
    is_cuda = True


def test_a_gpu_is_timed_once_a_tensor_is_on_it(tmp_path, device):
    model = nn.Sequential(Launch(100))

    def step():
        torch.ones(1).as_subclass(Far).to("meta")
        with torch.no_grad():
            model(torch.ones(1))

    found, run = record(tmp_path, step, device=None)
    assert found["model.0"]["device_calls"] == 3
    assert run["facts"]["device.timed_by"] == "CUPTI 130001"


def test_waiting_for_a_gpu_is_a_part_of_the_step(tmp_path, device,
                                                 monkeypatch):
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: time.sleep(0.002))
    model = nn.Sequential(Launch(100))

    def step():
        with torch.no_grad():
            model(torch.ones(1))
        assert torch.ones(1).as_subclass(Far).item() == 1
        assert torch.ones(1).item() == 1  # of the host: nobody waits
        torch.cuda.synchronize()

    found, _ = record(tmp_path, step)
    assert found["wait"]["calls"] == 6
    assert found["wait"]["total_ms"] > 6
    assert torch.cuda.synchronize.__name__ == "<lambda>"
    assert "item" not in vars(torch.Tensor)


def stand_in(**changes):
    """As much of torch as attach.open_device() asks for, with a GPU."""
    return types.SimpleNamespace(
        cuda=types.SimpleNamespace(
            is_available=lambda: True, init=lambda: None,
            current_device=lambda: 0, device_count=lambda: 2),
        empty=lambda *args, **kwargs: None, __file__=torch.__file__,
        _C=types.SimpleNamespace(_cuda_getCurrentRawStream=lambda device: 0,
                                 _cuda_getDevice=lambda: 0),
        autograd=torch.autograd, **changes)


def recorded_facts(tmp_path, monkeypatch, step=None):
    opened = attach.open_device
    with monkeypatch.context() as patched:
        patched.setattr(attach, "open_device",
                        lambda patches, torch, has_all=False: opened(
                            patches, stand_in(), has_all))
        model = nn.Sequential(Launch(100))
        with torch.no_grad(), assay.recording(tmp_path / "run.assay",
                                              device=True):
            model(torch.ones(1))
            if step:
                step()
            model(torch.ones(1))
    return tree(tmp_path / "run.assay")[1]["facts"]


@pytest.mark.parametrize("name, value, reason", [
    ("FAKE_CUPTI_VERSION", "140000",
     "events (CUPTI's version 140000 is not one of those known)"),
    ("ASSAY_CUDA_TIMES", "events", "events (ASSAY_CUDA_TIMES is events)"),
    ("FAKE_CUPTI_IS_TAKEN", "1",
     "events (CUPTI serves another profiler in this process)"),
    ("FAKE_CUPTI_VERSION", "28", "CUPTI 28"),
    ("FAKE_CUPTI_VERSION", "130202", "CUPTI 130202"),
    ("FAKE_CUPTI_VERSION", "130300",
     "events (CUPTI's version 130300 is not one of those known)")])
def test_without_cupti_there_are_events_and_the_run_says_why(
        tmp_path, monkeypatch, name, value, reason):
    monkeypatch.setenv(name, value)
    assert recorded_facts(tmp_path, monkeypatch)["device.timed_by"] == reason


def profiled(monkeypatch, keeps):
    """Runs PyTorch's profiler, which may not give CUPTI back."""
    with torch.autograd.profiler.profile(use_kineto=True):
        torch.ones(1) + 1
        if keeps:
            monkeypatch.setenv("FAKE_CUPTI_IS_TAKEN", "1")


@pytest.mark.parametrize("keeps, by", [
    (True, "events, since PyTorch's own profiler keeps CUPTI"),
    (False, "CUPTI 130001, and events while PyTorch's own profiler ran")])
def test_pytorchs_own_profiler_gets_cupti(tmp_path, monkeypatch, keeps, by):
    facts = recorded_facts(tmp_path, monkeypatch,
                           lambda: profiled(monkeypatch, keeps))
    assert facts["device.timed_by"] == by
    assert tree(tmp_path / "run.assay")[0]["model.0"]["device_calls"] == 2
    assert "events" in show(tmp_path) and "profiler" in show(tmp_path)


def test_what_was_profiled_before_is_timed_by_events(tmp_path, monkeypatch):
    with torch.autograd.profiler.profile(use_kineto=True):
        facts = recorded_facts(tmp_path, monkeypatch)
    assert facts["device.timed_by"] == ("events (PyTorch's own profiler uses "
                                        "CUPTI)")
