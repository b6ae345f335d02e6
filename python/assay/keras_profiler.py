"""TFProfiler: metrics of Keras models, which Assay's own engine runs.

TensorFlow is not used: the model is saved as Keras saves it (2 and 3), and the
program `assay` reads the file. What it cannot run, it names.
"""
import json
import os
import shutil
import subprocess
import tempfile

from assay.__main__ import find_program
from assay.profiler import Device, Profiler

_DEVICES = {Device.CPU: "cpu", Device.GPU: "cuda:0"}


def _save(model, folder):
    """The file that holds the model."""
    reasons = []
    for ending in (".keras", ".h5"):
        path = os.path.join(folder, "model" + ending)
        try:
            model.save(path)
        except (ImportError, NotImplementedError, OSError, TypeError,
                ValueError) as error:
            reasons.append(str(error).split("\n", maxsplit=1)[0])
            continue
        if os.path.isfile(path):  # early Keras 2 writes a folder
            return path
        shutil.rmtree(path, ignore_errors=True)
    raise ValueError("the model cannot be saved: "
                     + ("; ".join(reasons) or "its save() wrote no file"))


def _shape_of(batch):
    while isinstance(batch, (tuple, list)):
        batch = batch[0]
    return list(getattr(batch, "shape", ()))


class _Graph:
    """What `assay metrics` says of the model."""

    def __init__(self, values, table):
        self.parameter_bytes = values["model_size"]
        self.parameters = values["total_params"]
        self.macs = values["complexity"]
        self.footprint = (values["memory_footprint"]
                          - values["model_size"])
        self.table = table


class TFProfiler(Profiler):
    """Profiles a Keras model that can be saved, layer by layer, in Assay's
    engine: the times are not TensorFlow's. data_splits maps names to batches of
    data; they are needed only if the model leaves the size of its inputs
    open."""

    def __init__(self, model, data_splits=None, name="model"):
        if not callable(getattr(model, "save", None)):
            raise TypeError("the model must be one of Keras, with a save() "
                            f"method, not {type(model).__name__}")
        super().__init__(model, data_splits, name)
        program = find_program()
        if program is None:
            raise RuntimeError("the program `assay`, which runs the model, is "
                               "not on the path")
        self._program = program
        self.backend = "Assay's engine, from the file that Keras saves"
        self._folder = tempfile.mkdtemp(prefix="assay-keras-")
        self._file = None
        self._graphs = {}

    def __del__(self):
        shutil.rmtree(getattr(self, "_folder", ""), ignore_errors=True)

    def _shape(self, batch_size):
        """The option for the size of the inputs, if the data tells it."""
        for split in (self.data_splits or {}).values():
            sizes = _shape_of(next(iter(split)))
            if len(sizes) > 1:
                sizes[0] = batch_size
                return ["--shape", "x".join(str(int(n)) for n in sizes)]
        return []

    def _ask(self, command, batch_size, device, *words):
        if self._file is None:
            self._file = _save(self.model, self._folder)
        line = [self._program, command, self._file, "--batch", str(batch_size),
                "--device", _DEVICES[device], *self._shape(batch_size), *words]
        done = subprocess.run(line, capture_output=True, text=True,
                              check=False)
        if done.returncode:
            lines = done.stderr.strip().splitlines() or ["assay failed"]
            raise RuntimeError(lines[-1])
        return done.stdout

    def _metrics(self, batch_size, device, keys, *words):
        answer = json.loads(self._ask("metrics", batch_size, device, "--json",
                                      "--short", "--only", ",".join(keys),
                                      *words))
        (model,) = answer["models"]
        values = {}
        for metric in model["metrics"]:
            if metric["value"] is None:
                raise RuntimeError(metric["reason"])
            values[metric["key"]] = metric["value"]
        return values

    def graph(self, batch_size, device):
        if batch_size not in self._graphs:
            values = self._metrics(batch_size, device, (
                "model_size", "complexity", "total_params",
                "memory_footprint"))
            table = self._ask("layers", batch_size, device).rstrip()
            self._graphs[batch_size] = _Graph(values, table)
        return self._graphs[batch_size]

    def weights(self):
        values = self._metrics(1, Device.CPU, ("model_size", "total_params"))
        return values["total_params"], values["model_size"]

    def time_pass(self, batch_size, device, iterations, warm_up):
        """The engine decides itself how many passes it needs to warm up."""
        values = self._metrics(batch_size, device, ["execution_time"],
                               "--iters", str(iterations))
        return values["execution_time"] / 1e9
