"""Campaigns in PyTorch: pruned networks are built again as its modules, and
compute the same as this program's engine."""
import csv
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time

import pytest
import torch
import torchvision

from assay import net_export, net_modules, torch_test

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import safetensors_out  # noqa: E402

PROGRAM = os.environ["ASSAY_PROGRAM"]


def assay(folder, *words, **variables):
    done = subprocess.run([PROGRAM, *words], cwd=folder, text=True,
                          capture_output=True,
                          env={**os.environ, "ASSAY_PYTHON": sys.executable,
                               **variables})
    return done.returncode, done.stdout, done.stderr


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def tensor_proto(tensor, name):
    """A tensor of float32 as the bytes of ONNX's TensorProto."""
    data = tensor.detach().contiguous().numpy().tobytes()
    dims = b"".join(b"\x08" + varint(n) for n in tensor.shape)
    return (dims + b"\x10\x01" + b"\x42" + varint(len(name)) + name.encode() +
            b"\x4a" + varint(len(data)) + data)


def weighted(folder, name, *prune):
    """The path of a network with its (random) weights in a file."""
    assert assay(folder, "export", name, "-o", "whole.onnx")[0] == 0
    if prune:
        assert assay(folder, "prune", "whole.onnx", *prune,
                     "-o", "net.net")[0] == 0
    else:
        assert assay(folder, "export", "whole.onnx", "-o", "net.net")[0] == 0
    return folder / "net.net"


def settle_norms(path, images):
    """Gives the norms the statistics of these images. With those of a new
    network nothing would be left of them after fifty layers."""
    network = net_modules.load(str(path)).train()
    for module in network.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.momentum = 1.0
    with torch.no_grad():
        network(images)
    settled = network.state_dict()
    weights = path.with_suffix(".safetensors")
    tensors = net_modules.read_safetensors(str(weights))
    for name in tensors:
        if ".running_" in name:
            tensors[name] = settled[name]
    safetensors_out.write(weights, tensors)


# ---- the same network

@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v2", "squeezenet1_1",
                                  "googlenet", "mnasnet1_0", "alexnet"])
def test_a_pruned_network_computes_in_torch_what_the_engine_computes(
        tmp_path, name):
    torch.manual_seed(0)
    path = weighted(tmp_path, name, "--percent", "50")
    images = torch.rand(2, 3, 224, 224)
    settle_norms(path, images)
    network = net_modules.load(str(path)).eval()
    with torch.no_grad():
        images /= network(images).abs().max()  # for those without norms
        scores = network(images)
    vectors = tmp_path / "vectors"
    vectors.mkdir()
    (vectors / "input_0.pb").write_bytes(tensor_proto(images, "images"))
    (vectors / "output_0.pb").write_bytes(tensor_proto(scores, "output"))
    code, out, err = assay(tmp_path, "verify", "net.net", "--data", "vectors",
                           "--atol", "1e-4", "--rtol", "1e-4")
    assert (code, err) == (0, ""), out + err
    assert scores.abs().max() > 0.01


def test_the_modules_have_the_names_and_classes_of_the_description(tmp_path):
    network = net_modules.load(str(weighted(tmp_path, "resnet18")))
    modules = dict(network.named_modules())
    assert isinstance(modules["layer2.0.downsample.0"], torch.nn.Conv2d)
    assert isinstance(modules["layer1.0.bn1"], torch.nn.BatchNorm2d)
    assert isinstance(modules["fc"], torch.nn.Linear)
    assert sum(p.numel() for p in network.parameters()) == 11689512


@pytest.mark.parametrize("name", ["densenet121", "mobilenet_v3_small",
                                  "efficientnet_b0", "regnet_y_400mf"])
def test_an_exported_network_is_the_one_it_was(tmp_path, name):
    torch.manual_seed(0)
    made = getattr(torchvision.models, name)(weights=None).eval()
    net_export.export(torch, made, 64, str(tmp_path / "own.onnx"))
    assert assay(tmp_path, "export", "own.onnx", "-o", "own.net")[0] == 0
    network = net_modules.load(str(tmp_path / "own.net")).eval()
    images = torch.rand(2, 3, 64, 64)
    with torch.no_grad():
        assert torch.allclose(network(images), made(images), atol=1e-4)
    assert sum(p.numel() for p in network.parameters()) == \
        sum(p.numel() for p in made.parameters())


