"""Metrics of models: register functions, compute, compare, print.

    profiler = TorchProfiler(model, data_splits, name="Original Model")
    profiler.register_profiler_function(ComputeComplexity())
    profiler.register_profiler_function(ComputeExecutionTime())
    profiler.compute_network_status(batch_size=1, device=Device.CPU)

A ProfilerFunction computes one or several Metrics, each with a key (NAME). Its
__call__ takes named arguments only; they come from the keywords of
compute_network_status(), with `model` and `data_splits` always there.
docs/python.md has the rules, docs/metrics.md says what the numbers are.
"""
import copy
import enum
import inspect
import statistics
import time
import warnings

from assay import attach, work

__all__ = [
    "Comparative", "ComputeComplexity", "ComputeEvalMetric",
    "ComputeExecutionTime", "ComputeLayerwiseSummary",
    "ComputeMemoryFootprint", "ComputeParams", "ComputeSize", "Device",
    "Metric", "Profiler", "ProfilerFunction", "StatusKey", "TFProfiler",
    "TorchProfiler"]

_MB = 2 ** 20


class Device(enum.Enum):
    CPU = "cpu"
    GPU = "cuda"


class Comparative(enum.Enum):
    """How two values of a metric are compared."""
    NONE = "none"
    DIFF = "difference"      # second - first
    RECIPROCAL = "reciprocal"  # first / second: less is better
    RATIO = "ratio"          # second / first: more is better


class Metric:
    """A value with a key, a name, a unit and a way to be compared."""
    NAME = None

    def __init__(self, value=None):
        self.value = value

    @staticmethod
    def description():
        return ""

    @staticmethod
    def friendly_name():
        raise NotImplementedError

    def get_units(self):
        return ""

    def get_comparative(self):
        return Comparative.NONE

    def get_value(self):
        """The value in its units."""
        return self.value


StatusKey = Metric


def _metric(key, name, text, comparative, units, scale=1.0):
    """A class of metrics. units is a text, or a function of the value that
    returns (text, scale)."""
    choose = units if callable(units) else lambda value: (units, scale)

    class Standard(Metric):
        NAME = key

        @staticmethod
        def description():
            return text

        @staticmethod
        def friendly_name():
            return name

        def get_units(self):
            return choose(self.value)[0]

        def get_comparative(self):
            return comparative

        def get_value(self):
            value = self.value
            if not isinstance(value, (int, float)):
                return value
            return value / choose(value)[1]

    Standard.__name__ = Standard.__qualname__ = "".join(
        part.title() for part in key.split("_"))
    return Standard


def _scaled(*units):
    def choose(value):
        for name, scale, least in units:
            if value is None or value >= least:
                break
        return name, scale
    return choose


ModelSize = _metric(
    "model_size", "Model Size",
    "bytes of the parameters, frozen ones too; a MB is 2^20 bytes",
    Comparative.RECIPROCAL, "MB", _MB)
Complexity = _metric(
    "complexity", "Computational Complexity",
    "multiply-adds of a forward pass per image: convolutions and matrix "
    "products, and two per element that a batch norm scales and shifts",
    Comparative.RECIPROCAL,
    _scaled(("GigaMACs", 1e9, 1e8), ("MegaMACs", 1e6, 1e5),
            ("KiloMACs", 1e3, 0)))
TotalParams = _metric(
    "total_params", "Total Parameters",
    "the number of parameters, frozen ones too, without buffers",
    Comparative.RECIPROCAL,
    _scaled(("Millions", 1e6, 1e5), ("Thousands", 1e3, 0)))
MemoryFootprint = _metric(
    "memory_footprint", "Memory Footprint",
    "estimated: parameters, inputs, and the outputs of every module with "
    "parameters", Comparative.RECIPROCAL, "MB", _MB)
ExecutionTime = _metric(
    "execution_time", "Execution Time",
    "median of a forward pass, per image of a batch",
    Comparative.RECIPROCAL, "ms", 1e-3)
LayerwiseSummary = _metric(
    "layerwise_summary", "Layer-wise Summary", "the table of layers",
    Comparative.NONE, "")


