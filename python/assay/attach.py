"""Attaches the recorder to PyTorch, and takes it away again."""
import functools
import glob
import os
import threading

from assay import _native

PREPROCESS, MODEL, AFTER = range(3)  # enum stage of extension_internal.h
_MISSING = object()
_OLDEST = (1, 10)


def import_torch():
    """PyTorch; an ImportError with one sentence if it cannot be used."""
    try:
        import torch
    except ImportError as error:
        raise ImportError("Assay records PyTorch programs, but torch cannot be "
                          f"imported here: {error}") from None
    numbers = torch.__version__.split(".")[:2]
    if tuple(int(number) for number in numbers) < _OLDEST:
        raise ImportError(f"Assay needs PyTorch {_OLDEST[0]}.{_OLDEST[1]} or "
                          f"later; this is {torch.__version__}")
    return torch


class Patches:
    """Attributes of classes and modules that were replaced, in order."""

    def __init__(self):
        self._done = []

    def set(self, owner, name, value):
        self._done.append((owner, name, vars(owner).get(name, _MISSING)))
        setattr(owner, name, value)

    def undo(self):
        while self._done:
            self._put_back(len(self._done) - 1)

    def undo_one(self, owner, name):
        """Puts one attribute back, if it was replaced."""
        for i in reversed(range(len(self._done))):
            if self._done[i][0] is owner and self._done[i][1] == name:
                self._put_back(i)
                return

    def _put_back(self, i):
        owner, name, old = self._done.pop(i)
        if old is _MISSING:
            delattr(owner, name)
        else:
            setattr(owner, name, old)


def watch_modules(patches, torch):
    """Calls of all modules go through the recorder, which knows some."""
    module = torch.nn.Module
    patches.set(module, "__call__", _native.Method(vars(module)["__call__"]))


def span(name, stage_after=False, then=None):
    """Wraps a function or method; the class of its object is the scope's.
    then(object) is called in the span at its end."""
    def wrap(original):
        @functools.wraps(original)
        def wrapper(*args, **kwargs):
            if not _native.is_recording():
                return original(*args, **kwargs)
            if stage_after:
                _native.reached(False)
            _native.begin(name, type(args[0]).__name__ if args else None)
            try:
                result = original(*args, **kwargs)
                if then is not None:
                    then(args[0])
                return result
            finally:
                _native.end()
        return wrapper
    return wrap


def _subclasses(base):
    for child in base.__subclasses__():
        yield child
        yield from _subclasses(child)


def watch_optimizers(patches, torch, books):
    """step() and zero_grad() of every class, also of those still to come."""
    base = torch.optim.Optimizer
    methods = {"step": ("optimizer", books.optimizer),
               "zero_grad": ("zero_grad", lambda _: books.gradients())}
    seen = set()

    def watch(kind):
        for name, (scope, then) in methods.items():
            if name in vars(kind) and (kind, name) not in seen:
                seen.add((kind, name))
                patches.set(kind, name,
                            span(scope, True, then)(vars(kind)[name]))

    def leave(kind):
        for name in methods:
            if (kind, name) in seen:
                seen.remove((kind, name))
                patches.undo_one(kind, name)

    watch(base)
    for kind in _subclasses(base):
        watch(kind)
    original = vars(base)["__init__"]

    @functools.wraps(original)
    def init(self, *args, **kwargs):
        kinds = [kind for kind in reversed(type(self).__mro__)
                 if kind is not base and issubclass(kind, base)]
        for kind in kinds:  # PyTorch replaces step() of a class here, too
            leave(kind)
        try:
            original(self, *args, **kwargs)
        finally:
            for kind in kinds:
                watch(kind)

    patches.set(base, "__init__", init)
    home = torch.nn.utils
    for name in ("clip_grad_norm_", "clip_grad_value_"):
        wrapped = _named_span("clip_gradients")(getattr(home, name))
        for place in (home, home.clip_grad):
            patches.set(place, name, wrapped)


def _named_span(name):
    def wrap(original):
        @functools.wraps(original)
        def wrapper(*args, **kwargs):
            _native.begin(name)
            try:
                return original(*args, **kwargs)
            finally:
                _native.end()
        return wrapper
    return wrap