def write_net(tmp_path, layers, constants=""):
    path = tmp_path / "small.net"
    path.write_text("assay-net 1\nmodel small Net\n"
                    "input images float32 ?x3x8x8\n" + constants + layers)
    return str(path)


def test_an_op_that_torch_cannot_be_given_is_named(tmp_path):
    path = write_net(tmp_path, "%0 = Trilu(images)\noutput y %0\n")
    with pytest.raises(net_modules.NetError, match="the op Trilu cannot be"):
        net_modules.load(path)


def test_names_in_quotes_comments_and_constants_are_read(tmp_path):
    path = write_net(
        tmp_path, '%0 = Mul(images, "a \\"b\\"") as "x y"  # 1x3x8x8\n'
        "%1 = Add(%0, $1)\n%2 = Sub(%1, images)\noutput y %2\n",
        'constant "a \\"b\\"" float32 1 = 3  # three\n'
        "constant $1 float32 scalar = 0.5\n")
    images = torch.rand(2, 3, 8, 8)
    assert torch.allclose(net_modules.load(path)(images), 2 * images + 0.5)


def test_a_relu_overwrites_only_what_nobody_else_reads(tmp_path):
    path = write_net(
        tmp_path, "%0 = Add(images, images)\n%1 = ReLU(%0)\n"
        "%2 = Add(%0, %1)\noutput y %2\n")
    images = torch.tensor([-1.0, 2.0]).reshape(1, 2, 1, 1)
    assert net_modules.load(path)(images).flatten().tolist() == [-2.0, 8.0]


def test_padding_may_differ_between_the_sides(tmp_path):
    path = write_net(
        tmp_path, "%0 = MaxPool2d(images) kernel=2,2 stride=2,2 after=1,1\n"
        "output y %0\n")
    images = -torch.ones(1, 1, 3, 3)
    out = net_modules.load(path)(images)
    assert out.shape == (1, 1, 2, 2) and out.max() == -1


# ---- tests, and the process that they are copies of

class Host:
    """`python -m assay.torch_test`, as a campaign starts it."""

    def __init__(self, **variables):
        self.line, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "assay.torch_test", "--line",
                 str(theirs.fileno())], pass_fds=[theirs.fileno()],
                env={**os.environ, **variables})
        self.ready = self.read()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.line.close()
        self.code = self.process.wait()

    def read(self):
        block = self.line.recv(torch_test.ANSWER_BYTES, socket.MSG_WAITALL)
        assert len(block) == torch_test.ANSWER_BYTES
        lines = block.rstrip(b"\0").decode().splitlines()
        return dict(line.split(" ", 1) for line in lines)

    def send(self, net, **options):
        words = [word for key, value in {"net": net, "threads": 1,
                                         **options}.items()
                 for word in (f"--{key.replace('_', '-')}", str(value))]
        request = "\n".join(words).encode()
        self.line.sendall(request.ljust(torch_test.ANSWER_BYTES, b"\0"))

    def test(self, net, **options):
        self.send(net, **options)
        return self.read()

    def tests(self):
        """The processes of the tests that run."""
        path = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        with open(path, encoding="ascii") as file:
            return [int(pid) for pid in file.read().split()]


@pytest.fixture(scope="module")
def host():
    with Host() as made:
        yield made


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    made = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3, padding=1), torch.nn.BatchNorm2d(16),
        torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
        torch.nn.Linear(16, 4))
    net_export.export(torch, made, 32, str(folder / "small.onnx"))
    assert assay(folder, "export", "small.onnx", "-o", "small.net")[0] == 0
    return str(folder / "small.net")


