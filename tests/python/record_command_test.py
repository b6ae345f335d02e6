"""assay record: starts a program, records it, and ends as it did."""
import os
import signal
import subprocess
import sys
import textwrap

import pytest
from programs import WAIT_UNTIL_SAVED

from assay import _native

PROGRAM = os.environ["ASSAY_PROGRAM"]
TRAIN = """
    import os, signal, sys, time, torch
    from torch import nn
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    rate = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(5):
        rate.zero_grad()
        model(torch.ones(3, 4)).sum().backward()
        rate.step()
    print("arguments", sys.argv[1:], __name__, flush=True)
"""


def start(tmp_path, program, *words, before=(), **variables):
    (tmp_path / "program.py").write_text(textwrap.dedent(program))
    return subprocess.Popen(
        [PROGRAM, "record", *before, "--", sys.executable, "program.py",
         *words], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, env={**os.environ, **variables})


def record(tmp_path, program, *words, **options):
    process = start(tmp_path, program, *words, **options)
    out, err = process.communicate()
    return process.returncode, out, err


def n_iterations(path):
    run = _native.read(path)
    assert not any(run["health"].values())
    return run["iterations"]


def test_a_program_runs_as_it_is_and_ends_on_the_summary(tmp_path):
    code, out, err = record(tmp_path, TRAIN, "--epochs", "1")
    assert (code, err) == (0, "")
    assert "arguments ['--epochs', '1'] __main__" in out
    screen = out[out.index("arguments"):]
    for word in ("model    Sequential", "step  ", "forward", "backward",
                 "optimizer", "wrote    run.assay"):
        assert word in screen
    assert n_iterations(tmp_path / "run.assay") == 5


@pytest.mark.parametrize("end, code", [
    ("sys.exit(7)", 7), ("raise LookupError('of the program')", 1)])
def test_the_exit_code_is_the_programs_and_the_run_is_kept(tmp_path, end, code):
    found, out, err = record(tmp_path, TRAIN + "    " + end, before=["--quiet"])
    assert found == code
    assert "median" not in out
    assert n_iterations(tmp_path / "run.assay") == 5


def test_an_interrupt_reaches_the_program_and_the_run_is_complete(tmp_path):
    process = start(tmp_path, TRAIN + "    time.sleep(100)")
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == -signal.SIGINT
    assert "KeyboardInterrupt" in err and "wrote    run.assay" in out
    assert n_iterations(tmp_path / "run.assay") == 5


