"""Tests of a campaign in PyTorch: `assay campaign` with framework = torch
starts `python -m assay.torch_test` once (src/predict/torch_host.h). It imports
PyTorch, which takes seconds, and makes a process of its own for every test that
it is asked for: a copy of itself, which has not touched a GPU yet.

Requests and answers go over a socket as blocks of fixed size, filled up with
zero bytes: a request has one word of a command line per line, an answer a key
and a value. "status" is ok, nomem or failed; late if the test took too long, and
ended if its process did so without an answer, by a signal or with a code.
"""
import argparse
import contextlib
import ctypes
import importlib
import os
import resource
import select
import signal
import socket
import sys
import time

ANSWER_BYTES = 8192
MIB = 1 << 20
# As in src/predict/campaign_measure.c.
WARM_UP_STEPS, LEAST_STEPS, MOST_STEPS, MEMORY_STEPS = 1, 3, 2000, 2
KEPT_STEPS = 64
ROUND_MS = 500.0
# As in src/predict/step_blocks.h.
N_BLOCKS, N_GROUPS, BLOCK_MS, STEADY_SHARE = 16, 8, 25.0, 1.02
_NO_MEMORY = ("out of memory", "can't allocate memory", "bad_alloc",
              "Cannot allocate memory", "not enough memory")


def answer(status, **values):
    """The block of an answer; a text keeps to its line."""
    rows = [f"status {status}"]
    for key, value in values.items():
        text = f"{value:.17g}" if isinstance(value, float) else str(value)
        rows.append(f"{key} {' '.join(text.split())}")
    block = "\n".join([*rows, ""]).encode()[:ANSWER_BYTES - 1]
    return block.ljust(ANSWER_BYTES, b"\0")


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
    generator = torch.Generator(device).manual_seed(1)
    images = torch.rand(image_shape(network.image_shape, batch),
                        generator=generator, device=device)
    if stage == "inference":
        network.eval()

        def infer():
            with torch.no_grad():
                network(images)
        return infer

    network.train()
    labels = []  # once the first step shows how many classes there are
    optimizer = torch.optim.SGD(network.parameters(), lr=0.001, momentum=0.9,
                                weight_decay=5e-4)
    loss_of = torch.nn.CrossEntropyLoss()

    def make_labels(scores):
        if scores.dim() != 2:
            raise ValueError("it cannot be trained: its first output is not "
                             "one score per class")
        labels.append(torch.randint(scores.shape[1], (batch,), device=device,
                                    generator=generator))

    def train():
        optimizer.zero_grad(set_to_none=True)
        scores = network(images)
        if not labels:
            make_labels(scores)
        loss_of(scores, labels[0]).backward()
        optimizer.step()
    return train


