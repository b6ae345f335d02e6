"""Who holds memory: the weights, gradients and optimizer state of what is
recorded, by their sizes; native/memory_watch.c counts activations."""
import resource
import weakref

from assay import _native

BASIS = "from sizes of tensors; scratch and short-lived outputs unknown"


def space_of(tensor):
    """The memory space of a tensor: "host", "cuda:0"."""
    return "host" if tensor.device.type == "cpu" else str(tensor.device)


def _tensors_in(value, torch):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _tensors_in(item, torch)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors_in(item, torch)


class Books:
    """What each category of each space holds; changes are reported. Models
    and optimizers are referred to weakly."""

    def __init__(self, torch):
        self._torch = torch
        self._held = {}
        self._models = []      # parameters of each
        self._had = None       # whose gradients were there last time
        self._optimizers = {}  # with the entries of its state last time

    def add_model(self, model):
        """A model's weights are held from now on."""
        self._models.append([weakref.ref(p) for p in model.parameters()])
        self._set("weights", self._parameters())

    def _parameters(self):
        for model in self._models:
            for reference in model:
                parameter = reference()
                if parameter is not None:
                    yield parameter

    def gradients(self):
        """Looks which gradients there are, if the ends of a model changed."""
        ends = [reference() for model in self._models if model
                for reference in (model[0], model[-1])]
        had = [end is not None and end.grad is not None for end in ends]
        if had != self._had:
            self._had = had
            self._set("gradients", (p.grad for p in self._parameters()
                                    if p.grad is not None))

    def optimizer(self, optimizer):
        """Looks at the optimizer's state if it has more than last time."""
        key = id(optimizer)
        if self._optimizers.get(key, (None, 0))[1] == len(optimizer.state):
            return
        self._optimizers[key] = weakref.ref(optimizer), len(optimizer.state)
        alive = [reference() for reference, _ in self._optimizers.values()]
        self._set("optimizer", (tensor for one in alive if one is not None
                                for tensor in _tensors_in(one.state,
                                                          self._torch)))

    def _set(self, category, tensors):
        now, seen = {}, set()
        for tensor in tensors:
            if tensor.layout != self._torch.strided or id(tensor) in seen:
                continue
            seen.add(id(tensor))
            space = space_of(tensor)
            now[space] = (now.get(space, 0)
                          + tensor.numel() * tensor.element_size())
        for space in {space for space, of in self._held if of == category}:
            now.setdefault(space, 0)
        for space, size in now.items():
            delta = size - self._held.get((space, category), 0)
            if delta:
                _native.memory(space, category, delta)
                self._held[space, category] = size

    def open_device(self, model):
        """Asks the allocator of the GPU that a model is on, if it is."""
        torch = self._torch
        device = next((p.device for p in model.parameters()), None)
        if device is None or device.type != "cuda":
            _native.fact("memory.basis", BASIS)
            return
        stats = getattr(torch._C, "_cuda_memoryStats", None)
        if stats is None:
            return

        def allocated():
            return stats(device.index)["allocated_bytes"]["all"]["current"]

        _native.memory_ask(allocated, str(device))
        _native.fact("memory.basis", "from PyTorch's allocator")

    def close(self):
        _native.memory_ask(None, "")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        _native.fact("memory.process_peak_bytes", str(peak))
