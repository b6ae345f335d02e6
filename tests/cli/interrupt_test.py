#!/usr/bin/env python3
"""A signal stops assay run: it finishes its iteration, keeps what it measured and
ends with the signal; a second signal ends it at once, unless both came together.

    tests/cli/interrupt_test.py build/assay
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM = os.path.abspath(sys.argv[1])
PHOTO = pathlib.Path(__file__).resolve().parents[2] / "assets/coffee.jpg"


def allow_signals():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def stop(folder, signals, *options, sign="coffee_targets.jpg", apart=True):
    """Runs until a file appears, by default the first photograph that is drawn
    after an iteration, then sends the signals, each after the one before was
    noted unless they are to come together. Returns its exit code and output."""
    child = subprocess.Popen(
        [PROGRAM, "run", "faster-rcnn", str(PHOTO), "--score", "0", *options],
        cwd=folder, env=dict(os.environ, XDG_CACHE_HOME=folder + "/cache"),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=allow_signals)
    path = os.path.join(folder, sign)
    while not os.path.exists(path) and child.poll() is None:
        time.sleep(0.01)
    noted = ""
    if not apart:
        signals = [signal.SIGSTOP, *signals, signal.SIGCONT]
    for number in signals:
        child.send_signal(number)
        if apart and len(signals) > 1 and not noted:
            noted = child.stderr.readline()
            time.sleep(0.15)  # longer than signals that come together
    out, err = child.communicate()
    os.remove(path)
    return child.returncode, out, noted + err


def expect(what, is_so, outcome):
    if not is_so:
        sys.exit("%s: %s" % (what, outcome))


def files(folder):
    return sorted(name for name in os.listdir(folder) if name != "cache")


def main(folder):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        outcome = stop(folder, [number], "--min-size", "64", "--iters",
                       "1000000", "--warmup", "0")
        code, out, err = outcome
        expect("a stopped run ends with its signal", code == -number, outcome)
        expect("it says so", "of 1000000 images; the run has those" in err,
               outcome)
        expect("its screen is shown", "latency  mean" in out, outcome)
        expect("its run file is there, and nothing else",
               files(folder) == ["run.assay"], files(folder))
        shown = subprocess.run([PROGRAM, "show", "run.assay"], cwd=folder,
                               stdout=subprocess.PIPE, text=True)
        expect("the run can be shown", shown.returncode == 0 and
               "warm-up 0, measured" in shown.stdout, shown)
        os.remove(folder + "/run.assay")

    outcome = stop(folder, [signal.SIGINT, signal.SIGTERM], "--min-size", "64",
                   "--iters", "1000000", "--warmup", "0", apart=False)
    expect("signals that come together, as timeout(1) sends them, are one",
           outcome[0] == -signal.SIGINT and "latency  mean" in outcome[1] and
           files(folder) == ["run.assay"], (outcome, files(folder)))
    os.remove(folder + "/run.assay")

    # Nothing is drawn in a warm-up; the kernels are remembered after a pass.
    shutil.rmtree(folder + "/cache")
    outcome = stop(folder, [signal.SIGTERM], "--min-size", "64", "--warmup",
                   "1000000", sign="cache/assay/kernels.txt")
    code, out, err = outcome
    expect("without an iteration it ends with its signal too",
           code == -signal.SIGTERM and out == "", outcome)
    expect("and says so", "stopped before anything was measured" in err,
           outcome)
    expect("and leaves nothing", files(folder) == [], files(folder))

    # On one thread, an iteration is longer than that on any processor.
    outcome = stop(folder, [signal.SIGINT, signal.SIGINT], "--iters", "1000",
                   "--warmup", "0", "--tune", "0.01", "--threads", "1")
    code, out, err = outcome
    expect("a second signal ends it at once, without a screen",
           code == -signal.SIGINT and out == "", outcome)
    expect("without a run, but with what was recorded",
           len(files(folder)) == 1 and
           re.fullmatch(r"run\.assay\.\d+-[a-z2-7]{6}\.part",
                        files(folder)[0]), files(folder))


with tempfile.TemporaryDirectory() as scratch:
    main(scratch)
