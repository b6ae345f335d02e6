"""Assay: what a vision model costs, in your own PyTorch program.

    from assay import ModelTiming

    with ModelTiming(model, pre_transforms, post_transforms) as timing:
        ...
    print(timing.summarize_tree())

records the modules of a model and the transforms around it. `recording()`
records everything: modules forward and backward, optimizers and data loaders.
So does `python -m assay train.py`, without any change of the program.
`assay.profiler` computes the metrics of models. PyTorch is imported when
something of it is needed, not by `import assay`.
"""
import sysconfig

if sysconfig.get_config_var("Py_GIL_DISABLED"):
    raise ImportError("assay needs Python's lock; builds of Python without it "
                      "(free-threaded ones) are not supported")

from assay._native import version as __version__  # noqa: E402

__all__ = ["ModelTiming", "Recording", "TimingData", "recording"]

_HOMES = {"ModelTiming": "timing", "TimingData": "timing",
          "Recording": "record", "recording": "record"}


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module 'assay' has no attribute '{name}'")
    import importlib
    home = importlib.import_module(f"assay.{_HOMES[name]}")
    return getattr(home, name)


def __dir__():
    return sorted([*globals(), *_HOMES])