def _moves(torch, tensor, target):
    """Whether to(target) copies the tensor to another device."""
    if isinstance(target, (str, int)):
        target = torch.device(target)
    if isinstance(target, torch.Tensor):
        target = target.device
    return isinstance(target, torch.device) and target.type != \
        tensor.device.type


def watch_copies(patches, torch, arrived):
    """Copies between host and device, by methods of tensors. arrived() is
    called after one to a GPU."""
    original = torch.Tensor.to

    @functools.wraps(original)
    def to(self, *args, **kwargs):
        target = kwargs.get("device", args[0] if args else None)
        if not _native.is_recording() or not _moves(torch, self, target):
            return original(self, *args, **kwargs)
        return copy_of(original, self, *args, **kwargs)

    def copy_of(method, *args, **kwargs):
        _native.begin("copy")
        try:
            result = method(*args, **kwargs)
        finally:
            _native.end()
        if result.is_cuda:
            arrived()
        return result

    patches.set(torch.Tensor, "to", to)
    for name in ("cuda", "cpu"):
        patches.set(torch.Tensor, name,
                    _copying(getattr(torch.Tensor, name), name, copy_of))


def watch_waits(patches, torch):
    """What makes the host wait for a GPU: values of tensors, and asking to."""
    for name in ("item", "tolist"):
        patches.set(torch.Tensor, name,
                    _waiting(getattr(torch.Tensor, name)))
    patches.set(torch.cuda, "synchronize",
                _named_span("wait")(torch.cuda.synchronize))


def _waiting(original):
    waiting = _named_span("wait")(original)

    @functools.wraps(original)
    def method(self):
        return waiting(self) if self.is_cuda else original(self)
    return method


def _copying(original, home, copy_of):
    @functools.wraps(original)
    def method(self, *args, **kwargs):
        if not _native.is_recording() or self.device.type == home:
            return original(self, *args, **kwargs)
        return copy_of(original, self, *args, **kwargs)
    return method


def watch_backward(patches, torch, class_name, books):
    """class_name() is the class of the model whose backward pass it is."""
    local = threading.local()

    def wrap(original):
        @functools.wraps(original)
        def wrapper(*args, **kwargs):
            if not _native.is_recording():
                return original(*args, **kwargs)
            is_outer = getattr(local, "depth", 0) == 0
            local.depth = getattr(local, "depth", 0) + 1
            nodes = _native.backward_depth()
            if is_outer:
                _native.reached(True)
                _native.begin("backward", class_name())
                _native.backward_here()
            try:
                result = original(*args, **kwargs)
                if is_outer:
                    books.gradients()
                return result
            finally:
                local.depth -= 1
                _native.backward_close(nodes)
                if is_outer:
                    _native.end()
        return wrapper

    for name in ("backward", "grad"):
        patches.set(torch.autograd, name, wrap(getattr(torch.autograd, name)))


def _watch_streams(patches, torch):
    """Tells when a stream is set. Returns whether that can be known."""
    home = torch._C
    if torch.cuda.device_count() != 1 or not hasattr(home, "_cuda_setStream"):
        return False
    original = home._cuda_setStream

    def set_stream(*args, **kwargs):
        _native.cuda_unfix()
        return original(*args, **kwargs)

    patches.set(home, "_cuda_setStream", set_stream)
    return True


def _cupti_files(torch):
    """Where CUPTI may be: by its name, and in the packages beside PyTorch."""
    names = ["libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8",
             "libcupti.so"]
    site = os.path.dirname(os.path.dirname(os.path.abspath(torch.__file__)))
    beside = glob.glob(os.path.join(glob.escape(site), "nvidia", "*", "lib",
                                    "libcupti.so*"))
    return names + sorted(beside, reverse=True)


def _open_events(patches, torch):
    _native.device_open_events(torch._C._cuda_getCurrentRawStream,
                               torch._C._cuda_getDevice,
                               torch.cuda.current_device(),
                               _watch_streams(patches, torch))


def _is_profiled(torch):
    """Whether PyTorch's own profiler is at work."""
    is_on = getattr(torch.autograd, "_profiler_enabled", None)
    return is_on is not None and is_on()


