"""python -m assay: programs recorded as they are, however they end."""
import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from programs import WAIT_UNTIL_SAVED

from assay import _native

TRAIN = """
    import sys, torch
    from torch import nn
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    rate = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(5):
        rate.zero_grad()
        model(torch.ones(3, 4)).sum().backward()
        rate.step()
    print("arguments", sys.argv[1:], __name__, flush=True)
"""


def start(tmp_path, program, *words, before=(), **options):
    (tmp_path / "program.py").write_text(textwrap.dedent(program))
    return subprocess.Popen(
        [sys.executable, "-m", "assay", *before, "program.py", *words],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, **options)


def finish(process):
    out, err = process.communicate()
    return process.returncode, out, err


def test_a_program_runs_as_it_is_and_ends_on_the_summary(tmp_path):
    code, out, err = finish(start(tmp_path, TRAIN, "--epochs", "1"))
    assert code == 0, err
    assert "arguments ['--epochs', '1'] __main__" in out
    assert "Sequential" in out and "backward" in out and "optimizer" in out
    run = _native.read(tmp_path / "run.assay")
    assert run["iterations"] == 5
    assert run["facts"]["model.parameters"] == "58"
    assert not any(run["health"].values())


def test_the_programs_failure_is_its_own_and_the_run_is_kept(tmp_path):
    code, out, err = finish(start(tmp_path, TRAIN + """
    sys.exit(7)
    """))
    assert code == 7
    assert _native.read(tmp_path / "run.assay")["iterations"] == 5
    code, out, err = finish(start(tmp_path, TRAIN + """
    raise LookupError("of the program")
    """, before=("-o", "other.assay", "--quiet")))
    assert code == 1 and "LookupError: of the program" in err
    assert "median" not in out
    assert _native.read(tmp_path / "other.assay")["iterations"] == 5


def test_an_interrupt_ends_with_a_complete_run(tmp_path):
    process = start(tmp_path, TRAIN + """
    import time
    time.sleep(100)
    """)
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    code, out, err = finish(process)
    assert code != 0 and "KeyboardInterrupt" in err
    assert _native.read(tmp_path / "run.assay")["iterations"] == 5


@pytest.mark.parametrize("end", ["os._exit(0)",
                                 "os.kill(os.getpid(), signal.SIGKILL)"])
def test_a_killed_program_leaves_a_part_file(tmp_path, end):
    """What was recorded some seconds ago is in it."""
    finish(start(tmp_path, TRAIN + WAIT_UNTIL_SAVED + "    " + end))
    assert not (tmp_path / "run.assay").exists()
    (part,) = tmp_path.glob("run.assay.*part")
    run = _native.read(part)
    assert run["health"]["is_incomplete"] == 1
    assert any(scope["name"] == "backward" for scope in run["scopes"])


def test_forked_and_spawned_children_do_not_disturb(tmp_path):
    code, out, err = finish(start(tmp_path, """
    import multiprocessing, torch
    model = torch.nn.Linear(2, 2)

    def work(queue):
        queue.put(model(torch.ones(1, 2)).sum().item() is not None)

    if __name__ == "__main__":
        torch.set_num_threads(1)
        model(torch.ones(1, 2))
        for method in ("fork", "spawn"):
            context = multiprocessing.get_context(method)
            queue = context.Queue()
            child = context.Process(target=work, args=(queue,))
            child.start()
            print(method, queue.get())
            child.join()
        model(torch.ones(1, 2))
    """))
    assert code == 0, err
    assert "fork True" in out and "spawn True" in out
    run = _native.read(tmp_path / "run.assay")
    calls = [s["calls"] for s in run["scopes"] if s["class"] == "Linear"]
    assert calls == [2]


