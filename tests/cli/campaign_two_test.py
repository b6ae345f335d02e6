#!/usr/bin/env python3
"""Two campaigns at once: with the same log the second is refused, naming the
process that holds it; as parts with their own logs both run and are merged.
Databases of other programs are left alone.

    tests/cli/campaign_two_test.py build/assay
"""
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(sys.argv[1])
CONFIG = """[create_network_dataset]
networks= ['squeezenet1_1']
pruning_perc= [80,90]
model_path= nets
[profile]
stage= 'inference'
profile_variables= 'memory'
bs= [1,2,3,4]
log_dir= logs
"""


def start(folder, *words):
    return subprocess.Popen(
        [PROGRAM, "campaign", *words], cwd=folder,
        env=dict(os.environ, XDG_CACHE_HOME=folder + "/cache"), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGTERM, signal.SIG_DFL))


def end(child):
    out, err = child.communicate()
    return child.returncode, out, err


def expect(what, is_so, outcome):
    if not is_so:
        sys.exit("%s: %s" % (what, outcome))


def refuse_second(folder):
    first = start(folder, "config.ini", "--threads", "1")
    for line in first.stderr:
        if line.startswith("1/8 "):
            break
    first.send_signal(signal.SIGSTOP)  # it keeps the log and does not end
    code, out, err = end(start(folder, "config.ini", "--threads", "1"))
    first.send_signal(signal.SIGCONT)
    expect("the second is refused", code == 3 and out == "", (code, out, err))
    expect("one line names the log and the first process",
           err.count("\n") == 1 and
           "logs/campaign.sqlite is in use by another campaign (pid %d)" %
           first.pid in err, err)
    first.stderr.read()
    expect("the first does not notice", first.wait() == 0, first)
    with sqlite3.connect(folder + "/logs/campaign.sqlite") as log:
        rows = log.execute("SELECT count(*), sum(passed) FROM test").fetchone()
    expect("and measured every test once", rows == (8, 8), rows)


def run_parts(folder):
    parts = [start(folder, "config.ini", "--threads", "1", "--shard",
                   "%d/2" % (i + 1)) for i in range(2)]
    for part in parts:
        outcome = end(part)
        expect("a part succeeds", outcome[0] == 0, outcome)
    code, out, err = end(start(folder, "merge", "logs"))
    expect("the parts are merged", code == 0 and
           "merged   2 logs, 8 new tests" in out, (out, err))


def leave_alone(folder):
    """Another program's database in place of the log, and of a part."""
    for name in ("campaign.sqlite", "campaign-1-of-2.sqlite"):
        path = "%s/logs/%s" % (folder, name)
        os.rename(path, path + ".own")
        with sqlite3.connect(path) as foreign:
            foreign.execute("CREATE TABLE bookmarks(url)")
        foreign.close()
        with open(path, "rb") as file:
            before = file.read()
        listed = sorted(os.listdir(folder + "/logs"))
        code, out, err = end(start(folder, "merge", "logs"))
        expect("it is refused", code == 3 and name in err and
               "database of another program" in err, (code, out, err))
        with open(path, "rb") as file:
            expect("and not changed", file.read() == before, name)
        expect("and nothing is made",
               sorted(os.listdir(folder + "/logs")) == listed, listed)
        os.rename(path + ".own", path)


def main(check, *more):
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/config.ini", "w", encoding="utf-8") as config:
            config.write(CONFIG)
        for step in (check, *more):
            step(folder)


main(refuse_second)
main(run_parts, leave_alone)
print("campaigns keep their logs apart")