class ProfilerFunction:
    """Computes the metrics that get_bounded_status_keys() names."""

    def get_bounded_status_keys(self):
        """A Metric, or a tuple of them."""
        raise NotImplementedError

    def __call__(self, **arguments):
        """The value, or a tuple of values in the order of the keys."""
        raise NotImplementedError

    def keys(self):
        bound = self.get_bounded_status_keys()
        return tuple(bound) if isinstance(bound, (tuple, list)) else (bound,)


def _named_arguments(function):
    """The parameters of __call__, which must all have names."""
    found = inspect.signature(type(function).__call__).parameters
    named = list(found.values())[1:]
    for parameter in named:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD,
                              parameter.POSITIONAL_ONLY):
            raise TypeError(
                f"{type(function).__name__}.__call__ takes '{parameter}': the "
                "arguments of a profiler function must all have names")
    return named


# ---- the profiler

class Profiler:
    """Functions, their values, and tables of them. See TorchProfiler."""
    backend = ""

    def __init__(self, model, data_splits, name="model"):
        self.model = model
        self.data_splits = data_splits
        self.name = name
        self._functions = {}  # key -> (function, override)
        self._values = {}     # key -> Metric
        self.kept_arguments = {}

    def graph(self, batch_size, device):
        """An object with parameters, parameter_bytes, macs per image, footprint
        in bytes without weights, and the table of layers."""
        raise NotImplementedError

    def weights(self):
        """How many parameters there are, and their bytes."""
        raise NotImplementedError

    def time_pass(self, batch_size, device, iterations, warm_up):
        """Seconds per image of a forward pass, the median."""
        raise NotImplementedError

    def register_profiler_function(self, function, override=False):
        """The function computes its keys from now on. Of two functions for a
        key the later one is used, with a warning, unless the earlier one was
        registered with override=True; two that override are an error."""
        if not isinstance(function, ProfilerFunction):
            raise TypeError(f"{function!r} is not a ProfilerFunction")
        _named_arguments(function)
        keys = [metric.NAME for metric in function.keys()]
        if not keys or any(not isinstance(key, str) for key in keys):
            raise TypeError(f"{type(function).__name__} has a metric without a "
                            "NAME")
        for key in keys:
            old, old_overrides = self._functions.get(key, (None, False))
            if old_overrides and override:
                raise ValueError(
                    f"{type(old).__name__} and {type(function).__name__} both "
                    f"override '{key}'")
        for key in keys:
            old, old_overrides = self._functions.get(key, (None, False))
            if old_overrides:
                continue
            if old is not None and not override:
                warnings.warn(f"{type(function).__name__} replaces "
                              f"{type(old).__name__} for '{key}'",
                              stacklevel=2)
            self._functions[key] = (function, override)
            self._values.pop(key, None)
        return self

    def status_keys(self):
        return list(self._functions)

    def compute_status(self, key, recompute=False, **arguments):
        """The value of a key, in its units."""
        if key not in self._functions:
            known = ", ".join(self._functions) or "none is registered"
            raise KeyError(f"no function computes '{key}' (known: {known})")
        if recompute or key not in self._values:
            self._compute(self._functions[key][0], arguments)
        return self._values[key].get_value()

    def _compute(self, function, arguments):
        offered = {"model": self.model, "data_splits": self.data_splits,
                   "profiler": self, **self.kept_arguments, **arguments}
        taken = {}
        for parameter in _named_arguments(function):
            if parameter.name in offered:
                taken[parameter.name] = offered[parameter.name]
            elif parameter.default is parameter.empty:
                raise TypeError(f"{type(function).__name__} needs the argument "
                                f"'{parameter.name}'")
        values = function(**taken)
        keys = function.keys()
        if len(keys) == 1:
            values = (values,)
        if len(values) != len(keys):
            raise ValueError(f"{type(function).__name__} returned "
                             f"{len(values)} values for {len(keys)} keys")
        for metric, value in zip(keys, values):
            if self._functions[metric.NAME][0] is function:
                metric.value = value
                self._values[metric.NAME] = metric

    def compute_network_status(self, short_print=True, print_mode="info",
                               recompute=False, **arguments):
        """Computes every key and prints the table. print_mode None prints
        nothing. Returns the values by key, in their units."""
        self._refuse_unknown(arguments)
        done = []
        for key, (function, _) in list(self._functions.items()):
            if function in done or (not recompute and key in self._values
                                    and not arguments):
                continue
            self._compute(function, arguments)
            done.append(function)
        if print_mode:
            print(self.report(short_print))
        return {key: metric.get_value()
                for key, metric in self._values.items()}

    def _refuse_unknown(self, arguments):
        taken = {parameter.name for function, _ in self._functions.values()
                 for parameter in _named_arguments(function)}
        taken |= {"batch_size", "device", "include_weights"}
        for name in arguments:
            if name not in taken:
                raise TypeError(f"no registered function takes the argument "
                                f"'{name}' (taken: "
                                f"{', '.join(sorted(taken))})")

    def clone(self, model=None, data_splits=None, name=None):
        """A profiler with the same functions for another model."""
        twin = type(self)(self.model if model is None else model,
                          self.data_splits if data_splits is None
                          else data_splits, self.name if name is None else name)
        twin._functions = {key: (copy.copy(function), override)
                           for key, (function, override)
                           in self._functions.items()}
        return twin

    # ---- tables

    def _rows(self):
        return [(key, self._values[key]) for key in self._functions
                if key in self._values and key != LayerwiseSummary.NAME]

    def report(self, short_print=True):
        """The table of values, and that of the layers unless it is short."""
        rows = [(f"Param Name ({self.name})", "Value"),
                (f"Backend: {self.backend}", "")]
        body = [(_title(metric, metric.get_units()),
                 _number(metric.get_value())) for _, metric in self._rows()]
        text = _box("Model Metrics", rows, body)
        layers = self._values.get(LayerwiseSummary.NAME)
        if not short_print and layers is not None:
            text += "\n" + layers.value
        return text

    def compare(self, other, short_print=True, print_mode="info",
                **arguments):
        """Prints both models' values with the enhancement from this one to the
        other. Returns {key: (first, second, enhancement)}."""
        for profiler in (self, other):
            profiler.compute_network_status(print_mode=None, **arguments)
        head = [("Param Name", f"Value ({self.name})", "Enhancement",
                 f"Value ({other.name})"), (f"Backend: {self.backend}", "", "",
                                            "")]
        body, found = [], {}
        for key, first in self._rows():
            second = other._values.get(key)
            if second is None:
                continue
            enhancement = _enhance(first, second)
            units, scale = _shared_units(first)
            body.append((_title(first, units), _scaled_number(first, scale),
                         _enhancement_text(first, enhancement, scale),
                         _scaled_number(second, scale)))
            found[key] = (first.value, second.value, enhancement)
        if print_mode:
            print(_box("Model Metrics", head, body))
            if not short_print:
                for profiler in (self, other):
                    layers = profiler._values.get(LayerwiseSummary.NAME)
                    if layers is not None:
                        print(f"\n{profiler.name}\n{layers.value}")
        return found


