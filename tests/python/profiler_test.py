"""assay.profiler: the rules of registration, the numbers, the tables."""
import warnings

import pytest
import torch
import torchvision
from networks import Net
from torch import nn

from assay.profiler import (Comparative, ComputeComplexity, ComputeEvalMetric,
                            ComputeExecutionTime, ComputeLayerwiseSummary,
                            ComputeMemoryFootprint, ComputeParams, ComputeSize,
                            Device, Metric, ProfilerFunction, StatusKey,
                            TorchProfiler)


def splits(size=32, batch=4):
    return {"test": [(torch.rand(batch, 3, size, size),
                      torch.zeros(batch, dtype=torch.long))]}


def cifar_resnet18():
    model = torchvision.models.resnet18(num_classes=100)
    model.conv1 = nn.Conv2d(3, 64, 3, 1, 1, bias=False)
    model.maxpool = nn.Identity()
    return model


class Answer(Metric):
    NAME = "answer"

    @staticmethod
    def description():
        return "always the same"

    @staticmethod
    def friendly_name():
        return "The Answer"

    def get_units(self):
        return "u"

    def get_comparative(self):
        return Comparative.RATIO


class ComputeAnswer(ProfilerFunction):
    def get_bounded_status_keys(self):
        return Answer()

    def __call__(self, model, factor=1):
        return 42 * factor


class ComputeOtherAnswer(ComputeAnswer):
    def __call__(self, model):
        return 43


def test_size_and_parameters_need_no_data():
    profiler = TorchProfiler(torch.nn.Linear(3, 2), {})
    profiler.register_profiler_function(ComputeSize())
    profiler.register_profiler_function(ComputeParams())
    found = profiler.compute_network_status(print_mode=None)
    assert found["model_size"] == 8 * 4 / 2 ** 20
    assert found["total_params"] == 0.008


def test_the_published_numbers_of_resnet18_for_cifar100(capsys):
    profiler = TorchProfiler(cifar_resnet18(), splits(), name="Original Model")
    profiler.register_profiler_function(ComputeComplexity())
    profiler.register_profiler_function(
        ComputeEvalMetric(lambda model, loader: 76.8295, "accuracy",
                          unit_name="%"))
    values = profiler.compute_network_status(
        batch_size=1, device=Device.CPU, short_print=False,
        include_weights=True, print_mode="debug")
    shown = capsys.readouterr().out
    for text in ("Param Name (Original Model)", "Backend: PyTorch",
                 "Model Size (MB) |      42.8014 |",
                 "Computational Complexity (GigaMACs) |       0.5567 |",
                 "Total Parameters (Millions) |      11.2201 |",
                 "Memory Footprint (MB) |      48.4389 |",
                 "Evaluation Metric (accuracy) (%) |      76.8295 |"):
        assert text in shown
    assert "layer4.1.conv2" in shown
    assert round(values["model_size"], 4) == 42.8014
    lines = shown.splitlines()
    assert len({len(line) for line in lines[:12]}) == 1


def test_the_footprint_can_leave_weights_out():
    profiler = TorchProfiler(cifar_resnet18(), splits())
    profiler.register_profiler_function(ComputeMemoryFootprint())
    profiler.register_profiler_function(ComputeSize())
    with_weights = profiler.compute_network_status(print_mode=None)
    without = profiler.compute_network_status(print_mode=None,
                                              include_weights=False)
    assert (with_weights["memory_footprint"] - without["memory_footprint"]
            == pytest.approx(with_weights["model_size"]))


def test_single_functions_agree_with_the_one_for_all():
    model = Net()
    whole = TorchProfiler(model, splits(8))
    whole.register_profiler_function(ComputeComplexity())
    parts = TorchProfiler(model, splits(8))
    for function in (ComputeSize(), ComputeParams(), ComputeMemoryFootprint(),
                     ComputeLayerwiseSummary()):
        parts.register_profiler_function(function)
    a = whole.compute_network_status(print_mode=None)
    b = parts.compute_network_status(print_mode=None)
    assert {key: a[key] for key in b} == b
    assert parts.compute_status("total_params") == \
        sum(p.numel() for p in model.parameters()) / 1e3


def test_macs_are_counted_per_image():
    profiler = TorchProfiler(nn.Conv2d(3, 4, 3), splits(8))
    profiler.register_profiler_function(ComputeComplexity())
    for batch_size in (1, 3, 9):
        got = profiler.compute_network_status(batch_size=batch_size,
                                              print_mode=None)
        assert got["complexity"] == 4 * 6 * 6 * 3 * 9 / 1e3