def _watch_profiler(patches, torch, has_all):
    """CUPTI serves one profiler at a time: PyTorch's own one goes first, and
    may keep it when it has ended."""
    home = torch.autograd.profiler
    has_left = False

    def leave(original):
        @functools.wraps(original)
        def wrapper(*args, **kwargs):
            nonlocal has_left
            if _native.device_leave_kernels():
                has_left = True
                _open_events(patches, torch)
                _native.fact("device.timed_by", "events, since PyTorch's own "
                                                "profiler was started")
            return original(*args, **kwargs)
        return wrapper

    def come_back(original):
        @functools.wraps(original)
        def wrapper(*args, **kwargs):
            nonlocal has_left
            result = original(*args, **kwargs)
            if not has_left:
                return result
            has_left = False
            try:
                version = _native.device_open_kernels(_cupti_files(torch),
                                                      has_all)
            except OSError:
                _native.fact("device.timed_by", "events, since PyTorch's own "
                                                "profiler keeps CUPTI")
            else:
                _native.fact("device.timed_by", f"{version}, and events while "
                                                "PyTorch's own profiler ran")
            return result
        return wrapper

    for name, wrap in (("_prepare_profiler", leave),
                       ("_enable_profiler", leave),
                       ("_disable_profiler", come_back)):
        if name in vars(home):
            patches.set(home, name, wrap(vars(home)[name]))


def _open_kernels(patches, torch, has_all):
    """Returns why CUPTI cannot be used, or None."""
    if os.environ.get("ASSAY_CUDA_TIMES") == "events":
        return "ASSAY_CUDA_TIMES is events"
    if _is_profiled(torch):
        return "PyTorch's own profiler uses CUPTI"
    try:
        version = _native.device_open_kernels(_cupti_files(torch), has_all)
    except OSError as error:
        return str(error)
    _watch_profiler(patches, torch, has_all)
    _native.fact("device.timed_by", version)
    return None


def times_some(torch, device, has_all=False):
    """Whether a GPU may be timed in some of the iterations only. device None:
    if the program uses it. CUDA is not asked: a program that forks may want to
    start it in its children alone."""
    return device is not False and not has_all and \
        torch.version.cuda is not None and os.path.exists("/dev/nvidiactl")


def open_device(patches, torch, has_all=False):
    """Times the GPU: its kernels by CUPTI, or modules by events on the current
    stream. has_all: kernels in every iteration, and by their names. Returns
    why it is not timed, or None."""
    if not torch.cuda.is_available():
        return "no GPU"
    torch.cuda.init()
    torch.empty(1, device="cuda")  # makes the context current
    why_not = _open_kernels(patches, torch, has_all)
    if why_not is None:
        return None
    try:
        _open_events(patches, torch)
    except OSError as error:
        return str(error)
    _native.fact("device.timed_by", f"events ({why_not})")
    return None


def state_facts(torch, model=None):
    """What a run cannot know by itself."""
    _native.fact("machine.library", f"PyTorch {torch.__version__}")
    state_threads(torch)
    if model is not None:
        state_model(torch, model)


def is_on_gpu(model):
    return next((p.is_cuda for p in model.parameters()), False)


def state_threads(torch):
    _native.fact("settings.threads", str(torch.get_num_threads()))


def _gpu_precision(torch, kinds):
    """What products are computed in, where most of them are convolutions."""
    names = {"torch.float16": "fp16", "torch.bfloat16": "bf16"}
    if torch.is_autocast_enabled():
        return names.get(str(torch.get_autocast_gpu_dtype()), "fp16")
    for kind in kinds:
        if kind in ("fp16", "torch.bfloat16"):
            return names.get(kind, kind)
    return "tf32" if torch.backends.cudnn.allow_tf32 else "fp32"


def state_model(torch, model):
    total, size, kinds = 0, 0, set()
    for parameter in model.parameters():
        total += parameter.numel()
        size += parameter.numel() * parameter.element_size()
        kinds.add(str(parameter.dtype).replace("torch.float", "fp"))
    device = next((str(p.device) for p in model.parameters()), "cpu")
    _native.fact("model.name", type(model).__name__)
    _native.fact("model.device", device)
    _native.fact("model.parameters", str(total))
    _native.fact("model.parameter_bytes", str(size))
    if len(kinds) == 1:
        _native.fact("model.precision", kinds.pop())
    if is_on_gpu(model):
        _native.fact("machine.gpu", torch.cuda.get_device_name())
        _native.fact("settings.precision", _gpu_precision(torch, kinds))