def test_a_module_can_be_run_too(tmp_path):
    (tmp_path / "program.py").write_text(textwrap.dedent(TRAIN))
    done = subprocess.run(
        [sys.executable, "-m", "assay", "--quiet", "-m", "program", "x"],
        cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "arguments ['x'] __main__" in done.stdout
    assert _native.read(tmp_path / "run.assay")["iterations"] == 5


def test_peaks_measured_before_are_part_of_the_run(tmp_path):
    program = TRAIN.replace("from torch import nn",
                            "from torch import nn; torch.set_num_threads(1)")
    place = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    before = ("--quiet",)
    assert finish(start(tmp_path, program, before=before, env=place))[0] == 0
    facts = _native.read(tmp_path / "run.assay")["facts"]
    assert "machine.peak_gflops" not in facts
    subprocess.run(["assay", "machine", "--threads", "1"], check=True,
                   stdout=subprocess.DEVNULL, env=place)
    assert finish(start(tmp_path, program, before=before, env=place))[0] == 0
    run = _native.read(tmp_path / "run.assay")
    assert float(run["facts"]["machine.peak_gflops"]) > 0
    assert run["iterations"] == 5


def test_the_roofline_has_the_arithmetic_of_the_modules(tmp_path):
    """Also with gradients, where outputs are kept for the backward pass."""
    assert finish(start(tmp_path, TRAIN, before=("--quiet",)))[0] == 0
    text = subprocess.run(["assay", "show", "--json", "run.assay"],
                          cwd=tmp_path, capture_output=True, check=True).stdout
    found = {scope["path"]: scope for scope in json.loads(text)["tree"]}
    for path, n_flops, n_bytes in [("forward.0", 2 * 96, 4 * (12 + 40 + 24)),
                                   ("forward.1", 24, 4 * 48),
                                   ("backward.0", 2 * 96, 4 * (24 + 12 + 40))]:
        assert found[path]["done_flops"] == n_flops
        assert found[path]["done_bytes"] == n_bytes


def test_peaks_are_added_to_run_files_only(tmp_path):
    (tmp_path / "text.assay").write_text("no run")
    done = subprocess.run(["assay", "machine", "--add-to", "text.assay"],
                          cwd=tmp_path, capture_output=True, text=True,
                          check=False)
    assert done.returncode != 0 and "text.assay" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert (tmp_path / "text.assay").read_text() == "no run"


def say(tmp_path, *words, **environment):
    done = subprocess.run([sys.executable, "-m", "assay", *words],
                          cwd=tmp_path, capture_output=True, text=True,
                          env={**os.environ, **environment}, check=False)
    return done.returncode, done.stderr


def test_wrong_usage_is_one_sentence(tmp_path):
    assert say(tmp_path, "nothing.py") == (
        3, "assay: cannot read nothing.py: there is no such file\n")
    code, text = say(tmp_path)
    assert code == 2 and "missing a script to run" in text
    (tmp_path / "empty.py").write_text("")
    code, text = say(tmp_path, "-o", "no/run.assay", "empty.py")
    assert code == 3 and text.count("\n") == 1 and "no/run.assay" in text


@pytest.mark.parametrize("torch, sentence", [
    ("raise ImportError('not here')", "torch cannot be imported here: not here"),
    ("__version__ = '1.9.1'", "needs PyTorch 1.10 or later; this is 1.9.1")])
def test_a_missing_or_old_torch_is_said(tmp_path, torch, sentence):
    (tmp_path / "torch.py").write_text(torch + "\n")
    (tmp_path / "empty.py").write_text("")
    paths = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    code, text = say(tmp_path, "empty.py", PYTHONPATH=paths)
    assert code == 3
    assert text.count("\n") == 1 and sentence in text


def test_an_environment_with_numpy_alone(tmp_path):
    """What needs no PyTorch works, what needs it is one sentence."""
    run = tmp_path / "run.assay"
    assert finish(start(tmp_path, TRAIN, before=("--quiet",)))[0] == 0
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(f"""
        import sys
        sys.modules["torch"] = None
        import numpy
        import assay.profiler
        from assay import _native
        print(numpy.ones(_native.read({str(run)!r})["iterations"]).sum())
        for need in (lambda: assay.ModelTiming(numpy.sin).__enter__(),
                     lambda: assay.recording({str(run)!r}).start(),
                     lambda: assay.profiler.TorchProfiler(
                         numpy.sin, {{}}).compute_network_status()):
            try:
                need()
            except ImportError as error:
                print(error)
        """)], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert lines[0] == "5.0"
    assert len(lines) == 4 and all("torch cannot be imported here" in line
                                   for line in lines[1:])


def test_importing_assay_does_not_import_torch():
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c",
         "import assay, sys; print(assay.__version__, 'torch' in sys.modules)"],
        capture_output=True, text=True, check=True)
    assert done.stdout.split()[1] == "False" and done.stderr == ""


def test_a_python_without_its_lock_is_refused_in_one_sentence():
    done = subprocess.run(
        [sys.executable, "-c", "import sysconfig\n"
         "sysconfig.get_config_vars()['Py_GIL_DISABLED'] = 1\n"
         "import assay"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "ImportError: assay needs Python's lock" in done.stderr
