#!/usr/bin/env python3
"""SIGKILL ends assay while it computes: its child processes end with it, and
nothing is left in the temporary folder. If a child continues, this test hangs.

    tests/cli/kill_test.py build/assay
"""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM = os.path.abspath(sys.argv[1])
CONFIG = """[create_network_dataset]
networks= ['squeezenet1_1']
pruning_perc= [90]
model_path= nets
[profile]
profile_variables= 'latency'
bs= [1,2,3,4,5,6,7,8]
log_dir= logs
"""
SMALL = ["--random", "--input", "size=64x64", "--threads", "1", "--tune", "0"]

# The command lines, and whether they compute in child processes.
COMMANDS = [
    (["run", "squeezenet1_1", *SMALL, "--sweep", "batch=1,2", "--iters",
      "100000000"], True),
    (["fit", "--synthetic", "--memory", "4GiB", "--threads", "1"], True),
    (["campaign", "config.ini", "--threads", "1"], True),
    (["layers", "squeezenet1_1", "--run", "--iters", "100000000"], False),
    (["metrics", "squeezenet1_1", "--iters", "100000000", "--threads", "1"],
     False),
]


def is_there(pid):
    """Whether it is running, which a zombie is not."""
    try:
        stat = pathlib.Path("/proc/%d/stat" % pid).read_text()
    except OSError:
        return False
    return stat.rsplit(")", 1)[1].split()[0] not in "ZX"


def children(pid):
    found = []
    for task in pathlib.Path("/proc/%d/task" % pid).glob("*/children"):
        try:
            found += [int(word) for word in task.read_text().split()]
        except OSError:
            continue  # the thread has ended
    return found


def seconds(pid):
    """Processor time that it has used."""
    try:
        fields = pathlib.Path("/proc/%d/stat" % pid).read_text()
    except OSError:
        return 0
    fields = fields.rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def expect(what, is_so, outcome):
    if not is_so:
        sys.exit("%s: %s" % (what, outcome))


def check(folder, words, has_children):
    (folder / "temporary").mkdir()
    (folder / "config.ini").write_text(CONFIG)
    child = subprocess.Popen(
        [PROGRAM, *words], cwd=folder,
        env=dict(os.environ, XDG_CACHE_HOME=str(folder / "cache"),
                 TMPDIR=str(folder / "temporary")),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    started = []
    # A child of the campaign gets little more than this on a busy machine.
    while not started or seconds(started[0]) < 0.1:
        expect("ended before it was killed", child.poll() is None, words)
        time.sleep(0.01)
        started = [child.pid] if not has_children else children(child.pid)
        started = [pid for pid in started if is_there(pid)]
    started += children(child.pid)
    child.send_signal(signal.SIGKILL)
    child.wait()
    while any(is_there(pid) for pid in started):
        time.sleep(0.01)
    left = sorted(entry.name for entry in (folder / "temporary").iterdir())
    expect("nothing is left of %s" % words, left == [], left)


for command, has_children in COMMANDS:
    with tempfile.TemporaryDirectory() as scratch:
        check(pathlib.Path(scratch), command, has_children)
print("%d commands were killed" % len(COMMANDS))
