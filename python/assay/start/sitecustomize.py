"""Python imports this file first in every program that `assay record` starts:
its folder is at the head of PYTHONPATH then. Another sitecustomize, which the
system or the user may have, is imported afterwards."""
import importlib
import os
import sys


def _same_place(path):
    return os.path.abspath(path or ".") == os.path.dirname(
        os.path.abspath(__file__))


def _arm():
    try:
        from assay import launch
    except ImportError:  # not installed for this Python: take it from here
        home = os.path.dirname(os.path.dirname(os.path.dirname(
            os.path.abspath(__file__))))
        sys.path.append(home)
        try:
            from assay import launch
        finally:
            sys.path.remove(home)
    launch.arm()


def _import_next():
    own = sys.modules.pop(__name__, None)
    try:
        importlib.import_module(__name__)
    except ImportError as error:
        if error.name != __name__:
            raise
    finally:
        if own is not None:
            sys.modules.setdefault(__name__, own)


sys.path[:] = [path for path in sys.path if not _same_place(path)]
if "ASSAY_RECORD" in os.environ:
    _arm()
_import_next()
