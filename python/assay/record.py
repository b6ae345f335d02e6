"""Records a whole PyTorch program: every module, forward and backward,
optimizers, data loaders, and what the GPU did for each."""
import contextlib
import os

from assay import _native, attach, loader_watch, work
from assay.memory_books import Books


class Recording:
    """A recording of this process from start() to stop().

    One at a time. What was replaced in PyTorch is put back by stop(). A GPU
    that the program uses is timed in some of the iterations; device=True times
    it from the start, device=False not at all, kernels=True every kernel of all
    iterations.
    """

    def __init__(self, path="run.assay", *, warm_up=0, backward=True,
                 device=None, kernels=False, program="run"):
        self.path = os.path.abspath(path)  # the program may change folders
        self.warm_up = warm_up
        self.backward = backward
        self.device = True if kernels else device
        self.kernels = kernels
        self.program = program
        self._patches = attach.Patches()
        self._names = {}
        self._model_class = None
        self._torch = None
        self._books = None
        self._has_device = False

    def start(self):
        """Attaches to PyTorch and starts; raises if that is not possible."""
        torch = self._torch = attach.import_torch()
        if _native.is_recording():
            raise RuntimeError("a recording is under way; one at a time")
        self._has_device = False
        _native.start(self.path, self.program, None, self.warm_up,
                      attach.times_some(torch, self.device, self.kernels))
        try:
            self._attach(torch)
        except BaseException:
            self.stop()
            raise
        return self

    def _attach(self, torch):
        if self.device:
            self._open_device()
        attach.state_facts(torch)
        attach.watch_modules(self._patches, torch)
        self._books = Books(torch)
        attach.watch_optimizers(self._patches, torch, self._books)
        attach.watch_copies(self._patches, torch, self._reach_device)
        attach.watch_waits(self._patches, torch)
        loader_watch.watch_loaders(self._patches)
        if self.backward:
            attach.watch_backward(self._patches, torch,
                                  lambda: self._model_class, self._books)
        _native.watch(True, self.backward, torch.is_grad_enabled, work.work_of,
                      self._name, torch.nn.Module)

    def _open_device(self):
        self._has_device = True
        attach.open_device(self._patches, self._torch, self.kernels)

    def _reach_device(self):
        """The program uses a GPU, so that CUDA is started."""
        if self.device is None and not self._has_device:
            self._open_device()

    def _name(self, module):
        """Names a module that is called by no other one."""
        kind = type(module).__name__
        if kind.endswith("Loss"):
            self._know(module, attach.AFTER, "loss", kind, "backward.loss")
        elif type(module).__module__.startswith("torchvision.transforms"):
            _native.know(module, attach.PREPROCESS, "data", kind, "DataLoader",
                         None, None, None)
        else:
            if self._model_class is None:
                self._model_class = kind
                attach.state_threads(self._torch)  # now that it is set up
                attach.state_model(self._torch, module)
                if attach.is_on_gpu(module):
                    self._reach_device()
                self._books.open_device(module)
            self._books.add_model(module)
            self._know(module, attach.MODEL, "forward", kind, "backward")

    def _know(self, module, stage, group, kind, backward):
        number = self._names.setdefault(group, {}).setdefault(
            kind, len(self._names[group]) + 1)
        suffix = "" if number == 1 else f"_{number}"
        _native.know(module, stage, group + suffix, None, kind,
                     backward + suffix, self._model_class,
                     "model" + suffix if group == "forward" else None)

    def stop(self):
        """Puts everything back; then the run file is in place."""
        try:
            self._patches.undo()
            _native.watch(False, False, None, None, None, None)
            _native.device_close()
            if self._books is not None:
                self._books.close()
        finally:
            _native.stop()

    def __enter__(self):
        return self.start()

    def __exit__(self, *unused):
        self.stop()


def recording(path="run.assay", **options):
    """`with recording("run.assay"):` records what happens inside."""
    return Recording(path, **options)


@contextlib.contextmanager
def span(name, class_name=None):
    """`with span("augment"):` is a scope of your own."""
    _native.begin(name, class_name)
    try:
        yield
    finally:
        _native.end()
