"""ModelTiming: how long the modules of a model take, and the transforms around
it, in a loop of your own."""
import os
import shutil
import tempfile

from assay import _native, attach, loader_watch, work
from assay.memory_books import Books

_STAGES = {"preprocess": ("Preprocessing", "PREPROCESSING"),
           "model": ("Model", None),
           "postprocess": ("Postprocessing", "POSTPROCESSING")}


class TimingData:
    """A node of the tree of times. Times are in seconds.

    total_time, child_time and self_time are means per iteration, so that a tree
    of them adds up; the means of a single call are those divided by
    calls_per_iteration. A node that only groups others has times_run 0.
    """

    def __init__(self, name, class_name, path):
        self.name = name
        self.class_name = class_name
        self.path = path
        self.total_time = 0.0
        self.self_time = None
        self.device_time = None
        self.times_run = 0
        self.total_mean_time = 0.0
        self.self_mean_time = 0.0
        self.children = []

    @property
    def child_time(self):
        return self.total_time - (self.self_time or 0.0)

    @property
    def child_mean_time(self):
        return self.total_mean_time - self.self_mean_time

    def walk(self, depth=0):
        """Yields (depth, node), parents first."""
        yield depth, self
        for child in self.children:
            yield from child.walk(depth + 1)

    def find(self, path):
        """The node with that path ("model.backbone"); None if there is none."""
        for _, node in self.walk():
            if node.path == path:
                return node
        return None

    def __repr__(self):
        return (f"TimingData({self.path or self.name!r}, "
                f"total_time={self.total_time:.6f}, "
                f"times_run={self.times_run})")


def build_tree(run):
    """The tree of a run that _native.read() returned."""
    nodes = []
    for scope in run["scopes"]:
        parent = nodes[scope["parent"]] if scope["parent"] >= 0 else None
        path = scope["name"]
        if parent is None:
            path = ""
        elif parent.path:
            path = f"{parent.path}.{path}"
        node = TimingData(scope["name"], scope["class"], path)
        _fill(node, scope, run)
        if parent is not None:
            parent.children.append(node)
        nodes.append(node)
    for node in reversed(nodes):
        _drop_unused(node)
    return nodes[0]


def _fill(node, scope, run):
    n_iterations = run["iterations"]
    node.times_run = scope["calls"]
    if scope["calls"]:
        n = n_iterations or scope["calls"]
        node.total_time = scope["total_ms"] / 1e3 / n
        node.self_time = scope["self_ms"] / 1e3 / n
        node.total_mean_time = scope["total_ms"] / 1e3 / scope["calls"]
        node.self_mean_time = scope["self_ms"] / 1e3 / scope["calls"]
    if scope["device_calls"]:
        # A mean would count the iterations without device times as 0.
        some = "device.timed_iterations" in run["facts"]
        node.device_time = scope["device_median_ms" if some
                                 else "device_mean_ms"] / 1e3


def _drop_unused(node):
    """Groups last as long as what is in them; what never ran goes."""
    node.children = [child for child in node.children
                     if child.times_run or child.children]
    if not node.times_run:
        node.total_time = sum(child.total_time for child in node.children)


def _as_list(transforms):
    if transforms is None:
        return []
    if isinstance(transforms, (list, tuple)):
        return list(transforms)
    return [transforms]