def _title(metric, units):
    name = metric.friendly_name()
    return f"{name} ({units})" if units else name


def _number(value):
    if value is None:
        return "-"
    return f"{value:.4f}" if isinstance(value, (int, float)) else str(value)


def _shared_units(metric):
    """The units of the first model's value, and their scale."""
    value, shown = metric.value, metric.get_value()
    scale = value / shown if value and shown else 1.0
    return metric.get_units(), scale


def _scaled_number(metric, scale):
    return _number(None if metric.value is None else metric.value / scale)


def _enhance(first, second):
    a, b, how = first.value, second.value, first.get_comparative()
    if a is None or b is None or how is Comparative.NONE:
        return None
    if how is Comparative.DIFF:
        return b - a
    if how is Comparative.RATIO:
        return b / a if a else None
    return a / b if b else None


def _enhancement_text(metric, value, scale):
    if value is None:
        return "-"
    if metric.get_comparative() is Comparative.DIFF:
        return f"{value / scale:+.4f}"
    return f"{value:.4f}x"


def _box(title, head, body):
    """The boxed table; columns are at least 12 wide, cells at the right."""
    rows = [*head, *body]
    widths = [max(12, *(len(row[i]) for row in rows))
              for i in range(len(rows[0]))]
    whole = sum(widths) + 3 * len(widths) - 1
    line = "+" + "+".join("-" * (width + 2) for width in widths) + "+"

    def put(row):
        return "| " + " | ".join(cell.rjust(width)
                                 for cell, width in zip(row, widths)) + " |"

    return "\n".join(["+" + "-" * whole + "+", "|" + title.center(whole) + "|",
                      line, *map(put, head), line, *map(put, body), line])


