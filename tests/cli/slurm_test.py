#!/usr/bin/python3
"""A campaign as an array of Slurm jobs, on a one-node Slurm that this test starts
on the loopback and stops again. It is skipped if that is not possible."""
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ASSAY = os.path.abspath(sys.argv[1])
PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"
CONFIG = """[create_network_dataset]
networks= ['mobilenetv2']
pruning_perc= [90]
model_path= nets
[profile]
dataset= cifar10
bs= [1]
stage= ['inference']
profile_variables= ['latency', 'memory']
log_dir= {logs}
"""
# Names that an #SBATCH line, a shell and Slurm's patterns would trip over.
ODD = "it's \"so\" #1 $HOME"
SIGNS = "100%j \\\\ %%"


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(done, what, seconds=60):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if done():
            return
        time.sleep(0.2)
    raise TimeoutError(what)


class Slurm:
    """munged, slurmctld and slurmd, all of them children."""

    def __init__(self, folder):
        self.folder = folder
        self.children = []
        self.env = dict(os.environ, PATH=PATH,
                        SLURM_CONF=os.path.join(folder, "slurm.conf"))

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, *words):
        log = open(self.path(words[0] + ".log"), "wb")
        self.children.append(subprocess.Popen(
            words, env=self.env, stdout=log, stderr=log,
            stdin=subprocess.DEVNULL))

    def open(self):
        with open(self.path("munge.key"), "wb") as key:
            key.write(os.urandom(128))
        os.chmod(self.path("munge.key"), 0o400)
        os.chmod(self.folder, 0o755)
        os.makedirs(self.path("spool/node"))
        with open(self.path("slurm.conf"), "w") as conf:
            conf.write(self.config())
        # What version 22, of Debian 12, does without; 23 and later look for
        # control groups, which a container may not have, unless told not to.
        if self.version() >= 23:
            with open(self.path("cgroup.conf"), "w") as conf:
                conf.write("CgroupPlugin=disabled\n")
        self.start("munged", "--foreground", "--force",
                   "--socket", self.path("munge.socket"),
                   "--key-file", self.path("munge.key"),
                   "--log-file", self.path("munge.log"),
                   "--pid-file", self.path("munge.pid"),
                   "--seed-file", self.path("munge.seed"))
        wait_until(lambda: os.path.exists(self.path("munge.socket")),
                   "munged does not start", 10)
        self.start("slurmctld", "-D")
        self.start("slurmd", "-D", "-N", "here")
        wait_until(self.is_up, "the node does not come up", 40)

    def version(self):
        """24 of "slurm-wlm 24.11.5"."""
        said = self.run("slurmd", "-V").stdout
        return int(said.split()[-1].split(".")[0])

    def config(self):
        user = "root" if os.getuid() == 0 else os.environ.get("USER", "nobody")
        return f"""ClusterName=test
SlurmctldHost={socket.gethostname()}(127.0.0.1)
SlurmctldPort={free_port()}
SlurmdPort={free_port()}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={self.path("munge.socket")}
CryptoType=crypto/munge
StateSaveLocation={self.path("spool")}
SlurmdSpoolDir={self.path("spool")}/node
SlurmctldPidFile={self.path("ctld.pid")}
SlurmdPidFile={self.path("slurmd.pid")}
SlurmctldLogFile={self.path("ctld.log")}
SlurmdLogFile={self.path("slurmd.log")}
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
NodeName=here NodeAddr=127.0.0.1 NodeHostname={socket.gethostname()} CPUs=1 State=UNKNOWN
PartitionName=all Nodes=here Default=YES MaxTime=INFINITE State=UP
"""

    def run(self, *words, cwd=None):
        return subprocess.run(words, env=self.env, cwd=cwd, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=60)

    def is_up(self):
        if any(child.poll() is not None for child in self.children):
            raise ChildProcessError("a daemon ended")
        answer = self.run("sinfo", "-h", "-o", "%t")
        return answer.returncode == 0 and "idle" in answer.stdout

    def close(self):
        for child in reversed(self.children):
            if child.poll() is None:
                child.send_signal(signal.SIGTERM)
        for child in self.children:
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


def check(slurm, work, logs):
    with open(os.path.join(work, "config.ini"), "w") as config:
        config.write(CONFIG.format(logs=logs))
    dry = slurm.run(ASSAY, "campaign", "config.ini", "--launcher", "slurm",
                    "--shards", "2", "--dry-run", cwd=work)
    assert "#SBATCH --array=1-2" in dry.stdout, dry.stdout
    answer = slurm.run(ASSAY, "campaign", "config.ini", "--launcher", "slurm",
                       "--shards", "2", cwd=work)
    assert answer.returncode == 0, answer.stdout
    assert "Submitted batch job" in answer.stdout, answer.stdout
    wait_until(lambda: not slurm.run("squeue", "-h").stdout.strip(),
               "the jobs do not end", 120)
    merged = slurm.run(ASSAY, "campaign", "merge", logs, cwd=work)
    assert "2 logs, 2 new tests" in merged.stdout, merged.stdout + "".join(
        open(os.path.join(work, logs, name)).read()
        for name in os.listdir(os.path.join(work, logs))
        if name.endswith(".txt"))
    for part in "12":
        assert os.path.exists(os.path.join(work, logs, f"slurm-{part}.txt"))
    rows = open(os.path.join(work, logs, "measurements.csv")).read()
    assert rows.splitlines()[1].startswith("mobilenetv2,90,1,inference,0,1,1,1")
    print("a campaign of two jobs ran and was merged")


for program in ("munged", "slurmctld", "slurmd", "sbatch"):
    if not shutil.which(program, path=PATH):
        skip(f"there is no {program}; slurm-wlm and munge have it")
with tempfile.TemporaryDirectory(dir="/tmp") as scratch:
    cluster = Slurm(os.path.join(scratch, "slurm"))
    os.mkdir(cluster.folder)
    os.chmod(scratch, 0o755)
    try:
        try:
            cluster.open()
        except (TimeoutError, ChildProcessError, OSError) as why:
            for daemon in ("munged.log", "ctld.log", "slurmd.log"):
                if os.path.exists(cluster.path(daemon)):
                    lines = open(cluster.path(daemon), errors="replace")
                    print("".join(lines.readlines()[-4:]))
            skip(f"Slurm cannot be started here: {why}")
        check(cluster, scratch, "logs")
        for name in (ODD, SIGNS):
            odd = os.path.join(scratch, name)
            os.mkdir(odd)
            check(cluster, odd, f"logs of {name}")
    finally:
        cluster.close()