class ModelTiming:
    """Times a model and its transforms while a loop of yours runs them.

    with ModelTiming(model, pre_transforms, [post_transform]) as timing:
        for images, paths in dataloader:
            predictions = model(images.to(device))
            outputs = post_transform(images, paths, predictions)

    print(timing.summarize_table())
    print(timing.summarize_tree())
    timing.save("run.assay")

    It runs nothing itself and puts everything back at the end, also after an
    exception. Transforms are objects with forward() or __call__(); what is
    inside a Compose is timed too. If the model is on a GPU, the device is
    timed, too, without synchronising; device=False leaves that out. See
    docs/python.md. warm_up iterations at the beginning do not count. One
    ModelTiming at a time.
    """

    def __init__(self, model, pre_transforms=None, post_transforms=None, *,
                 warm_up=0, device=None):
        self._model = model
        self._pre = _as_list(pre_transforms)
        self._post = _as_list(post_transforms)
        self._warm_up = warm_up
        self._device = device
        self._times_device = False
        self._patches = attach.Patches()
        self._folder = None
        self._tree = None
        self._books = None

    # ---- recording

    def __enter__(self):
        torch = attach.import_torch()
        if not isinstance(self._model, torch.nn.Module):
            raise TypeError("the model must be a torch.nn.Module, not "
                            f"{type(self._model).__name__}")
        for transform in self._pre + self._post:
            _check_transform(transform, torch)
        if _native.is_recording():
            raise RuntimeError("a recording is under way in this process; "
                               "ModelTiming cannot be nested in another one")
        self._discard()
        self._times_device = attach.is_on_gpu(self._model) \
            if self._device is None else self._device
        self._folder = tempfile.mkdtemp(prefix="assay-")
        try:
            _native.start(self._file(), "Pipeline", "PIPELINE", self._warm_up,
                          attach.times_some(torch, self._times_device))
            self._attach(torch)
        except BaseException:
            self._detach()
            self._discard()
            raise
        return self

    def _attach(self, torch):
        if self._times_device:
            attach.open_device(self._patches, torch)
        attach.state_facts(torch, self._model)
        self._books = Books(torch)
        self._books.open_device(self._model)
        self._books.add_model(self._model)
        attach.watch_modules(self._patches, torch)
        loader_watch.watch_loaders(self._patches, in_process=False)
        _native.know(self._model, attach.MODEL, "model", None,
                     type(self._model).__name__, None, None, None)
        for group, stage, transforms in (
                ("preprocess", attach.PREPROCESS, self._pre),
                ("postprocess", attach.AFTER, self._post)):
            names = {}
            for transform in transforms:
                name = type(transform).__name__
                n = names[name] = names.get(name, 0) + 1
                self._watch(transform, torch, stage, group,
                            name if n == 1 else f"{name}_{n}")
        _native.watch(True, False, None, work.work_of, None, torch.nn.Module)

    def _watch(self, transform, torch, stage, group, path):
        if isinstance(transform, torch.nn.Module):
            for name, module in transform.named_modules():
                _native.know(module, stage, group,
                             f"{path}.{name}" if name else path, None, None,
                             None, None)
        else:
            kind = type(transform)
            method = "__call__" if hasattr(kind, "__call__") else "forward"
            if not isinstance(vars(kind).get(method), _native.Method):
                self._patches.set(kind, method,
                                  _native.Method(getattr(kind, method)))
            _native.know(transform, stage, group, path, None, None, None,
                         None)
        for i, part in enumerate(_parts_of(transform)):
            if _is_timed(part, torch):
                self._watch(part, torch, stage, group, f"{path}.{i}")

    def _detach(self):
        try:
            self._patches.undo()
            _native.watch(False, False, None, None, None, None)
            _native.device_close()
            if self._books is not None:
                self._books.close()
                self._books = None
        finally:
            if _native.is_recording():
                _native.stop()

    def __exit__(self, *unused):
        self._detach()
        self._tree = build_tree(_native.read(self._file()))
        for child in self._tree.children:
            name, class_name = _STAGES.get(child.name, (child.name, None))
            child.name = name
            child.class_name = class_name or child.class_name

    def _file(self):
        return os.path.join(self._folder, "run.assay")

    def _discard(self):
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def __del__(self):
        self._discard()

    # ---- results

    @property
    def timing_data(self):
        """The tree of times; its root is the pipeline."""
        if self._tree is None:
            raise RuntimeError("nothing has been timed yet: the times are "
                               "there after the `with` block")
        return self._tree

    def summarize_tree(self, depth=None):
        """One line per module: its mean time per iteration, and its own."""
        lines = []
        for level, node in _in_order(self.timing_data):
            if depth is not None and level > depth:
                continue
            lines.append(f"{'. ' * level}{node.name} ({node.class_name}) took "
                         f"{_ms(node.total_time)} "
                         f"(self: {_ms(node.self_time)})")
        return "\n".join(lines)

    def summarize_table(self, limit=20):
        """One row per module, the largest mean self time first; limit=None:
        all."""
        nodes = [node for _, node in self.timing_data.walk() if node.times_run]
        nodes.sort(key=lambda node: -node.self_mean_time)
        rows = [(node.path or node.name, node.class_name or "-",
                 f"{node.total_mean_time * 1e3:.3f}",
                 f"{node.child_mean_time * 1e3:.3f}",
                 f"{node.self_mean_time * 1e3:.3f}", str(node.times_run))
                for node in nodes[:limit]]
        head = ("name", "class", "total_mean_time[ms]", "child_mean_time[ms]",
                "self_mean_time[ms]", "times_run")
        widths = [max(len(row[i]) for row in [head, *rows]) if i < 2
                  else len(head[i]) for i in range(len(head))]
        return "\n".join(
            "  ".join(cell.ljust(width) if i < 2 else cell.rjust(width)
                      for i, (cell, width) in enumerate(zip(row, widths)))
            for row in [head, *rows])

    def save(self, path):
        """Copies the run file, for `assay show` and the other commands."""
        self.timing_data
        shutil.copyfile(self._file(), path)


def _ms(seconds):
    return "-" if seconds is None else f"{seconds * 1e3:.2f}ms"


def _in_order(tree):
    """The stages in the order of a pipeline, then the rest."""
    names = [name for name, _ in _STAGES.values()]
    yield 0, tree
    for child in sorted(tree.children, key=lambda node: names.index(node.name)
                        if node.name in names else len(names)):
        yield from child.walk(1)


def _parts_of(transform):
    parts = getattr(transform, "transforms", None)
    return parts if isinstance(parts, (list, tuple)) else []


def _is_timed(transform, torch):
    kind = type(transform)
    return isinstance(transform, torch.nn.Module) or (
        not kind.__module__ == "builtins" and hasattr(kind, "__call__")
        and kind.__name__ != "function"
        and bool(getattr(kind, "__flags__", 0) & (1 << 9)))


def _check_transform(transform, torch):
    if _is_timed(transform, torch) or hasattr(type(transform), "forward"):
        return
    raise TypeError(f"{transform!r} cannot be timed: a transform is an object "
                    "whose class has forward() or __call__(); wrap a function "
                    "in such a class")