@pytest.mark.parametrize("end, code", [
    ("os._exit(0)", 0), ("os.kill(os.getpid(), signal.SIGKILL)", 137),
    ("os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM)])
def test_a_killed_program_leaves_what_it_recorded(tmp_path, end, code):
    """What was recorded some seconds ago is in the file."""
    found, out, err = record(tmp_path, TRAIN + WAIT_UNTIL_SAVED + "    " + end)
    assert found == code
    (part,) = tmp_path.glob("run.assay.*part")
    assert f"what it had recorded is in {part.name}" in err
    assert "backward" in out
    assert _native.read(part)["health"]["is_incomplete"] == 1
    assert not (tmp_path / "run.assay").exists()


def test_a_program_without_pytorch_is_no_failure(tmp_path):
    """A run that was there before is not taken for its own."""
    record(tmp_path, TRAIN, before=["--quiet"])
    before = (tmp_path / "run.assay").read_bytes()
    code, out, err = record(tmp_path, "print('done')")
    assert (code, out) == (0, "done\n")
    assert "nothing was recorded" in err and err.count("\n") == 1
    assert (tmp_path / "run.assay").read_bytes() == before


def test_the_file_is_where_it_was_asked_for(tmp_path):
    code, out, err = record(tmp_path, "import os; os.chdir('/')"
                            + textwrap.dedent(TRAIN),
                            before=["-o", "own.assay", "--warm-up", "2"])
    assert code == 0, err
    assert n_iterations(tmp_path / "own.assay") == 3


def test_settings_reach_the_recording(tmp_path):
    record(tmp_path, TRAIN, before=["--no-backward", "--quiet"])
    run = _native.read(tmp_path / "run.assay")
    assert not any(scope["name"] == "backward" for scope in run["scopes"])


def test_the_program_and_its_children_see_their_own_environment(tmp_path):
    """Another sitecustomize is imported as without us."""
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "sitecustomize.py").write_text("MARK = 'theirs'\n")
    paths = os.pathsep.join([str(tmp_path / "own"),
                             os.environ.get("PYTHONPATH", "")])
    code, out, err = record(tmp_path, """
    import os, subprocess, sys, sitecustomize, torch
    show = "import os; print(os.environ.get('PYTHONPATH'))"
    print("mark", sitecustomize.MARK, "ASSAY_RECORD" in os.environ)
    print("own", os.environ["PYTHONPATH"], flush=True)
    subprocess.run([sys.executable, "-c", show])
    print([path for path in sys.path if "assay" in path and "start" in path])
    """, PYTHONPATH=paths)
    assert code == 0, err
    assert "mark theirs False\n" in out
    assert f"own {paths}\n{paths}\n[]\n" in out


def test_processes_of_a_recorded_program_do_not_record(tmp_path):
    code, out, err = record(tmp_path, """
    import torch
    class Data(torch.utils.data.Dataset):
        def __len__(self):
            return 4
        def __getitem__(self, i):
            return torch.ones(4)
    if __name__ == "__main__":
        model = torch.nn.Linear(4, 2)
        for batch in torch.utils.data.DataLoader(
                Data(), batch_size=2, num_workers=1,
                multiprocessing_context="spawn"):
            model(batch)
    """)
    assert (code, err) == (0, "")
    assert n_iterations(tmp_path / "run.assay") == 2
    assert not list(tmp_path.glob("*.part"))


def test_peaks_measured_before_are_part_of_the_run(tmp_path):
    program = TRAIN.replace("from torch import nn",
                            "from torch import nn; torch.set_num_threads(1)")
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert record(tmp_path, program, **cache)[0] == 0
    facts = _native.read(tmp_path / "run.assay")["facts"]
    assert "machine.peak_gflops" not in facts
    subprocess.run([PROGRAM, "machine", "--threads", "1"], check=True,
                   stdout=subprocess.DEVNULL, env={**os.environ, **cache})
    assert record(tmp_path, program, **cache)[0] == 0
    facts = _native.read(tmp_path / "run.assay")["facts"]
    assert float(facts["machine.peak_gflops"]) > 0
    assert n_iterations(tmp_path / "run.assay") == 5


def test_workers_of_a_launcher_have_a_run_each(tmp_path):
    """The launcher imports PyTorch, too, and starts the workers with a rank."""
    (tmp_path / "worker.py").write_text(textwrap.dedent(TRAIN))
    (tmp_path / "torchrun").write_text(textwrap.dedent("""
        import os, subprocess, sys, torch
        workers = [subprocess.Popen([sys.executable, "worker.py"],
                                    env={**os.environ, "RANK": str(rank),
                                         "WORLD_SIZE": "2"})
                   for rank in range(2)]
        sys.exit(max(worker.wait() for worker in workers))
    """))
    done = subprocess.run(
        [PROGRAM, "record", "--", sys.executable, "torchrun"], cwd=tmp_path,
        capture_output=True, text=True, check=True)
    assert done.stdout.count("arguments") == 2 and done.stderr == ""
    assert n_iterations(tmp_path / "run.assay") == 5
    assert n_iterations(tmp_path / "run.rank1.assay") == 5


def test_a_pytorch_that_is_too_old_is_one_sentence(tmp_path):
    (tmp_path / "torch.py").write_text("__version__ = '1.9.1'\n")
    code, out, err = record(tmp_path, "import torch; print('reached')")
    assert (code, out) == (3, "")
    assert err == "assay: Assay needs PyTorch 1.10 or later; this is 1.9.1\n"


@pytest.mark.parametrize("words, code, sentence", [
    ([], 2, "missing a program"),
    (["--", "no-such-program"], 3,
     "cannot run 'no-such-program': there is no such program on the path"),
    (["--", "no/such/program"], 3,
     "cannot run 'no/such/program': there is no such file"),
    (["-o", "no/run.assay", "--", "true"], 3, "no/run.assay"),
    (["-o", "-", "--", "true"], 2, "run")])
def test_what_cannot_work_is_said_before_the_program_starts(tmp_path, words,
                                                            code, sentence):
    done = subprocess.run([PROGRAM, "record", *words], cwd=tmp_path, text=True,
                          capture_output=True, check=False)
    assert done.returncode == code
    assert sentence in done.stderr and done.stderr.count("\n") == 1
