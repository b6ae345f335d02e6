"""One test of a campaign in PyTorch: `assay campaign` with framework = torch
starts `python -m assay.torch_test` for each (src/predict/torch_runner.h).

The answer goes to a file descriptor as a block of fixed size: lines of a key
and a value, filled up with zero bytes. "status" is ok, nomem or failed.
"""
import argparse
import os
import resource
import sys
import time

ANSWER_BYTES = 8192
MIB = 1 << 20
# As in src/predict/campaign_measure.c.
WARM_UP_STEPS, LEAST_STEPS, MOST_STEPS, MEMORY_STEPS = 1, 3, 2000, 2
KEPT_STEPS = 64
ROUND_MS = 500.0
_NO_MEMORY = ("out of memory", "can't allocate memory", "bad_alloc",
              "Cannot allocate memory", "not enough memory")


def answer(line, status, **values):
    """Sends the answer; a text keeps to its line."""
    rows = [f"status {status}"]
    for key, value in values.items():
        text = f"{value:.17g}" if isinstance(value, float) else str(value)
        rows.append(f"{key} {' '.join(text.split())}")
    block = "\n".join([*rows, ""]).encode()[:ANSWER_BYTES - 1]
    os.write(line, block.ljust(ANSWER_BYTES, b"\0"))


# ---- what this process holds

def _field_mb(name):
    with open("/proc/self/status", encoding="ascii") as file:
        for row in file:
            if row.startswith(name + ":"):
                return int(row.split()[1]) / 1024
    return 0.0


def _shared_mb():
    return _field_mb("RssFile") + _field_mb("RssShmem")


def _reset_peak():
    """Whether the system starts counting the largest resident size again."""
    try:
        with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
            file.write("5")
    except OSError:
        return False
    return True


class HostMemory:
    """Private memory of this process beyond what it starts with: as PyTorch's
    allocator on the host gives memory back to the system, the largest resident
    size says what was needed."""

    def __init__(self, limit_mb):
        self.idle_mb = _field_mb("RssAnon")
        if limit_mb:
            most = int((limit_mb + _field_mb("VmData")) * MIB)
            resource.setrlimit(resource.RLIMIT_DATA, (most, most))

    def begin(self):
        _reset_peak()

    def end(self):
        used = _field_mb("VmHWM") - _shared_mb() - self.idle_mb
        return {"alloc_mb": used, "reserved_mb": used, "used_mb": used}

    def room(self):
        return {}


class DeviceMemory:
    """A GPU's: what PyTorch's allocator gave out and held at its largest, and
    what the driver has less than before the test."""

    def __init__(self, torch, device, limit_mb):
        self.torch, self.device = torch, device
        self.free, self.total = torch.cuda.mem_get_info(device)
        if limit_mb:
            torch.cuda.set_per_process_memory_fraction(
                min(1.0, limit_mb * MIB / self.total), device)

    def begin(self):
        self.torch.cuda.reset_peak_memory_stats(self.device)

    def end(self):
        cuda = self.torch.cuda
        reserved = cuda.max_memory_reserved(self.device)
        taken = self.free - cuda.mem_get_info(self.device)[0]
        return {"alloc_mb": cuda.max_memory_allocated(self.device) / MIB,
                "reserved_mb": reserved / MIB,
                "used_mb": max(taken, reserved) / MIB}

    def room(self):
        return {"capacity_mb": self.total / MIB, "avail_mb": self.free / MIB}


# ---- steps

class HostClock:
    """Milliseconds of a step on the host."""

    def time(self, step):
        began = time.perf_counter()
        step()
        return (time.perf_counter() - began) * 1e3


class DeviceClock:
    """The same by events in the GPU's queue."""

    def __init__(self, torch, device):
        self.torch, self.device = torch, device
        self.begin = torch.cuda.Event(enable_timing=True)
        self.end = torch.cuda.Event(enable_timing=True)

    def time(self, step):
        self.torch.cuda.synchronize(self.device)
        self.begin.record()
        step()
        self.end.record()
        self.end.synchronize()
        return self.begin.elapsed_time(self.end)


def image_shape(declared, batch):
    """The shape of a batch; sizes that the network leaves open are 224."""
    sizes = declared or ["?", "3", "?", "?"]
    if len(sizes) != 4:
        raise ValueError("its input is not a batch of images")
    if sizes[0] not in ("?", str(batch)):
        raise ValueError(f"its batch is fixed to {sizes[0]}")
    return [batch, *(224 if size == "?" else int(size) for size in sizes[1:])]


