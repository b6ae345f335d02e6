"""Recording whole programs: training, its parts, and the books."""
import copy
import gc
import pickle
import resource

import pytest
import torch
from networks import Images, Net
from torch import nn
from torch.utils.checkpoint import checkpoint

import assay
from assay import _native, work
from assay.record import Recording, span


def scopes_of(path):
    """Path -> scope, for a run file."""
    run = _native.read(path)
    paths, found = [], {}
    for scope in run["scopes"]:
        parent = paths[scope["parent"]] if scope["parent"] >= 0 else None
        path = scope["name"] if parent == "" else f"{parent}.{scope['name']}"
        paths.append("" if parent is None else path)
        found[paths[-1]] = scope
    bad = {name: n for name, n in run["health"].items() if n}
    return found, bad, run


def train(model, loader, step_model=None, epochs=1, optimizer=torch.optim.SGD):
    rate = optimizer(model.parameters(), lr=0.1)
    loss_of = nn.CrossEntropyLoss()
    losses = []
    for _ in range(epochs):
        for images, labels in loader:
            rate.zero_grad()
            loss = loss_of((step_model or model)(images), labels)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            rate.step()
            losses.append(loss.item())
    return losses


def loader(n=8, workers=0):
    return torch.utils.data.DataLoader(Images(n), batch_size=2,
                                       num_workers=workers)


def results(model, losses):
    return losses, [p.detach().clone() for p in model.parameters()], [
        p.grad.clone() for p in model.parameters()]


def same(a, b):
    return a[0] == b[0] and all(
        torch.equal(x, y) for i in (1, 2) for x, y in zip(a[i], b[i]))


def test_losses_and_gradients_are_bit_for_bit_the_same(tmp_path):
    torch.manual_seed(0)
    first = Net()
    second = copy.deepcopy(first)
    bare = results(first, train(first, loader(), epochs=3))
    with Recording(tmp_path / "run.assay"):
        recorded = results(second, train(second, loader(), epochs=3))
    assert same(bare, recorded)


def test_a_training_step_has_its_parts_and_modules(tmp_path):
    model = Net()
    with assay.recording(tmp_path / "run.assay"):
        train(model, loader())
    found, bad, run = scopes_of(tmp_path / "run.assay")
    assert bad == {}
    assert run["iterations"] == 4
    for part in ("data", "zero_grad", "forward", "loss", "backward",
                 "clip_gradients", "optimizer"):
        assert found[part]["calls"] == 4, part
    assert found["forward"]["class"] == found["backward"]["class"] == "Net"
    assert found["optimizer"]["class"] == "SGD"
    assert found["data"]["class"] == "DataLoader"
    for path in ("blocks.0.conv", "blocks.1.norm", "head.1", "stem"):
        assert found[f"forward.{path}"]["calls"] > 0
        assert found[f"backward.{path}"]["calls"] > 0
        assert (found[f"forward.{path}"]["class"]
                == found[f"backward.{path}"]["class"])
    assert found["backward.loss"]["calls"] > 0
    # The addition in a block is the block's own, not one of its modules'.
    assert found["backward.blocks.0.operations"]["calls"] == 4
    inner = sum(scope["total_ms"] for path, scope in found.items()
                if path.startswith("backward.") and scope["calls"])
    assert inner <= found["backward"]["total_ms"]
    assert found["backward"]["total_ms"] - found["backward"]["self_ms"] == \
        pytest.approx(inner, rel=1e-6)


def test_memory_is_counted_by_category(tmp_path):
    """A float has 4 bytes: 58 weights, as many gradients and momenta, and the
    outputs of three modules for three rows."""
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    rate = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    with Recording(tmp_path / "run.assay"):
        for _ in range(3):
            model(torch.ones(3, 4)).sum().backward()
            rate.step()
    spaces = {(space, category): (peak, at_peak) for space, category, peak,
              at_peak in _native.read(tmp_path / "run.assay")["spaces"]}
    kept = 3 * (8 + 8 + 2) * 4
    assert spaces == {
        ("host", ""): (3 * 232 + kept,) * 2,
        ("host", "weights"): (232, 232),
        ("host", "gradients"): (232, 232),
        ("host", "optimizer"): (232, 232),
        ("host", "activations"): (kept, kept)}


