"""TFProfiler: a Keras model, played by an object that saves one. Keras itself is
no Debian package."""
import json
import os
import pathlib
import shutil
import subprocess

import pytest

from assay.profiler import (ComputeComplexity, ComputeEvalMetric,
                            ComputeExecutionTime, ComputeLayerwiseSummary,
                            ComputeParams, Device, TFProfiler)

FILES = pathlib.Path(__file__).resolve().parents[1] / "formats" / "keras"


class Model:
    """Saves a file of the tests; Keras 2 of its time knows one ending only."""

    def __init__(self, name):
        self.file = FILES / name
        self.saved = 0

    def save(self, path):
        if not path.endswith(self.file.suffix):
            raise ValueError(f"cannot write {path}")
        self.saved += 1
        shutil.copyfile(self.file, path)


def shown_by_the_program(name, *words):
    done = subprocess.run(
        [os.environ["ASSAY_PROGRAM"], "metrics", FILES / name, "--json",
         "--short", "--no-weights", *words], capture_output=True, text=True,
        check=True)
    return {metric["key"]: metric["value"] for metric
            in json.loads(done.stdout)["models"][0]["metrics"]}


@pytest.mark.parametrize("name", ["transfer_k3.keras", "transfer_k2.h5",
                                  "sequential_k2.keras"])
def test_models_of_keras_2_and_3_have_the_programs_figures(name):
    profiler = TFProfiler(Model(name), name="Student")
    profiler.register_profiler_function(ComputeComplexity())
    found = profiler.compute_network_status(print_mode=None)
    known = shown_by_the_program(name)
    assert found["model_size"] * 2 ** 20 == pytest.approx(known["model_size"])
    assert found["memory_footprint"] * 2 ** 20 == pytest.approx(
        known["memory_footprint"])
    assert profiler._values["complexity"].value == known["complexity"]
    assert profiler._values["total_params"].value == known["total_params"]
    assert profiler.model.saved == 1


def test_the_table_says_that_the_engine_is_assays(capsys):
    profiler = TFProfiler(Model("transfer_k3.keras"), {}, name="Teacher")
    for function in (ComputeParams(), ComputeLayerwiseSummary(),
                     ComputeExecutionTime(),
                     ComputeEvalMetric(lambda model, data: 0.5, "accuracy",
                                       default_split="test")):
        profiler.register_profiler_function(function)
    profiler.data_splits = {"test": []}
    profiler._shape = lambda batch_size: []
    values = profiler.compute_network_status(
        batch_size=2, device=Device.CPU, short_print=False, iterations=3)
    text = capsys.readouterr().out
    assert "Param Name (Teacher)" in text
    assert "Backend: Assay's engine, from the file that Keras saves" in text
    assert "vgg19.block1_conv2" in text and "2x2x32x32" in text
    assert values["execution_time"] > 0


def test_weights_can_be_left_out_of_the_footprint():
    def footprint(include_weights):
        profiler = TFProfiler(Model("transfer_k3.keras"))
        profiler.register_profiler_function(ComputeComplexity())
        found = profiler.compute_network_status(
            print_mode=None, include_weights=include_weights)
        return found["memory_footprint"], found["model_size"]

    whole, size = footprint(True)
    assert footprint(False)[0] == pytest.approx(whole - size)


def test_the_data_tells_sizes_that_the_model_leaves_open():
    class Batch:
        shape = (8, 32, 32, 3)

    profiler = TFProfiler(Model("transfer_k3.keras"), {"test": [(Batch(), 1)]})
    assert profiler._shape(2) == ["--shape", "2x32x32x3"]
    profiler.register_profiler_function(ComputeComplexity())
    assert profiler.compute_network_status(print_mode=None, batch_size=2)


def test_what_cannot_be_profiled_is_said(tmp_path):
    with pytest.raises(TypeError, match="with a save"):
        TFProfiler(object())

    class Silent:
        def save(self, path):
            pass

    class Broken:
        def save(self, path):
            pathlib.Path(path).write_text("not a model")

    for model, sentence in ((Silent(), "wrote no file"), (Broken(), "assay: ")):
        profiler = TFProfiler(model)
        profiler.register_profiler_function(ComputeParams())
        with pytest.raises((ValueError, RuntimeError), match=sentence):
            profiler.compute_network_status(print_mode=None)


def test_its_files_are_gone_with_it():
    profiler = TFProfiler(Model("transfer_k3.keras"))
    folder = profiler._folder
    assert os.path.isdir(folder)
    del profiler
    assert not os.path.exists(folder)
