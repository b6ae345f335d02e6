#!/usr/bin/env python3
"""SIGKILL ends assay train at whatever moment: the last checkpoint is whole and
continues, its event file has every step up to then, what was recorded can be
shown, and nothing else is left.

    tests/cli/train_kill_test.py build/assay
"""
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import time

PROGRAM = os.path.abspath(sys.argv[1])
CONFIG = """
[training]
num_workers = 2
threads = 1
checkpoint_every = 2
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
        sys.exit("train_kill_test: %s: %s" % (what, outcome))


def train(folder, *options):
    return subprocess.Popen(
        [PROGRAM, "train", "--tune", "0", "--tensorboard", "runs", *options],
        cwd=folder, env=dict(os.environ, XDG_CACHE_HOME=str(folder / "cache")),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def steps_of(path):
    """The steps of the events with a loss, in order; a last record that is cut
    does not count."""
    data, at, steps = path.read_bytes(), 0, []
    while at + 12 <= len(data):
        size = struct.unpack_from("<Q", data, at)[0]
        event = data[at + 12:at + 12 + size]
        if at + 16 + size > len(data):
            break
        at += 16 + size
        if b"train/loss" in event and b"train/loss_" not in event:
            # field 1 is the time, 8 bytes; field 2 the step
            expect("events have a time and a step",
                   event[0] == 0x09 and event[9] == 0x10, event)
            steps.append(varint(event, 10)[0])
    return steps


def mark(path):
    return path.stat().st_mtime_ns if path.exists() else 0


def check_left(folder):
    """The checkpoint, and what was recorded, which can be shown."""
    names = sorted(entry.name for entry in (folder / "train").iterdir())
    expect("a checkpoint is there", names.pop() == "run.safetensors", names)
    expect("and at most a recording", len(names) <= 1 and
           all(name.startswith("run.assay.") and name.endswith(".part")
               for name in names), names)
    for name in names:
        shown = subprocess.run([PROGRAM, "show", "train/" + name], cwd=folder,
                               capture_output=True, text=True, check=False)
        expect("which can be shown", shown.returncode == 0,
               (shown.returncode, shown.stdout, shown.stderr))
        (folder / "train" / name).unlink()


def kill(folder, delay, *options):
    """Kills it so long after its next checkpoint; returns the steps seen."""
    checkpoint = folder / "train/run.safetensors"
    before, files = mark(checkpoint), set(folder.glob("runs/run/*"))
    child = train(folder, "--steps", "1000000", *options)
    while mark(checkpoint) == before and child.poll() is None:
        time.sleep(0.002)
    time.sleep(delay)
    expect("it ended by itself", child.poll() is None, child.poll())
    child.send_signal(signal.SIGKILL)
    child.communicate()
    check_left(folder)
    new = set(folder.glob("runs/run/*")) - files
    expect("a training has an event file of its own", len(new) == 1, new)
    steps = steps_of(new.pop())
    expect("the events of every step are there, in order",
           steps and steps == list(range(steps[0], steps[0] + len(steps))),
           steps)
    return steps


def resume(folder, least):
    """Two more steps than what the checkpoint has; returns what it had."""
    child = train(folder, "--resume", "train/run.safetensors", "--steps",
                  str(least + 1000000), "--threads", "1")
    first = None
    for line in child.stderr:
        if "step " in line:
            first = int(line.split("step ")[1].split("/")[0])
            break
    child.send_signal(signal.SIGKILL)
    child.communicate()
    return first


def main(folder):
    (folder / ".config").mkdir()
    (folder / ".config/config.toml").write_text(CONFIG)
    steps = kill(folder, 0)
    expect("the first step is warm-up, and there", steps[0] == 1, steps)
    for delay in (0.01, 0.05, 0.13):
        seen = kill(folder, delay, "--resume", "train/run.safetensors")
        expect("it continues after a checkpoint",
               seen[0] % 2 == 1 and 1 < seen[0] <= steps[-1] + 1,
               (steps, seen))
        steps = seen
    first = resume(folder, steps[-1])
    expect("and once more", first is not None and first % 2 == 1 and
           first <= steps[-1] + 1, (steps, first))
    print("a training that is killed loses nothing that it had written")


with tempfile.TemporaryDirectory() as scratch:
    main(pathlib.Path(scratch))