def test_gradients_that_are_dropped_are_given_back(tmp_path):
    model = nn.Linear(4, 8)
    rate = torch.optim.SGD(model.parameters(), lr=0.1)
    with Recording(tmp_path / "run.assay"):
        for _ in range(3):
            rate.zero_grad(set_to_none=True)
            model(torch.ones(3, 4)).sum().backward()
            rate.step()
    whole = {category: peak for _, category, peak, _
             in _native.read(tmp_path / "run.assay")["spaces"]}
    assert whole == {"": 320, "weights": 160, "gradients": 160,
                     "activations": 96}


def test_what_an_allocator_says_is_shared_out(tmp_path):
    """A GPU's allocator, played by a function: what the weights do not explain
    is activations."""
    said = iter([1600, 1600])
    with Recording(tmp_path / "run.assay") as recording:
        model = nn.Sequential(nn.ReLU())
        _native.memory_ask(lambda: next(said, 1000), "cuda:0")
        _native.memory("cuda:0", "weights", 400)
        model(torch.ones(2))
        assert recording is not None
    spaces = {category: (peak, at_peak) for space, category, peak, at_peak
              in _native.read(tmp_path / "run.assay")["spaces"]
              if space == "cuda:0"}
    assert spaces == {"": (1600, 1600), "weights": (400, 400),
                      "activations": (1200, 1200)}


def test_the_books_of_an_iteration_balance(tmp_path):
    with Recording(tmp_path / "run.assay"):
        train(Net(), loader(16))
    found, _, _ = scopes_of(tmp_path / "run.assay")
    parts = sum(scope["total_ms"] for path, scope in found.items()
                if path and "." not in path and not scope["is_outside"])
    whole = found[""]
    assert parts + whole["self_ms"] == pytest.approx(whole["total_ms"],
                                                     rel=0.01)


def test_the_backward_pass_has_the_work_of_its_gradients(tmp_path):
    """12 MACs for each gradient that is wanted: the first layer has no input
    gradient, the frozen one none of weights, and one is called twice."""
    first, frozen, twice = nn.Linear(4, 3), nn.Linear(3, 4), nn.Linear(4, 4)
    frozen.requires_grad_(False)
    model = nn.Sequential(first, frozen, twice, twice)
    with Recording(tmp_path / "run.assay"):
        model(torch.ones(1, 4))  # without a backward pass
        for _ in range(2):
            model(torch.ones(1, 4)).sum().backward()
            model.zero_grad()
    found, bad, run = scopes_of(tmp_path / "run.assay")
    assert run["iterations"] == 3
    macs = [round(found[f"backward.{i}"]["macs"] * 3 / 2) for i in range(3)]
    assert macs == [12, 12, 64]
    assert found["forward.0"]["macs"] == 12
    assert bad == {}


def test_work_is_computed_once_for_each_shape(tmp_path, monkeypatch):
    """Computing it in Python takes longer than a module's call."""
    computed = []
    original = work.work_of

    def work_of(module):
        function = original(module)
        return lambda *args: computed.append(0) or function(*args)

    monkeypatch.setattr(work, "work_of", work_of)
    layer = nn.ReLU()
    with Recording(tmp_path / "run.assay"), torch.no_grad():
        for _ in range(3):
            with span("step"):
                for n in range(1, 21):
                    layer(torch.ones(n % 5 + 1))
    found, bad, _ = scopes_of(tmp_path / "run.assay")
    assert len(computed) == 5
    assert bad == {}