# ---- PyTorch

class TorchProfiler(Profiler):
    """Profiles a torch.nn.Module. data_splits maps names ("train", "test") to
    data loaders; the shape of the inputs is that of the first batch."""

    def __init__(self, model, data_splits, name="model"):
        torch = attach.import_torch()
        if not isinstance(model, torch.nn.Module):
            raise TypeError("the model must be a torch.nn.Module, not "
                            f"{type(model).__name__}")
        super().__init__(model, data_splits, name)
        self.backend = f"PyTorch {torch.__version__}"

    def inputs(self, batch_size, device):
        """A batch of that size, from the data."""
        torch = attach.import_torch()
        splits = self.data_splits or {}
        loader = splits.get("test") or next(iter(splits.values()), None)
        if loader is None:
            raise ValueError("the shape of the inputs is unknown: data_splits "
                             "has no data loader")
        batch = next(iter(loader))
        while isinstance(batch, (tuple, list)):
            batch = batch[0]
        while batch.shape[0] < batch_size:
            batch = torch.cat([batch, batch])
        return batch[:batch_size].to(device.value)


    def graph(self, batch_size, device):
        return _Pass(self, batch_size, device)

    def weights(self):
        parameters = list(self.model.parameters())
        return (sum(p.numel() for p in parameters),
                sum(p.numel() * p.element_size() for p in parameters))

    def time_pass(self, batch_size, device, iterations, warm_up):
        torch = attach.import_torch()
        model, x = self.model, self.inputs(batch_size, device)
        was_training, home, times = model.training, _device_of(model), []
        try:
            model.to(device.value).eval()
            with torch.no_grad():
                for _ in range(warm_up + iterations):
                    begin = time.perf_counter()
                    model(x)
                    if device is Device.GPU:
                        torch.cuda.synchronize()
                    times.append(time.perf_counter() - begin)
        finally:
            model.train(was_training)
            if home is not None:
                model.to(home)
        return statistics.median(times[warm_up:]) / batch_size


class _Pass:
    """One forward pass, with what its modules take."""

    def __init__(self, profiler, batch_size, device):
        torch = attach.import_torch()
        model, self.layers, self.footprint = profiler.model, [], 0
        self.parameters, self.parameter_bytes = profiler.weights()
        x = profiler.inputs(batch_size, device)
        self.footprint = x.numel() * x.element_size()
        was_training, home = model.training, _device_of(model)
        names = {module: name for name, module in model.named_modules()}
        handles = [module.register_forward_hook(self._hook(names))
                   for module in model.modules()]
        try:
            model.to(device.value).eval()
            with torch.no_grad():
                model(x)
        finally:
            for handle in handles:
                handle.remove()
            model.train(was_training)
            if home is not None:
                model.to(home)
        self.macs = sum(layer[4] or 0 for layer in self.layers) / batch_size

    def _hook(self, names):
        def hook(module, args, output):
            y = work._first(output) if not isinstance(output, dict) else None
            if y is None or not hasattr(y, "numel"):
                return
            is_leaf = next(module.children(), None) is None
            n_own = sum(p.numel() for p in module.parameters(recurse=False))
            has_parameters = any(True for _ in module.parameters())
            is_chain = type(module).__name__ == "Sequential"
            if has_parameters and not is_chain:
                self.footprint += y.numel() * y.element_size()
            if not is_leaf:
                return
            function, macs = work.work_of(module), None
            if function is not None:
                macs = function(module, (module, *args), y)[0]
                if type(module).__name__.startswith("BatchNorm"):
                    macs = 2.0 * y.numel()
            self.layers.append((names.get(module, ""), type(module).__name__,
                                tuple(y.shape), n_own, macs))
        return hook

    @property
    def table(self):
        head = ("layer", "class", "output", "parameters", "MMACs")
        rows = [(name, kind, "x".join(map(str, shape)), f"{n}",
                 "-" if macs is None else f"{macs / 1e6:.3f}")
                for name, kind, shape, n, macs in self.layers]
        widths = [max(len(row[i]) for row in [head, *rows]) for i in range(5)]
        return "\n".join("  ".join(
            cell.ljust(width) if i < 3 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths))).rstrip()
            for row in [head, *rows])


