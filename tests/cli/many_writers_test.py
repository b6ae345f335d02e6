#!/usr/bin/env python3
"""Twelve programs with one output: each succeeds and shows its own run, the last
one's files stay, complete, and nothing else is left.

    tests/cli/many_writers_test.py build/assay
"""
import json
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(sys.argv[1])
WRITERS = 12
CONFIG = """
[training]
num_workers = 1
threads = 1
checkpoint_every = 1
[model]
name = "squeezenet1_1"
weights = "random"
[dataset]
kind = "synthetic"
image_size = 32
[profile]
warmup_steps = 1
"""


def expect(what, is_so, outcome):
    if not is_so:
        sys.exit("%s: %s" % (what, outcome))


def start(folder, number, *words):
    """In a process that waits for a line, so that all begin together."""
    child = subprocess.Popen(
        ["sh", "-c", 'read go; exec "$0" "$@"', PROGRAM, *words], cwd=folder,
        env=dict(os.environ, XDG_CACHE_HOME="%s/cache-%d" % (folder, number),
                 OMP_NUM_THREADS="1"),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True)
    return child


def finish(children):
    for child in children:
        child.stdin.write("go\n")
        child.stdin.flush()
    return [(*child.communicate(), child.returncode) for child in children]


def files(folder):
    return sorted(name for name in os.listdir(folder)
                  if not name.startswith("cache-"))


def measured(text):
    """Iterations of a run that is shown as JSON."""
    run = json.loads(text)
    expect("it is complete", not run["health"]["is_incomplete"], run["health"])
    return run["runs"]["measured"]


def iterations(folder, path):
    shown = subprocess.run([PROGRAM, "show", path, "--json"], cwd=folder,
                           stdout=subprocess.PIPE, text=True)
    expect("%s can be shown" % path, shown.returncode == 0, shown)
    return measured(shown.stdout)


def check_runs(folder):
    """Each measures a different number of images, to tell the runs apart."""
    ended = finish([
        start(folder, i, "run", "squeezenet1_1", "--random", "--input",
              "size=32x32", "--warmup", "0", "--threads", "1", "--tune", "0.01",
              "--json", "--iters", str(i + 1)) for i in range(WRITERS)])
    for i, (out, err, code) in enumerate(ended):
        expect("run %d succeeds" % i, code == 0, (code, err))
        expect("run %d shows itself" % i, measured(out) == i + 1, out[:400])
    expect("one of their runs is there",
           1 <= iterations(folder, "run.assay") <= WRITERS, "")
    expect("and nothing else", files(folder) == ["run.assay"], files(folder))


def step_of(path):
    """The step after which a checkpoint was made; checks its length."""
    with open(path, "rb") as file:
        n = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(n))
    end = max(tensor["data_offsets"][1] for name, tensor in header.items()
              if name != "__metadata__")
    expect("the checkpoint is whole", os.path.getsize(path) == 8 + n + end, n)
    return int(header["__metadata__"]["step"])


def check_trainings(folder):
    with open(folder + "/config.toml", "w", encoding="utf-8") as file:
        file.write(CONFIG)
    ended = finish([
        start(folder, i, "train", "config.toml", "--tune", "0", "--steps",
              str(i + 2)) for i in range(WRITERS)])
    for i, (out, err, code) in enumerate(ended):
        expect("training %d succeeds" % i, code == 0, (code, err))
        expect("training %d shows itself" % i,
               re.search(r"measured %d\b" % (i + 1), out), out)
        expect("and its files",
               "wrote    train/run.assay" in out and "run.safetensors" in out,
               out)
    expect("a checkpoint of the last step of one of them exists",
           2 <= step_of(folder + "/train/run.safetensors") <= WRITERS + 1, "")
    expect("and a run",
           1 <= iterations(folder, "train/run.assay") <= WRITERS, "")
    expect("and nothing else", files(folder + "/train") ==
           ["run.assay", "run.safetensors"], files(folder + "/train"))


def check_killed(folder):
    """One of two is killed: the other does not notice, and what the dead one
    leaves can be shown, until a later run is finished."""
    words = ["run", "squeezenet1_1", "--random", "--input", "size=32x32",
             "--threads", "1", "--tune", "0.01", "--iters"]
    child = start(folder, 0, *words, "100000000")
    child.stdin.write("go\n")
    child.stdin.flush()
    parts = []
    while not parts:
        expect("it runs", child.poll() is None, child)
        parts = [name for name in files(folder) if name.endswith(".part")]
    while subprocess.run([PROGRAM, "show", parts[0]], cwd=folder,
                         stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL).returncode != 0:
        expect("it runs", child.poll() is None, child)
    (out, err, code), = finish([start(folder, 1, *words, "2")])
    expect("the other succeeds", code == 0, (out, err))
    expect("and leaves the one that runs alone",
           files(folder) == sorted(["run.assay"] + parts), files(folder))
    child.send_signal(signal.SIGKILL)
    child.communicate()
    left = [name for name in files(folder) if name.endswith(".part")]
    expect("a killed run leaves its part", left == parts, files(folder))
    shown = subprocess.run([PROGRAM, "show", left[0]], cwd=folder, text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    expect("which can be shown", shown.returncode == 0 and
           "WARNING  incomplete" in shown.stdout, shown)
    (out, err, code), = finish([start(folder, 1, *words, "2")])
    expect("a later run succeeds", code == 0, (out, err))
    expect("and takes its place", files(folder) == ["run.assay"],
           files(folder))


for check in (check_runs, check_trainings, check_killed):
    with tempfile.TemporaryDirectory() as scratch:
        check(scratch)
print("%d writers of one output" % WRITERS)