@pytest.mark.parametrize("stage", ["training", "inference"])
def test_a_test_measures_latency(host, small, stage):
    answer = host.test(small, batch=2, stage=stage, variable="latency")
    times = [float(ms) for ms in answer["steps_ms"].split()]
    assert answer["status"] == "ok"
    assert int(answer["n_steps"]) >= 3 and len(times) <= 64
    assert float(answer["latency_ms"]) > 0


def test_training_needs_more_memory_than_inference_and_larger_batches_more(
        host, small):
    used = {(stage, batch): float(host.test(
        small, batch=batch, stage=stage, variable="memory")["used_mb"])
        for stage, batch in (("inference", 256), ("training", 256),
                             ("training", 1024))}
    map_mb = 16 * 32 * 32 * 4 / (1 << 20)  # of an image
    assert used["inference", 256] > 256 * map_mb
    assert used["training", 256] > used["inference", 256]
    assert used["training", 1024] > used["training", 256] + 768 * map_mb


def test_running_out_of_memory_is_told_from_other_failures(
        host, tmp_path, small):
    answer = host.test(small, batch=65536, stage="training",
                       variable="memory", memory_mb=256)
    assert answer["status"] == "nomem"
    answer = host.test(tmp_path / "no.net", batch=1, stage="training",
                       variable="memory")
    assert answer["status"] == "failed" and "no.net" in answer["reason"]


def wait_until(is_so):
    while not is_so():
        time.sleep(0.01)


# A test that takes forever: it waits for a network that nobody writes.
@pytest.fixture
def endless(tmp_path):
    path = tmp_path / "endless.net"
    os.mkfifo(path)
    return path


def test_a_test_that_dies_is_an_answer_and_the_next_one_runs(
        host, small, endless):
    host.send(endless, stage="inference", variable="latency")
    wait_until(host.tests)
    os.kill(host.tests()[0], signal.SIGSEGV)
    assert host.read() == {"status": "ended", "signal": "11"}
    assert host.test(small, stage="inference",
                     variable="latency")["status"] == "ok"


def test_a_test_that_takes_too_long_is_stopped(host, small, endless):
    answer = host.test(endless, stage="inference", variable="latency",
                       seconds=0.3)
    assert answer == {"status": "late"}
    assert not host.tests()
    assert host.test(small, stage="inference",
                     variable="latency")["status"] == "ok"


@pytest.mark.parametrize("how", ["closed", "killed"])
def test_a_test_ends_with_the_process_that_asked_for_it(endless, how):
    with Host() as host:
        host.send(endless, stage="inference", variable="latency")
        wait_until(host.tests)
        pid = host.tests()[0]
        if how == "killed":
            host.process.kill()
    wait_until(lambda: not os.path.exists(f"/proc/{pid}"))
    assert how == "killed" or host.code == 0