def _device_of(model):
    parameter = next(model.parameters(), None)
    return None if parameter is None else parameter.device


def _footprint(graph, include_weights):
    return graph.footprint + (graph.parameter_bytes if include_weights else 0)


class ComputeComplexity(ProfilerFunction):
    """Size, multiply-adds, parameters, footprint and the layers."""

    def get_bounded_status_keys(self):
        return (ModelSize(), Complexity(), TotalParams(), MemoryFootprint(),
                LayerwiseSummary())

    def __call__(self, profiler, batch_size=1, device=Device.CPU,
                 include_weights=True):
        graph = profiler.graph(batch_size, device)
        return (graph.parameter_bytes, graph.macs, graph.parameters,
                _footprint(graph, include_weights), graph.table)


class ComputeSize(ProfilerFunction):
    def get_bounded_status_keys(self):
        return ModelSize()

    def __call__(self, profiler):
        return profiler.weights()[1]


class ComputeParams(ProfilerFunction):
    def get_bounded_status_keys(self):
        return TotalParams()

    def __call__(self, profiler):
        return profiler.weights()[0]


class ComputeMemoryFootprint(ProfilerFunction):
    def get_bounded_status_keys(self):
        return MemoryFootprint()

    def __call__(self, profiler, batch_size=1, device=Device.CPU,
                 include_weights=True):
        return _footprint(profiler.graph(batch_size, device), include_weights)


class ComputeLayerwiseSummary(ProfilerFunction):
    def get_bounded_status_keys(self):
        return LayerwiseSummary()

    def __call__(self, profiler, batch_size=1, device=Device.CPU):
        return profiler.graph(batch_size, device).table


class ComputeExecutionTime(ProfilerFunction):
    """The median of `iterations` passes after `warm_up` others."""

    def get_bounded_status_keys(self):
        return ExecutionTime()

    def __call__(self, profiler, batch_size=1, device=Device.CPU,
                 iterations=20, warm_up=3):
        return profiler.time_pass(batch_size, device, iterations, warm_up)


class ComputeEvalMetric(ProfilerFunction):
    """A value that a function of yours computes: function(model, loader,
    device=...), with the arguments it has."""

    def __init__(self, function, key, unit_name="", friendly_name=None,
                 default_split="test",
                 comparative=Comparative.DIFF):
        self.function = function
        self.split = default_split
        self.metric = _metric(
            "eval_metric", friendly_name or f"Evaluation Metric ({key})",
            f"{key}, as computed by {getattr(function, '__name__', key)}()",
            comparative, unit_name)

    def get_bounded_status_keys(self):
        return self.metric()

    def __call__(self, model, data_splits, device=Device.CPU, split=None):
        offered = {"device": device}
        taken = inspect.signature(self.function).parameters
        loader = data_splits[split or self.split]
        return self.function(model, loader, **{
            name: value for name, value in offered.items() if name in taken})


from assay.keras_profiler import TFProfiler  # noqa: E402 (it needs Profiler)