def make_step(torch, network, device, batch, stage):
    """A function that makes one step: forward, and in training the loss,
    backward and the update."""
    generator = torch.Generator().manual_seed(1)
    images = torch.rand(image_shape(network.image_shape, batch),
                        generator=generator).to(device)
    if stage == "inference":
        network.eval()

        def infer():
            with torch.no_grad():
                network(images)
        return infer

    network.eval()
    with torch.no_grad():
        scores = network(images[:1])
    if scores.dim() != 2:
        raise ValueError("it cannot be trained: its first output is not one "
                         "score per class")
    network.train()
    labels = torch.randint(scores.shape[1], (batch,),
                           generator=generator).to(device)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.001, momentum=0.9,
                                weight_decay=5e-4)
    loss_of = torch.nn.CrossEntropyLoss()

    def train():
        optimizer.zero_grad(set_to_none=True)
        loss_of(network(images), labels).backward()
        optimizer.step()
    return train


def undisturbed(times):
    """The lowest decile: other load on the machine only ever adds time."""
    return sorted(times)[len(times) // 10]


def measure_latency(clock, step):
    times = []
    while len(times) < MOST_STEPS and (len(times) < LEAST_STEPS or
                                       sum(times) < ROUND_MS):
        times.append(clock.time(step))
    return times, {"latency_ms": undisturbed(times)}


def measure_memory(clock, memory, step):
    memory.begin()
    times = [clock.time(step) for _ in range(MEMORY_STEPS)]
    return times, memory.end()


def measure(torch, options):
    from assay.net_modules import load
    device = torch.device(options.device)
    is_gpu = device.type == "cuda"
    if options.threads:
        torch.set_num_threads(options.threads)
    memory = DeviceMemory(torch, device, options.memory_mb) if is_gpu else \
        HostMemory(options.memory_mb)
    clock = DeviceClock(torch, device) if is_gpu else HostClock()
    network = load(options.net).to(device)
    step = make_step(torch, network, device, options.batch, options.stage)
    for _ in range(WARM_UP_STEPS):
        clock.time(step)
    times, values = measure_latency(clock, step) if options.variable == \
        "latency" else measure_memory(clock, memory, step)
    return {**values, **memory.room(), "machine": machine(torch, device),
            "n_steps": len(times),
            "steps_ms": " ".join(f"{ms:.6g}" for ms in times[:KEPT_STEPS])}


# ---- the process

def machine(torch, device):
    return torch.cuda.get_device_name(device) if device.type == "cuda" else ""


def check(torch, options):
    """Fails if this PyTorch cannot use the device."""
    device = torch.device(options.device)
    if device.type == "cuda":
        if not torch.cuda.is_available():
            raise ValueError(f"PyTorch {torch.__version__} of "
                             f"{sys.executable} sees no GPU; --device cpu uses "
                             "the processors")
        if (device.index or 0) >= torch.cuda.device_count():
            raise ValueError(f"PyTorch sees {torch.cuda.device_count()} GPUs, "
                             f"and not {options.device}")
    elif device.type != "cpu":
        raise ValueError(f"device {options.device} is neither cpu nor cuda:N")
    return {"machine": machine(torch, device),
            "library": f"PyTorch {torch.__version__}"}


def import_torch():
    try:
        import torch
    except ImportError as error:
        raise ValueError(f"{sys.executable} has no PyTorch ({error}); --python "
                         "names an interpreter that has it") from None
    return torch


def parse(words):
    parser = argparse.ArgumentParser(prog="python -m assay.torch_test")
    parser.add_argument("--line", type=int, default=1)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--net")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--stage", choices=["training", "inference"])
    parser.add_argument("--variable", choices=["latency", "memory"])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--memory-mb", type=float, default=0)
    return parser.parse_args(words)


def is_out_of_memory(error):
    text = str(error)
    return isinstance(error, MemoryError) or any(words in text
                                                 for words in _NO_MEMORY)


def main():
    options = parse(sys.argv[1:])
    try:
        torch = import_torch()
        values = check(torch, options) if options.check else \
            measure(torch, options)
    except Exception as error:  # whatever it is, it is the answer
        lines = (str(error) or type(error).__name__).splitlines()
        answer(options.line,
               "nomem" if is_out_of_memory(error) else "failed",
               reason=lines[0][:400])
        return
    answer(options.line, "ok", **values)


if __name__ == "__main__":
    main()
