"""ModelTiming: what it counts, what it prints, and what it leaves behind."""
import gc
import os
import re
import resource
import subprocess
import sys
import threading
import time

import pytest
import torch
from networks import Best, Failing, Images, Net, Scale
from torch import nn

from assay import ModelTiming, _native

ASSAY = os.environ["ASSAY_PROGRAM"]
# The program has the sanitizer in it; only Python needs it loaded before.
PLAIN = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}


class Sleep(nn.Module):
    def __init__(self, seconds):
        super().__init__()
        self.seconds = seconds

    def forward(self, x):
        time.sleep(self.seconds)
        return x


def timed(model, n=3, **options):
    with ModelTiming(model, **options) as timing, torch.no_grad():
        for _ in range(n):
            model(torch.rand(2, 3, 8, 8))
    return timing


def in_threads(n, work):
    threads = [threading.Thread(target=work) for _ in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def health(timing, tmp_path):
    timing.save(tmp_path / "health.assay")
    run = _native.read(tmp_path / "health.assay")
    return {name: n for name, n in run["health"].items() if n}


def test_the_tree_has_every_module_under_its_path_and_class():
    tree = timed(Net()).timing_data
    found = {node.path: (node.class_name, node.times_run)
             for _, node in tree.walk()}
    assert found == {
        "": ("PIPELINE", 3), "model": ("Net", 3),
        "model.stem": ("Conv2d", 6), "model.pool": ("AdaptiveAvgPool2d", 6),
        "model.blocks": ("ModuleList", 0),
        "model.blocks.0": ("Block", 3), "model.blocks.1": ("Block", 3),
        "model.blocks.0.conv": ("Conv2d", 3),
        "model.blocks.0.norm": ("BatchNorm2d", 3),
        "model.blocks.0.act": ("ReLU", 3),
        "model.blocks.1.conv": ("Conv2d", 3),
        "model.blocks.1.norm": ("BatchNorm2d", 3),
        "model.blocks.1.act": ("ReLU", 3),
        "model.head": ("Sequential", 3), "model.head.0": ("Flatten", 3),
        "model.head.1": ("Linear", 3)}


def test_times_are_those_of_a_clock_around_each_call():
    model = nn.Sequential(Sleep(0.02), Sleep(0.05))
    by_hand = 0
    with ModelTiming(model) as timing:
        for _ in range(4):
            begin = time.perf_counter()
            model(1)
            by_hand += time.perf_counter() - begin
    node = timing.timing_data.find("model")
    # Of two clocks, which agree to much less than a thousandth.
    assert 0.02 + 0.05 <= node.total_time <= by_hand / 4 * 1.001
    first, second = (timing.timing_data.find(f"model.{i}") for i in (0, 1))
    assert first.total_time >= 0.02 and second.total_time >= 0.05
    inner = first.total_time + second.total_time
    assert node.self_time == pytest.approx(node.total_time - inner, abs=1e-6)


def test_iterations_fill_the_loop():
    """The pipeline's mean times the iterations is the time of the loop."""
    model, post = Net(), Best()
    loader = torch.utils.data.DataLoader(Images(12), batch_size=2)
    begin = time.perf_counter()
    with ModelTiming(model, None, [post]) as timing, torch.no_grad():
        for images, labels in loader:
            time.sleep(0.01)
            post(images, labels, model(images))
        end = time.perf_counter()
    root = timing.timing_data
    assert root.times_run == 6
    assert root.total_time >= 0.01
    assert root.total_time * 6 <= end - begin + 0.01
    assert root.self_time == pytest.approx(
        root.total_time - sum(child.total_time for child in root.children),
        abs=1e-6)


def test_transforms_are_stages_of_the_pipeline():
    pre, post = Scale(2.0), Best()
    model = Net()
    loader = torch.utils.data.DataLoader(Images(6, pre), batch_size=2)
    with ModelTiming(model, pre, [post]) as timing, torch.no_grad():
        for images, labels in loader:
            post(images, labels, model(images))
    lines = timing.summarize_tree().splitlines()
    shape = [re.sub(r"took .*", "", line).strip() for line in lines]
    assert shape[:3] == ["Pipeline (PIPELINE)",
                         ". Preprocessing (PREPROCESSING)",
                         ". . Scale (Scale)"]
    assert ". Model (Net)" in shape
    assert shape[-2:] == [". Postprocessing (POSTPROCESSING)",
                          ". . Best (Best)"]
    assert timing.timing_data.find("preprocess.Scale").times_run == 6
    assert timing.timing_data.find("postprocess.Best").times_run == 3


def test_layouts_are_those_of_the_program(tmp_path):
    pre, post, model = Scale(2.0), Best(), Net()
    with ModelTiming(model, [pre], post) as timing, torch.no_grad():
        for _ in range(3):
            images = pre(torch.rand(2, 3, 8, 8))
            post(images, None, model(images))
    timing.save(tmp_path / "run.assay")
    for option, ours in (("--tree=plain", timing.summarize_tree()),
                         ("--table=plain", timing.summarize_table())):
        shown = subprocess.run([ASSAY, "show", tmp_path / "run.assay", option],
                               check=True, capture_output=True, text=True,
                               env=PLAIN)
        assert shown.stdout == ours + "\n"


def test_the_table_has_twenty_rows_unless_told_otherwise():
    timing = timed(nn.Sequential(*[nn.Identity() for _ in range(30)]))
    assert len(timing.summarize_table().splitlines()) == 1 + 20
    assert len(timing.summarize_table(limit=3).splitlines()) == 1 + 3
    assert len(timing.summarize_table(limit=None).splitlines()) == 1 + 32
    assert len(timing.summarize_tree(depth=1).splitlines()) == 2


def test_outputs_are_the_same_with_and_without():
    model, x = Net().eval(), torch.rand(2, 3, 8, 8)
    bare = model(x)
    with ModelTiming(model):
        timed_output = model(x)
    assert torch.equal(bare, timed_output)


def test_everything_is_put_back():
    before = (vars(nn.Module)["__call__"], vars(Scale)["__call__"],
              vars(torch.utils.data.dataloader._BaseDataLoaderIter)["__next__"])
    model = Net()
    contents = dict(vars(model))
    with ModelTiming(model, Scale(1.0)):
        assert vars(nn.Module)["__call__"] is not before[0]
        inside = model.__call__
    after = (vars(nn.Module)["__call__"], vars(Scale)["__call__"],
             vars(torch.utils.data.dataloader._BaseDataLoaderIter)["__next__"])
    assert all(a is b for a, b in zip(before, after))
    assert dict(vars(model)) == contents
    assert not _native.is_recording()
    assert inside(torch.rand(1, 3, 8, 8)).shape == (1, 4)


def test_an_exception_leaves_the_block_with_the_times(tmp_path):
    model = Failing()
    timing = ModelTiming(model)
    with pytest.raises(ZeroDivisionError):
        with timing:
            model(torch.rand(1, 2), False)
            model(torch.rand(1, 2), True)
    assert vars(nn.Module)["__call__"] is not None
    assert timing.timing_data.find("model.deep").times_run == 2
    assert health(timing, tmp_path) == {}


def test_a_caught_exception_closes_what_it_left(tmp_path):
    model = Failing()
    with ModelTiming(model) as timing:
        for i in range(6):
            try:
                model(torch.rand(1, 2), i % 2 == 1)
            except ZeroDivisionError:
                pass
    paths = {node.path for _, node in timing.timing_data.walk()}
    assert paths == {"", "model", "model.inner", "model.deep"}
    assert timing.timing_data.times_run == 6
    assert health(timing, tmp_path) == {}


def test_a_hook_that_raises_is_the_users():
    model = Net()

    def hook(module, args):
        raise KeyError("from the hook")

    handle = model.pool.register_forward_pre_hook(hook)
    with pytest.raises(KeyError), ModelTiming(model):
        model(torch.rand(1, 3, 8, 8))
    handle.remove()


def test_a_run_that_cannot_be_saved_there_can_be_saved_elsewhere(tmp_path):
    timing = timed(Net())
    with pytest.raises(OSError, match="missing"):
        timing.save(tmp_path / "missing" / "run.assay")
    timing.save(tmp_path / "run.assay")
    assert _native.read(tmp_path / "run.assay")["iterations"] == 3


def test_nesting_is_refused():
    model = Net()
    with ModelTiming(model):
        with pytest.raises(RuntimeError, match="cannot be nested"):
            ModelTiming(model).__enter__()
        model(torch.rand(1, 3, 8, 8))


def test_what_cannot_be_timed_is_refused():
    with pytest.raises(TypeError, match="torch.nn.Module, not int"):
        ModelTiming(3).__enter__()
    with pytest.raises(TypeError, match="wrap a function"):
        ModelTiming(Net(), [lambda image: image]).__enter__()
    with pytest.raises(RuntimeError, match="after the `with` block"):
        ModelTiming(Net()).timing_data
    assert not _native.is_recording()


def test_modules_outside_the_model_are_not_recorded():
    model, other = Net(), nn.Linear(2, 2)
    with ModelTiming(model) as timing:
        other(torch.rand(1, 2))
        model(torch.rand(1, 3, 8, 8))
        other(torch.rand(1, 2))
    assert all(node.class_name != "Linear" or "head" in node.path
               for _, node in timing.timing_data.walk())


def test_a_replaced_and_a_deleted_module_do_no_harm():
    model = Net()
    with ModelTiming(model) as timing, torch.no_grad():
        for _ in range(3):
            model(torch.rand(1, 3, 8, 8))
            model.head[1] = nn.Linear(8, 4)
            gc.collect()
    assert timing.timing_data.find("model").times_run == 3


def test_a_scripted_module_is_one_scope():
    inner = torch.jit.script(nn.Sequential(nn.Linear(4, 4), nn.ReLU()))
    timing = None
    model = nn.Sequential(inner)
    with ModelTiming(model) as timing:
        model(torch.rand(1, 4))
    assert [node.path for _, node in timing.timing_data.walk()] == [
        "", "model", "model.0"]


def test_threads_have_lanes_of_their_own(tmp_path):
    model = Net().eval()
    all_there = threading.Barrier(3)

    def work():
        with torch.no_grad():
            for _ in range(5):
                model(torch.rand(1, 3, 8, 8))
                all_there.wait()

    with ModelTiming(model) as timing:
        in_threads(3, work)
    timing.save(tmp_path / "run.assay")
    run = _native.read(tmp_path / "run.assay")
    assert len(run["lanes"]) >= 3
    model_scope = next(s for s in run["scopes"] if s["name"] == "model")
    assert model_scope["calls"] == 15
    assert health(timing, tmp_path) == {}


def test_threads_may_call_a_module_for_the_first_time_at_once():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(20):
            model = Net().eval()
            all_there = threading.Barrier(4)

            def work():
                x = torch.rand(1, 3, 8, 8)
                with torch.no_grad():
                    all_there.wait()
                    model(x)
                    all_there.wait()
                    model(x)

            with ModelTiming(model) as timing:
                in_threads(4, work)
            assert timing.timing_data.find("model").times_run == 8
    finally:
        sys.setswitchinterval(interval)


def test_work_is_that_of_the_shapes(tmp_path):
    model = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, groups=1, bias=False),
                          nn.Flatten(), nn.Linear(8 * 3 * 3, 5),
                          nn.Unflatten(1, (5, 1)))
    with ModelTiming(model) as timing:
        model(torch.rand(2, 3, 8, 8))
    timing.save(tmp_path / "run.assay")
    scopes = {s["name"]: s for s in _native.read(tmp_path / "run.assay")["scopes"]}
    assert scopes["0"]["macs"] == 2 * 8 * 3 * 3 * 3 * 9
    assert scopes["0"]["parameters"] == 8 * 3 * 9
    assert scopes["0"]["shapes"] == "2x3x8x8 -> 2x8x3x3"
    assert scopes["2"]["macs"] == 2 * 72 * 5
    assert scopes["2"]["parameters"] == 72 * 5 + 5


def test_memory_does_not_grow_in_ten_thousand_iterations():
    class Fresh(nn.Module):
        """Makes a module in every call."""

        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(2, 2)

        def forward(self, x):
            return nn.ReLU()(self.linear(x))

    model, x = Fresh(), torch.rand(1, 2)

    def many(n):
        with ModelTiming(model), torch.no_grad():
            for _ in range(n):
                model(x)
        gc.collect()
        return len(gc.get_objects())

    many(1000)
    objects = many(1000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert many(10000) <= objects + 50
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert after - before < 8 * 1024  # KiB