def test_the_threads_are_those_that_the_program_sets(tmp_path):
    n = torch.get_num_threads()
    try:
        with assay.recording(tmp_path / "run.assay"):
            torch.set_num_threads(n + 1)
            nn.Linear(1, 1)(torch.ones(1, 1))
    finally:
        torch.set_num_threads(n)
    facts = scopes_of(tmp_path / "run.assay")[2]["facts"]
    assert facts["settings.threads"] == str(n + 1)


def test_inputs_of_another_shape_are_seen_at_once(tmp_path):
    model = nn.Sequential(nn.Linear(1, 1, bias=False))
    with torch.no_grad(), assay.recording(tmp_path / "run.assay"):
        for _ in range(20):
            model(torch.zeros(2, 1))
        for _ in range(20):
            model(torch.zeros(4, 1))
    found, bad, run = scopes_of(tmp_path / "run.assay")
    assert not bad and run["iterations"] == 40
    assert found["model.0"]["macs"] == 3
    assert found["model.0"]["shapes"] == "4x1 -> 4x1"
    assert found["model.0"]["parameters"] == 1


def test_shapes_that_change_inside_a_model_are_seen(tmp_path):
    class Some(nn.Module):
        def __init__(self):
            super().__init__()
            self.part = nn.Linear(1, 1)
            self.n = 2

        def forward(self, x):
            return self.part(x[:self.n])

    model = Some()
    with torch.no_grad(), assay.recording(tmp_path / "run.assay"):
        for i in range(400):
            model.n = 2 if i < 200 else 4
            model(torch.zeros(8, 1))
    macs = scopes_of(tmp_path / "run.assay")[0]["model.part"]["macs"]
    assert 3 - 7 * 2 / 400 <= macs <= 3  # at most seven iterations late


def test_calls_with_a_tuple_of_arguments_are_recorded_too(tmp_path):
    """As Python before 3.11 makes them."""
    model = nn.Sequential(nn.Bilinear(2, 3, 4), nn.Identity())
    inputs = torch.ones(5, 2, requires_grad=True), torch.ones(5, 3)
    with assay.recording(tmp_path / "run.assay"):
        method = vars(nn.Module)["__call__"]
        answer = type(method).__call__(method, model[0], *inputs[:1],
                                       input2=inputs[1])
        answer.sum().backward()
    found, bad, _ = scopes_of(tmp_path / "run.assay")
    assert not bad and found["forward"]["calls"] == 1
    assert found["forward"]["macs"] == 5 * 4 * 2 * 3
    assert found["backward"]["calls"] > 0


def test_more_shapes_than_are_kept_are_counted_too(tmp_path):
    layer = nn.Linear(1, 1)
    with Recording(tmp_path / "run.assay"), torch.no_grad():
        for _ in range(2):
            for n in range(1, 41):
                layer(torch.ones(n, 1))
    found, bad, _ = scopes_of(tmp_path / "run.assay")
    assert found["model"]["macs"] == 20.5  # of an iteration: a call
    assert bad == {}


def test_evaluation_has_a_tree_of_its_own(tmp_path):
    model = Net()
    with Recording(tmp_path / "run.assay"):
        train(model, loader())
        model.eval()
        with torch.no_grad():
            for images, _ in loader(4):
                model(images)
    found, bad, run = scopes_of(tmp_path / "run.assay")
    assert (found["forward"]["calls"], found["model"]["calls"]) == (4, 2)
    assert found["model.head.1"]["calls"] == 2
    assert run["iterations"] == 6
    assert bad == {}


def test_recomputed_segments_and_several_backward_calls(tmp_path):
    torch.manual_seed(0)
    first = Net()
    second = copy.deepcopy(first)

    def step(model):
        x = torch.linspace(0, 1, 2 * 3 * 8 * 8).reshape(2, 3, 8, 8)
        x.requires_grad_(True)
        middle = checkpoint(model.stem, x, **reentrant)
        out = model.head(model.pool(model.blocks[0](middle))).sum()
        out.backward(retain_graph=True)
        out.backward()
        return [p.grad.clone() if p.grad is not None else None
                for p in model.parameters()]

    reentrant = {} if torch.__version__.startswith("1.") else {
        "use_reentrant": True}
    bare = step(first)
    with Recording(tmp_path / "run.assay"):
        recorded = step(second)
    assert all((a is None and b is None) or torch.equal(a, b)
               for a, b in zip(bare, recorded))
    _, bad, _ = scopes_of(tmp_path / "run.assay")
    assert bad == {}


