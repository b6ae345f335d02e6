#!/usr/bin/env python3
"""A signal stops assay train: it finishes its step, keeps what it measured and a
checkpoint, and ends with the signal; a second training continues from there.

    tests/cli/train_stop_test.py build/assay
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM = os.path.abspath(sys.argv[1])
CONFIG = """
[training]
num_workers = 1
threads = 1
checkpoint_every = 3
[model]
name = "squeezenet1_1"
weights = "random"
[dataset]
kind = "synthetic"
image_size = 64
[profile]
warmup_steps = 1
"""


def allow_signals():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def ignore_hangups():
    """As nohup does."""
    allow_signals()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def train(folder, *options, prepare=allow_signals):
    return subprocess.Popen(
        [PROGRAM, "train", "--tune", "0", *options], cwd=folder,
        env=dict(os.environ, XDG_CACHE_HOME=folder + "/cache"),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=prepare)


def expect(what, is_so, outcome):
    if not is_so:
        sys.exit("%s: %s" % (what, outcome))


def stop(folder, number):
    """Sends the signal once a checkpoint exists, after measured steps. Returns
    the last step."""
    child = train(folder, "--steps", "1000000")
    while not os.path.exists(folder + "/train/run.safetensors") and \
            child.poll() is None:
        time.sleep(0.01)
    child.send_signal(number)
    out, err = child.communicate()
    outcome = (child.returncode, out, err)
    expect("a stopped training ends with its signal",
           child.returncode == -number, outcome)
    said = re.search(r"stopped after step (\d+); --resume "
                     r"train/run.safetensors continues from there\n", err)
    expect("it says so, with its checkpoint", said is not None, outcome)
    expect("its screen is shown", re.search(r"\nstep +[0-9.]+ ms = ", out),
           outcome)
    expect("run and checkpoint are there, and nothing else",
           sorted(os.listdir(folder + "/train")) ==
           ["run.assay", "run.safetensors"], os.listdir(folder + "/train"))
    expect("the screen says how to continue",
           "\nnext     assay train --resume train/run.safetensors --steps N" in
           out, outcome)
    return int(said.group(1))


def resume(folder, last):
    """Two more steps, the first of which is warm-up; then nothing is left."""
    steps = str(last + 2)
    child = train(folder, "--resume", "train/run.safetensors", "--steps", steps,
                  "--workers", "1")
    out, err = child.communicate()
    outcome = (child.returncode, out, err)
    expect("options that are needed to continue are not forgotten",
           "\nnext     the same command with --resume " in out, outcome)
    expect("it continues", child.returncode == 0 and
           "resumed after step %d of %s" % (last, steps) in out, outcome)
    expect("with the next step",
           "  step %d/%s  " % (last + 1, steps) in err, outcome)
    child = train(folder, "--resume", "train/run.safetensors", "--steps", steps)
    out, err = child.communicate()
    expect("and refuses what is done", child.returncode == 2 and
           "has already made %s steps" % steps in err, (out, err))


def outlast(folder):
    """A training that ignores hang-ups survives one, even while it stops."""
    path = folder + "/train/run.safetensors"
    os.remove(path)
    child = train(folder, "--steps", "1000000", prepare=ignore_hangups)
    for _ in range(2):
        while not os.path.exists(path) and child.poll() is None:
            time.sleep(0.01)
        expect("it continues", child.poll() is None, child)
        child.send_signal(signal.SIGHUP)
        os.remove(path)
    child.send_signal(signal.SIGTERM)
    child.send_signal(signal.SIGHUP)
    out, err = child.communicate()
    expect("and stops properly with another signal",
           child.returncode == -signal.SIGTERM and
           os.path.exists(path) and "\nstep " in out, (out, err))


def main(folder):
    os.mkdir(folder + "/.config")
    with open(folder + "/.config/config.toml", "w", encoding="utf-8") as file:
        file.write(CONFIG)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        last = stop(folder, number)
        if number == signal.SIGHUP:
            resume(folder, last)
        os.remove(folder + "/train/run.safetensors")
    train(folder, "--steps", "2").communicate()
    outlast(folder)


with tempfile.TemporaryDirectory() as scratch:
    main(scratch)