def undisturbed(times):
    """The lowest decile: other load on the machine only ever adds time."""
    return sorted(times)[len(times) // 10]


def measure_latency(clock, step, enough_ms, move=None):
    """The times of steps; `move` is called before each block."""
    times, spent, of_block, n_blocks = [], 0.0, BLOCK_MS, 0
    while len(times) < MOST_STEPS and (len(times) < LEAST_STEPS or
                                       spent < enough_ms):
        if move and of_block >= BLOCK_MS:
            move(n_blocks)
            of_block, n_blocks = 0.0, n_blocks + 1
        times.append(clock.time(step))
        spent += times[-1]
        of_block += times[-1]
    return times


# ---- on a GPU: blocks of steps, every other one from other processors

def least_block(times):
    """The least of the medians of blocks, and whether a third are hardly
    more: a processor that is shared with others is slow for a whole test."""
    medians, block = [], []
    for i, time_ms in enumerate(times):
        block.append(time_ms)
        if sum(block) < BLOCK_MS and i + 1 < len(times):
            continue
        medians.append(sorted(block)[(len(block) - 1) // 2])
        block = []
        if len(medians) == N_BLOCKS:
            break
    medians.sort()
    return medians[0], \
        medians[(len(medians) + 1) // 3] <= STEADY_SHARE * medians[0]


def block_processors(allowed, block):
    """Those of a block, of those that may be used: all, or a group of them."""
    if block % 2 == 0:
        return allowed
    n_groups = min(N_GROUPS, len(allowed))
    return {processor for i, processor in enumerate(sorted(allowed))
            if i * n_groups // len(allowed) == block // 2 % n_groups}


def use_processors(processors):
    """For all threads: that of the backward pass is another one."""
    for thread in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError):  # it has ended
            os.sched_setaffinity(int(thread), processors)


def measure_memory(clock, memory, step):
    memory.begin()
    times = [clock.time(step) for _ in range(MEMORY_STEPS)]
    return times, memory.end()


def measure_both(clock, memory, step):
    """Where starting a process takes longer than measuring."""
    allowed = os.sched_getaffinity(0)
    memory.begin()
    times = measure_latency(
        clock, step, N_BLOCKS * BLOCK_MS,
        lambda block: use_processors(block_processors(allowed, block)))
    use_processors(allowed)
    least, is_steady = least_block(times)
    return times, {"latency_ms": least, "is_steady": int(is_steady),
                   **memory.end(), "has_both": 1}


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
    if is_gpu:
        times, values = measure_both(clock, memory, step)
    elif options.variable == "latency":
        times = measure_latency(clock, step, ROUND_MS)
        values = {"latency_ms": undisturbed(times)}
    else:
        times, values = measure_memory(clock, memory, step)
    return {**values, **memory.room(), **machine(torch, device),
            "n_steps": len(times),
            "steps_ms": " ".join(f"{ms:.6g}" for ms in times[:KEPT_STEPS])}


# ---- a test

def machine(torch, device):
    if device.type != "cuda":
        return {}
    facts = torch.cuda.get_device_properties(device)
    return {"machine": facts.name,
            "multiprocessors": facts.multi_processor_count}


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
    return {**machine(torch, device), "library": f"PyTorch {torch.__version__}"}


def import_torch():
    try:
        import torch
    except ImportError as error:
        raise ValueError(f"{sys.executable} has no PyTorch ({error}); --python "
                         "names an interpreter that has it") from None
    return torch


def parse(words):
    parser = argparse.ArgumentParser(prog="python -m assay.torch_test")
    parser.add_argument("--line", type=int, help="a socket to serve; without "
                        "it one test runs here, and prints its answer")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--net")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--stage", choices=["training", "inference"])
    parser.add_argument("--variable", choices=["latency", "memory"])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--memory-mb", type=float, default=0)
    parser.add_argument("--seconds", type=float, default=0)
    return parser.parse_args(words)


def is_out_of_memory(error):
    text = str(error)
    return isinstance(error, MemoryError) or any(words in text
                                                 for words in _NO_MEMORY)


def answer_of(work):
    """What a function gives, or why it does not."""
    try:
        values = work()
    except Exception as error:  # whatever it is, it is the answer
        lines = (str(error) or type(error).__name__).splitlines()
        return answer("nomem" if is_out_of_memory(error) else "failed",
                      reason=lines[0][:400])
    return answer("ok", **values)


def run_test(options):
    torch = import_torch()
    return check(torch, options) if options.check else measure(torch, options)


# ---- processes

def become_mortal(parent):
    """Ends with its parent, and first of all if the machine's memory does."""
    set_death_signal = 1
    try:
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("1000")
    except (OSError, AttributeError):
        pass  # the test can be done without it
    if os.getppid() != parent:
        os._exit(1)


def start_test(line, words):
    """A process for a test, and the pipe that its answer comes through."""
    parent, (reads, writes) = os.getpid(), os.pipe()
    pid = os.fork()
    if pid:
        os.close(writes)
        return pid, reads
    try:
        os.close(reads)
        line.close()
        become_mortal(parent)
        os.write(writes, answer_of(lambda: run_test(parse(words))))
        os._exit(0)
    finally:
        os._exit(1)  # without a word: buffers belong to the parent


def await_test(line, reads, seconds):
    """The answer of a test; b"" if it ends without one, None if it is late or
    nobody waits for it any more."""
    until = time.monotonic() + seconds if seconds else None
    block = b""
    while len(block) < ANSWER_BYTES:
        left = max(until - time.monotonic(), 0) if until else None
        ready = select.select([reads, line], [], [], left)[0]
        if not ready or line in ready:
            return None
        part = os.read(reads, ANSWER_BYTES - len(block))
        if not part:
            return b""
        block += part
    return block


def answer_request(line, words):
    """Runs a test in a process of its own, whatever becomes of it."""
    seconds = parse(words).seconds
    pid, reads = start_test(line, words)
    block = await_test(line, reads, seconds)
    if block is None:
        os.kill(pid, signal.SIGKILL)
    os.close(reads)
    status = os.waitpid(pid, 0)[1]
    if block is None:
        return answer("late")
    if not block and os.WIFSIGNALED(status):
        return answer("ended", signal=os.WTERMSIG(status))
    return block or answer("ended", code=os.WEXITSTATUS(status))


def has_touched_gpu():
    """Whether this process initialised the GPU's driver: no copy of it can use
    that. Libraries may load the driver without doing so."""
    not_initialised = 3
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return driver.cuDeviceGetCount(ctypes.byref(ctypes.c_int())) != \
        not_initialised


def import_ahead(name):
    """Imports a module so that tests need not, unless a copy of this process
    finds that it is missing or touches a GPU. Whether it was imported."""
    pid = os.fork()
    if pid == 0:
        is_unfit = True
        try:
            importlib.import_module(name)
            is_unfit = has_touched_gpu()
        finally:
            os._exit(is_unfit)
    if os.waitpid(pid, 0)[1] != 0:
        return False
    importlib.import_module(name)
    return True


def get_ready():
    """Imports what every test needs, without touching a GPU: what the first
    step of an optimizer imports takes PyTorch 2 another five seconds."""
    os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")
    torch = import_torch()
    from assay import net_modules  # noqa: F401
    import_ahead("torch._dynamo")
    return {"library": f"PyTorch {torch.__version__}"}


def serve(line):
    """Answers requests until nobody asks any more."""
    line.sendall(answer_of(get_ready))
    while True:
        request = line.recv(ANSWER_BYTES, socket.MSG_WAITALL)
        if len(request) < ANSWER_BYTES:
            return
        words = request.rstrip(b"\0").decode().splitlines()
        line.sendall(answer_request(line, words))


def main():
    options = parse(sys.argv[1:])
    if options.line is None:
        print(answer_of(lambda: run_test(options)).rstrip(b"\0").decode(),
              end="")
        return
    with socket.socket(fileno=options.line) as line, \
            contextlib.suppress(ConnectionError):  # nobody asks any more
        serve(line)


if __name__ == "__main__":
    main()