def test_a_backward_pass_that_fails_closes_its_spans(tmp_path):
    class Stuck(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            return x * 2

        @staticmethod
        def backward(context, gradient):
            raise ArithmeticError("told to fail")

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(2, 2)

        def forward(self, x):
            return Stuck.apply(self.inner(x))

    model = Model()
    with Recording(tmp_path / "run.assay"):
        for _ in range(3):
            with pytest.raises(ArithmeticError):
                model(torch.rand(1, 2)).sum().backward()
    found, bad, _ = scopes_of(tmp_path / "run.assay")
    assert bad == {}
    assert found["backward"]["calls"] == 3


def test_workers_of_a_loader_are_lanes(tmp_path):
    with Recording(tmp_path / "run.assay"):
        losses = train(Net(), loader(16, workers=2), epochs=2)
    found, bad, run = scopes_of(tmp_path / "run.assay")
    assert len(losses) == 16
    assert {"worker 0", "worker 1"} <= set(run["lanes"])
    assert found["data.fetch"]["calls"] > 0
    assert bad == {}


def test_batches_arrive_as_they_are_after_the_recording():
    """Workers that outlive a recording go on sending times along."""
    data = torch.utils.data.DataLoader(Images(8), batch_size=2, num_workers=1,
                                       persistent_workers=True)
    model = Net().eval()
    with assay.ModelTiming(model), torch.no_grad():
        for images, _ in data:
            model(images)
    for images, labels in data:
        assert images.shape == (2, 3, 8, 8) and labels.shape == (2,)


def test_a_loop_left_early_ends_its_iteration(tmp_path):
    with Recording(tmp_path / "run.assay"):
        model = Net().eval()
        for i, (images, _) in enumerate(loader(20)):
            model(images)
            if i == 2:
                break
        gc.collect()
    found, bad, run = scopes_of(tmp_path / "run.assay")
    assert run["iterations"] == 3
    assert bad == {}


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.AdamW,
                                  torch.optim.RMSprop])
def test_optimizers_of_any_kind(tmp_path, kind):
    kind([torch.zeros(1)], lr=0.1)  # PyTorch replaces step() then
    before = kind.step
    with Recording(tmp_path / "run.assay"):
        train(Net(), loader(4), optimizer=kind)
    found, _, _ = scopes_of(tmp_path / "run.assay")
    assert found["optimizer"]["class"] == kind.__name__
    assert found["optimizer"]["calls"] == 2
    assert kind.step is before


def test_an_optimizer_that_inherits_its_step(tmp_path):
    class Own(torch.optim.SGD):
        pass

    for _ in range(2):
        with Recording(tmp_path / "run.assay"):
            train(Net(), loader(4), optimizer=Own)
        found, bad, _ = scopes_of(tmp_path / "run.assay")
        assert not bad and found["optimizer"]["class"] == "Own"
        assert found["optimizer"]["calls"] == 2
        assert "optimizer.optimizer" not in found
    inner = Own.step
    while hasattr(inner, "__wrapped__"):
        assert inner.__code__.co_filename != span(None)(len).__code__.co_filename
        inner = inner.__wrapped__


def test_a_second_model_and_a_module_made_later(tmp_path):
    first, second = nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2))
    with Recording(tmp_path / "run.assay"):
        for i in range(3):
            second(first(torch.rand(1, 2))).sum().backward()
            if i == 0:
                second.append(nn.Tanh())
    found, bad, _ = scopes_of(tmp_path / "run.assay")
    assert found["forward"]["class"] == "Linear"
    assert found["forward_2"]["class"] == "Sequential"
    assert found["forward_2.1"]["class"] == "Tanh"
    assert bad == {}