def test_a_host_without_pytorch_says_so_at_once(tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('of the test')")
    with Host(PYTHONPATH=str(tmp_path) + os.pathsep +
              os.environ.get("PYTHONPATH", "")) as host:
        assert host.ready["status"] == "failed"
        assert "has no PyTorch (of the test)" in host.ready["reason"]


class Driver:
    """A GPU's, which says 3 until it is initialised."""
    state = 3

    def cuDeviceGetCount(self, _):  # noqa: N802
        return self.state


def test_what_starts_a_gpu_s_driver_is_not_imported_before_the_tests(
        tmp_path, monkeypatch):
    driver = Driver()
    monkeypatch.setattr(torch_test.ctypes, "CDLL", lambda name: driver)
    load = "import ctypes\ndriver = ctypes.CDLL('libcuda.so.1')\n"
    (tmp_path / "starts_driver.py").write_text(load + "driver.state = 0\n")
    (tmp_path / "loads_driver.py").write_text(load)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert not torch_test.import_ahead("starts_driver")
    assert not torch_test.import_ahead("is_not_there")
    assert torch_test.import_ahead("loads_driver")
    assert "starts_driver" not in sys.modules
    assert "loads_driver" in sys.modules


def test_a_machine_without_a_gpu_s_driver_touches_none(monkeypatch):
    def is_missing(name):
        raise OSError(name)
    monkeypatch.setattr(torch_test.ctypes, "CDLL", is_missing)
    assert not torch_test.has_touched_gpu()


def test_a_gpu_that_pytorch_does_not_see_is_refused():
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    options = torch_test.parse(["--check", "--device", "cuda:0"])
    with pytest.raises(ValueError, match="sees no GPU; --device cpu"):
        torch_test.check(torch, options)


# ---- networks given as Python

MODELS = """
    import torch
    def make_net():
        return torch.nn.Sequential(
            torch.nn.Conv2d(3, 16, 3, padding=1), torch.nn.BatchNorm2d(16),
            torch.nn.ReLU(), torch.nn.Conv2d(16, 16, 3, padding=1),
            torch.nn.BatchNorm2d(16), torch.nn.ReLU(),
            torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
            torch.nn.Linear(16, 10))
    def number():
        return 7
    class Odd(torch.nn.Module):
        def forward(self, x):
            return torch.linalg.svd(x)[1]
"""
CONFIG = """
    [create_network_dataset]
    networks= ['my_models.py:{}']
    pruning_perc= [0, 50]
    model_path= nets
    [profile]
    framework= torch
    dataset= cifar10
    bs= [1, 2]
    stage= ['inference']
    rounds= 1
    log_dir= logs
"""


def write_campaign(tmp_path, name="make_net", models=MODELS):
    if models is not None:
        (tmp_path / "my_models.py").write_text(textwrap.dedent(models))
    (tmp_path / "config.ini").write_text(textwrap.dedent(CONFIG.format(name)))


@pytest.mark.parametrize("name, models, said", [
    ("make_net", None, "opening the network my_models.py: No such file"),
    ("make_nets", MODELS, "my_models.py has no make_nets; it has Odd, "
                          "make_net, number"),
    ("number", MODELS, "my_models.py:number() returns an object of int, not a "
                       "torch.nn.Module"),
    ("Odd", MODELS, "PyTorch cannot export it to ONNX"),
    ("make_net", "import nothing_there", "importing my_models.py fails: "
                 "ModuleNotFoundError: No module named 'nothing_there'"),
])
def test_what_is_wrong_with_a_network_in_python_is_one_sentence(
        tmp_path, name, models, said):
    write_campaign(tmp_path, name, models)
    code, _, err = assay(tmp_path, "campaign", "config.ini", "--dry-run")
    assert code in (1, 3)
    assert said in err
    assert "Traceback" not in err


def test_a_network_in_python_is_pruned_measured_and_described(tmp_path):
    write_campaign(tmp_path)
    code, out, err = assay(tmp_path, "campaign", "config.ini", "--threads", "1")
    assert code == 0, err
    assert f"runs in  PyTorch {torch.__version__}, {sys.executable}" in out
    assert "tests    8: 8 passed" in out
    with open(tmp_path / "logs/measurements.csv", newline="",
              encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["network"], row["prune"], row["batch"], row["framework"])
            for row in rows] == [("make_net", level, batch, "torch")
                                 for level in ("0", "50")
                                 for batch in ("1", "2")]
    assert all(float(row["latency_ms"]) > 0 and float(row["mem_used_mb"]) > 0
               and row["lane"] == "" for row in rows)
    with open(tmp_path / "logs/layers.csv", newline="",
              encoding="utf-8") as file:
        convs = [(row["prune"], row["ic"], row["oc"])
                 for row in csv.DictReader(file)]
    assert convs == [("0", "3", "16"), ("0", "16", "16"), ("50", "3", "8"),
                     ("50", "8", "8")]


