"""Starts the recording that `assay record` asked for, once PyTorch has been
imported; start/sitecustomize.py calls arm().

ASSAY_RECORD holds the settings: "WARM-UP BACKWARD GPU KERNELS FILE", two of which
are 0 or 1; the GPU is timed: no, yes or auto. src/cli/cmd_record.c writes it. The
process that imports PyTorch first takes them out of the environment, so that
processes it starts do not record too. The launcher of torch.distributed leaves
them for its workers, which record each into a file of its own: the first into the
one that was asked for, `run.assay`, the second into `run.rank1.assay`.
"""
import atexit
import importlib.util
import os
import sys

VARIABLE = "ASSAY_RECORD"
_DEVICE = {"no": False, "yes": True, "auto": None}
_LAUNCHERS = ("torch.distributed.run", "torch.distributed.launch")


def _is_launcher():
    """Whether this process only starts the workers of torch.distributed."""
    try:
        with open("/proc/self/cmdline", "rb") as file:
            words = os.fsdecode(file.read()).split("\0")
    except OSError:
        words = sys.argv
    return any(os.path.basename(word) == "torchrun" for word in words[:2]) or \
        any(word == "-m" and name in _LAUNCHERS
            for word, name in zip(words, words[1:]))


def _file_of_rank(path):
    """The run file of this worker."""
    rank = os.environ.get("RANK", "")
    if not rank.isdigit() or int(rank) == 0 or "WORLD_SIZE" not in os.environ:
        return path
    stem, end = os.path.splitext(path)
    return f"{stem}.rank{int(rank)}{end}"


class _Loader:
    """Loads torch as its own loader does, and starts the recording then."""

    def __init__(self, loader):
        self._loader = loader

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        if not _is_launcher():
            start(_take_settings())


class _Finder:
    """Finds torch, once."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _Loader(spec.loader)
        return spec


def arm():
    """Records when PyTorch is imported; does nothing before that."""
    sys.meta_path.insert(0, _Finder())


def _take_settings():
    warm_up, backward, gpu, kernels, output = os.environ.pop(
        VARIABLE).split(" ", 4)
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "start")
    rest = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep)
            if path and os.path.abspath(path) != here]
    os.environ["PYTHONPATH"] = os.pathsep.join(rest)
    if not rest:
        del os.environ["PYTHONPATH"]
    return {"path": _file_of_rank(output), "warm_up": int(warm_up),
            "backward": backward == "1", "device": _DEVICE[gpu],
            "kernels": kernels == "1"}


def start(settings):
    """Ends the program with one sentence if it cannot be recorded."""
    from assay.record import Recording
    recording = Recording(**settings,
                          program=os.path.basename(sys.argv[0]) or "python")
    try:
        recording.start()
    except (ImportError, OSError, RuntimeError) as error:
        print(f"assay: {error}", file=sys.stderr)
        raise SystemExit(3) from None
    atexit.register(finish, recording)


def finish(recording):
    """False, with a sentence, if there is no run file."""
    try:
        recording.stop()
    except (OSError, RuntimeError, MemoryError) as error:
        print(f"assay: no run file: {error}", file=sys.stderr)
        return False
    return True