def test_the_loss_of_a_second_recording_is_in_its_own_backward_pass(tmp_path):
    """The two models have scopes of the same names and other classes."""
    for model in (nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2))):
        loss = nn.MSELoss()
        with Recording(tmp_path / "run.assay"):
            loss(model(torch.rand(1, 2)), torch.ones(1, 2)).backward()
        _, bad, run = scopes_of(tmp_path / "run.assay")
        tops = [scope for scope in run["scopes"] if scope["parent"] == 0]
        assert [scope["class"] for scope in tops
                if scope["name"] == "backward"] == [type(model).__name__]
        assert [run["scopes"][scope["parent"]]["class"]
                for scope in run["scopes"] if scope["class"] == "MSELoss"
                and scope["name"] == "loss" and scope["parent"]] == [
                    type(model).__name__]
        assert bad == {}


def test_models_are_pickled_and_copied_as_without_us(tmp_path):
    model = Net()
    with Recording(tmp_path / "run.assay"):
        model(torch.rand(1, 3, 8, 8))
        plain = pickle.dumps(model)
        twin = copy.deepcopy(model)
    assert plain == pickle.dumps(model)
    assert set(vars(twin)) == set(vars(model))


def test_one_recording_at_a_time(tmp_path):
    with Recording(tmp_path / "run.assay"):
        with pytest.raises(RuntimeError, match="one at a time"):
            Recording(tmp_path / "other.assay").start()
    assert not (tmp_path / "other.assay").exists()


def test_a_file_that_cannot_be_written_is_said(tmp_path):
    before = vars(nn.Module)["__call__"]
    with pytest.raises((OSError, RuntimeError), match="nowhere"):
        Recording(tmp_path / "nowhere" / "run.assay").start()
    assert vars(nn.Module)["__call__"] is before


def test_recording_leaves_no_graph_alive(tmp_path):
    """A graph that is never walked back is freed with its output."""
    model = Net()
    with Recording(tmp_path / "run.assay"):
        for _ in range(3):
            output = model(torch.rand(1, 3, 8, 8))
        freed = []

        class Mark:
            def __del__(self):
                freed.append(True)

        output.grad_fn.metadata["mark"] = Mark()
        del output
        gc.collect()
        assert freed


def _resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def test_memory_does_not_grow_in_ten_thousand_steps(tmp_path):
    """Hooks of nodes, books of memory, iterations.

    What leaks grows in every round; allocators, above all a sanitizer's, take
    more in some of them.
    """
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    rate = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)

    def steps(n):
        for _ in range(n):
            rate.zero_grad()
            model(torch.ones(3, 4)).sum().backward()
            rate.step()
        gc.collect()
        return _resident()

    with Recording(tmp_path / "run.assay"):
        resident = [steps(2000) for _ in range(6)]
    growth = [after - before for before, after in zip(resident, resident[1:])]
    assert min(growth) < 100 * 2000
    assert _native.read(tmp_path / "run.assay")["iterations"] == 12000


def test_copies_to_a_device_are_a_part_of_the_step(tmp_path):
    """The device "meta" has no memory, but tensors can be moved there."""
    model = Net()
    before = {name: vars(torch.Tensor).get(name)
              for name in ("to", "cuda", "cpu")}
    with Recording(tmp_path / "run.assay"):
        for x, _ in loader(6):
            assert x.to("meta").device.type == "meta"
            assert x.to(device=torch.device("meta")).shape == x.shape
            assert x.to(torch.float64).dtype == torch.float64
            assert x.to("cpu") is x and x.cpu() is x
            assert x.to(x) is x
            model(x).sum().backward()
    assert before == {name: vars(torch.Tensor).get(name) for name in before}
    found, bad, _ = scopes_of(tmp_path / "run.assay")
    assert found["copy"]["calls"] == 6
    assert bad == {}