def test_a_campaign_in_torch_learns_and_predicts_for_torch(tmp_path):
    write_campaign(tmp_path)
    text = (tmp_path / "config.ini").read_text()
    (tmp_path / "config.ini").write_text(
        text.replace("bs= [1, 2]", "bs= [16, 32, 64, 128]\n"
                     "profile_variables= ['memory']") +
        "[fingerprint]\nstage= inference\nlatency_model= False\n")
    code, out, err = assay(tmp_path, "campaign", "config.ini", "--threads", "1")
    assert code == 0, err
    assert "runs in  PyTorch\n" in out  # of the fingerprint
    assert "framework torch" in (tmp_path / "logs/device-torch.fp").read_text()
    code, out, err = assay(tmp_path, "predict", "nets/make_net_50.net", "--on",
                           "logs/device-torch.fp", "--stage", "inference",
                           "--batch", "100")
    assert code == 0, err
    assert out.startswith("make_net in PyTorch, inference\n"), out
    assert "that the fingerprint was learned from (make_net" in out


def test_a_log_holds_both_frameworks_and_a_fit_asks_which(tmp_path):
    write_campaign(tmp_path)
    words = ("campaign", "config.ini", "--threads", "1")
    assert assay(tmp_path, *words)[0] == 0
    code, out, _ = assay(tmp_path, *words, "--framework", "assay")
    assert code == 0 and "8 passed" in out and "0 done before" in out
    code, _, err = assay(tmp_path, "fingerprint", "fit", "--data", "logs",
                         "-o", "x.fp")
    assert code == 3
    assert "measured in assay and torch, whose costs differ" in err


def test_a_python_without_pytorch_is_refused_before_anything_is_measured(
        tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('of the test')")
    write_campaign(tmp_path)
    (tmp_path / "config.ini").write_text(textwrap.dedent(
        CONFIG.format("make_net")).replace("'my_models.py:make_net'",
                                           "'resnet18'"))
    code, _, err = assay(tmp_path, "campaign", "config.ini",
                         PYTHONPATH=str(tmp_path) + os.pathsep +
                         os.environ.get("PYTHONPATH", ""))
    assert code == 3
    assert f"{sys.executable} has no PyTorch (of the test); --python" in err
    assert not (tmp_path / "logs").exists()


@pytest.mark.parametrize("body, said", [
    (None, "cannot start ./python.sh (No such file or directory); --python "
           "names the interpreter that has PyTorch"),
    ("exit 1", "./python.sh cannot run the package assay; PYTHONPATH="),
])
def test_a_python_that_cannot_be_used_is_one_sentence(tmp_path, body, said):
    write_campaign(tmp_path)
    (tmp_path / "config.ini").write_text(textwrap.dedent(
        CONFIG.format("make_net")).replace("'my_models.py:make_net'",
                                           "'resnet18'"))
    if body:
        (tmp_path / "python.sh").write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / "python.sh").chmod(0o755)
    code, _, err = assay(tmp_path, "campaign", "config.ini", "--python",
                         "./python.sh")
    assert code == 3 and said in err
    assert not (tmp_path / "logs").exists()


def test_the_least_block_counts_and_says_whether_it_is_steady():
    slow, quick = [1.4] * 18, [1.0] * 24 + [0.9, 1.1]
    assert torch_test.least_block(slow + quick + slow + slow) == (1.0, False)
    assert torch_test.least_block(quick + quick + slow) == (1.0, True)
    assert torch_test.least_block([90.0, 80.0, 81.0]) == (80.0, True)


def test_blocks_share_the_processors():
    allowed = {3, 4, 5, 8, 9, 10, 11, 20, 21, 22}
    groups = [torch_test.block_processors(allowed, block)
              for block in range(1, 2 * torch_test.N_GROUPS, 2)]
    assert set().union(*groups) == allowed
    assert sum(map(len, groups)) == len(allowed)
    assert torch_test.block_processors({7}, 5) == {7}
    assert torch_test.block_processors(allowed, 2 * torch_test.N_GROUPS + 1) \
        == groups[0]
    assert torch_test.block_processors(allowed, 2) == allowed


def test_steps_move_on_after_each_block():
    class Clock:
        def time(self, step):
            step()
            return 10.0

    moves, steps = [], []
    times = torch_test.measure_latency(Clock(), lambda: steps.append(1), 90,
                                       moves.append)
    assert len(times) == len(steps) == 9
    assert moves == [0, 1, 2]  # after three steps each
