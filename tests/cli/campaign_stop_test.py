#!/usr/bin/env python3
"""A signal stops assay campaign: it ends the current test, keeps what it
measured, and learns nothing from a part; the same command continues. A signal to
the whole group, which kills the test as well, does not count as its failure.

    tests/cli/campaign_stop_test.py build/assay
"""
import os
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM = os.path.abspath(sys.argv[1])
CONFIG = """[create_network_dataset]
networks= ['squeezenet1_1']
pruning_perc= [80,90]
model_path= nets
[profile]
stage= 'inference'
profile_variables= 'memory'
bs= [1,2,3,4,5,6,7,8]
log_dir= logs
device= here
[fingerprint]
latency_model= False
"""


def start(folder):
    return subprocess.Popen(
        [PROGRAM, "campaign", "config.ini", "--threads", "1"], cwd=folder,
        env=dict(os.environ, XDG_CACHE_HOME=folder + "/cache"), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))


def expect(what, is_so, outcome):
    if not is_so:
        sys.exit("%s: %s" % (what, outcome))


def test_a_signal_to_the_group(folder):
    child = start(folder)
    for line in child.stderr:
        if line.startswith("3/16 "):
            break
    time.sleep(0.1)  # a test is running: they follow each other at once
    os.killpg(child.pid, signal.SIGTERM)
    out, err = child.communicate()
    expect("it ends with the signal", child.returncode == -signal.SIGTERM,
           (child.returncode, out, err))
    expect("nothing failed", ", 0 failed" in out and "failed," not in err,
           (out, err))


def main(folder):
    with open(folder + "/config.ini", "w") as config:
        config.write(CONFIG)
    test_a_signal_to_the_group(folder)
    child = start(folder)
    for line in child.stderr:
        if line.startswith("10/16 "):
            break
    child.send_signal(signal.SIGINT)
    out, err = child.communicate()
    expect("it ends with the signal", child.returncode == -signal.SIGINT,
           (child.returncode, out, err))
    expect("it says what is left", "run the same command to continue" in out,
           out)
    expect("the log and the CSV files are there",
           sorted(os.listdir(folder + "/logs")) == [
               "campaign.sqlite", "layers.csv", "measurements.csv",
               "network_ops.csv", "networks.csv"],
           os.listdir(folder + "/logs"))
    child = start(folder)
    out, err = child.communicate()
    expect("the same command continues", child.returncode == 0, (out, err))
    expect("with the earlier tests", ", 0 done before" not in out, out)
    expect("and has all of them", "inference memory     16 " in out, out)
    expect("and learns", "wrote  logs/here.fp" in out, out)
    print("a campaign was stopped and continued")


with tempfile.TemporaryDirectory() as scratch:
    main(scratch)
