"""assay tax: a recorded model beside the same model in Assay's engine."""
import json
import os
import subprocess

import pytest
import torch
import torchvision
from networks import Net

import assay

PROGRAM = os.environ["ASSAY_PROGRAM"]


def record(path, model, *shape):
    model.eval()
    with assay.recording(path), torch.no_grad():
        for _ in range(2):
            model(torch.rand(*shape))


def tax(path, *words):
    return subprocess.run([PROGRAM, "tax", path, "-n", "2", *words],
                          capture_output=True, text=True, check=False)


def modules_of(path, *words):
    done = tax(path, "--json", *words)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    return answer["model"], {row["path"]: row for row in answer["modules"]}


def test_a_torchvision_model_is_found_and_paired_module_by_module(tmp_path):
    run = tmp_path / "run.assay"
    model = torchvision.models.resnet18(num_classes=10)
    record(run, model, 2, 3, 64, 32)
    name, rows = modules_of(run)
    assert name == "resnet18"
    called = {path for path, _ in model.named_modules()}
    assert called - set(rows) == set()
    assert [path for path, row in rows.items() if not row["has_partner"]] == []
    for path in ("", "layer1", "layer4.1", "conv1", "fc"):
        for key in ("pytorch_ms", "plain_ms", "fused_ms"):
            assert rows[path][key] > 0, (path, key)
    assert rows["bn1"]["fused_into"] == "conv1"
    assert rows["bn1"]["plain_ms"] > 0
    screen = tax(run).stdout
    assert "recorded with 2x3x64x32" in screen
    assert "images 2x3x64x32" in screen
    assert "PyTorch ms   plain ms   fused ms" in screen


def test_the_forward_pass_of_a_training_is_said(tmp_path):
    run = tmp_path / "run.assay"
    model = torchvision.models.squeezenet1_1(num_classes=4)
    with assay.recording(run):
        model(torch.rand(2, 3, 64, 64)).sum().backward()
    done = tax(run)
    assert done.returncode == 0, done.stderr
    assert "squeezenet1_1" in done.stdout
    assert "the forward pass of a training" in done.stdout


def test_an_exported_model_is_given_with_an_option(tmp_path):
    """What the engine calls otherwise has no partner, and that is said."""
    if int(torch.__version__.split(".")[0]) > 1:
        pytest.importorskip("onnxscript")  # which PyTorch 2 exports with
    run, file = tmp_path / "run.assay", tmp_path / "net.onnx"
    model = Net().eval()
    record(run, model, 2, 3, 8, 8)
    torch.onnx.export(model, torch.rand(2, 3, 8, 8), file)
    name, rows = modules_of(run, "--model", str(file))
    assert name == str(file)
    assert rows["stem"]["plain_ms"] > 0
    assert rows[""]["fused_ms"] > 0
    assert "ops of the engine are not modules in PyTorch" in tax(
        run, "--model", str(file)).stdout


def test_what_cannot_be_compared_is_one_sentence(tmp_path):
    run = tmp_path / "run.assay"
    record(run, Net(), 2, 3, 8, 8)
    done = tax(run)
    assert done.returncode == 3 and done.stderr.count("\n") == 1
    assert "no built-in model has the run's" in done.stderr
    assert "--model FILE" in done.stderr
    record(run, torch.nn.Linear(2, 2), 1, 2)
    done = tax(run)
    assert done.returncode == 3
    assert "no layer with images as its input" in done.stderr
    with assay.recording(run):
        pass
    done = tax(run)
    assert done.returncode == 3 and "the run has no model" in done.stderr


@pytest.mark.parametrize("words, sentence", [
    (["--model", "resnet1"], "unknown model 'resnet1'"),
    (["--model", "nowhere.onnx"], "nowhere.onnx")])
def test_a_model_that_is_not_there_is_said(tmp_path, words, sentence):
    run = tmp_path / "run.assay"
    record(run, Net(), 2, 3, 8, 8)
    done = tax(run, *words)
    assert done.returncode in (2, 3)
    assert sentence in done.stderr and done.stderr.count("\n") == 1