def test_the_model_is_left_as_it_was():
    model = Net().train()
    hooks = [len(m._forward_hooks) for m in model.modules()]
    profiler = TorchProfiler(model, splits(8))
    profiler.register_profiler_function(ComputeComplexity())
    profiler.register_profiler_function(ComputeExecutionTime())
    profiler.compute_network_status(print_mode=None, iterations=2, warm_up=0)
    assert model.training
    assert [len(m._forward_hooks) for m in model.modules()] == hooks
    assert profiler.compute_status("execution_time") > 0


def test_arguments_are_piped_by_name_and_unknown_ones_refused():
    profiler = TorchProfiler(Net(), splits(8))
    profiler.register_profiler_function(ComputeAnswer())
    assert profiler.compute_network_status(print_mode=None, factor=2) == {
        "answer": 84}
    with pytest.raises(TypeError, match="takes the argument 'facto' .*factor"):
        profiler.compute_network_status(print_mode=None, facto=2)


def test_a_function_must_take_named_arguments():
    class Greedy(ComputeAnswer):
        def __call__(self, **everything):
            return 1

    class Positional(ComputeAnswer):
        def __call__(self, *everything):
            return 1

    profiler = TorchProfiler(Net(), splits(8))
    for kind in (Greedy, Positional):
        with pytest.raises(TypeError, match=f"{kind.__name__}.*must all have"):
            profiler.register_profiler_function(kind())
    with pytest.raises(TypeError, match="not a ProfilerFunction"):
        profiler.register_profiler_function(len)


def test_a_missing_argument_is_named():
    class Needy(ComputeAnswer):
        def __call__(self, model, wanted):
            return wanted

    profiler = TorchProfiler(Net(), splits(8))
    profiler.register_profiler_function(Needy())
    with pytest.raises(TypeError, match="Needy needs the argument 'wanted'"):
        profiler.compute_status("answer")
    assert profiler.compute_status("answer", wanted=5) == 5


def test_the_later_function_is_used_unless_the_earlier_overrides():
    profiler = TorchProfiler(Net(), splits(8))
    profiler.register_profiler_function(ComputeAnswer())
    with pytest.warns(UserWarning, match="ComputeOtherAnswer replaces"):
        profiler.register_profiler_function(ComputeOtherAnswer())
    assert profiler.compute_status("answer") == 43

    profiler = TorchProfiler(Net(), splits(8))
    profiler.register_profiler_function(ComputeAnswer(), override=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        profiler.register_profiler_function(ComputeOtherAnswer())
    assert profiler.compute_status("answer") == 42


def test_two_that_override_a_key_are_both_named():
    profiler = TorchProfiler(Net(), splits(8))
    profiler.register_profiler_function(ComputeAnswer(), override=True)
    with pytest.raises(ValueError, match="ComputeAnswer and ComputeOtherAnswer "
                                         "both override 'answer'"):
        profiler.register_profiler_function(ComputeOtherAnswer(),
                                            override=True)
    assert profiler.compute_status("answer") == 42


def test_an_unknown_key_is_refused_with_those_that_are_known():
    profiler = TorchProfiler(Net(), splits(8))
    profiler.register_profiler_function(ComputeAnswer())
    with pytest.raises(KeyError, match="'reply'.*known: answer"):
        profiler.compute_status("reply")


def test_two_models_are_compared_each_with_its_name(capsys):
    profiler = TorchProfiler(cifar_resnet18(), splits(), name="Teacher")
    profiler.register_profiler_function(ComputeComplexity())
    profiler.register_profiler_function(ComputeAnswer())
    student = profiler.clone(model=torchvision.models.squeezenet1_1())
    student.name = "Student"
    found = profiler.compare(student, short_print=True, batch_size=1,
                             device=Device.CPU, print_mode="debug")
    shown = capsys.readouterr().out
    assert "Value (Teacher)" in shown and "Value (Student)" in shown
    assert found["total_params"] == (11220132, 1235496,
                                     pytest.approx(11220132 / 1235496))
    assert "9.0815x" in shown
    assert found["answer"] == (42, 42, 1.0)
    assert profiler.name == "Teacher"


def test_status_keys_are_metrics():
    assert StatusKey is Metric
    assert Answer(3).get_value() == 3
