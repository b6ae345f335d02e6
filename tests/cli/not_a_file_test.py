#!/usr/bin/env python3
"""A pipe that nobody writes to, a socket, a device or a folder instead of a file:
one line that names it, exit code 3, and no waiting. If a command waits, this test
hangs.

    tests/cli/not_a_file_test.py build/assay
"""
import os
import socket
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(sys.argv[1])
TREE = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
PHOTO = TREE + "/assets/coffee.jpg"

# {} is what is not a file; it has the ending that the command expects.
READERS = [
    ("run.assay", "show {}"),
    ("run.assay", "trace {} -o trace.json"),
    ("run.assay", "report {} -o report.html"),
    ("run.assay", "plot {} -o plot.png"),
    ("run.assay", "tensorboard {} -o events"),
    ("run.assay", "compare {} {}"),
    ("photo.jpg", "run resnet18 {} --iters 1 --warmup 0 --tune 0.01"),
    ("list.txt", "run resnet18 {} --iters 1"),
    ("names.txt", "run resnet18 --random --labels {} --iters 1"),
    ("w.pth", "run resnet18 --random --weights {} --iters 1"),
    ("m.onnx", "run {} --iters 1"),
    ("m.net", "run {} --iters 1"),
    ("m.keras", "run {} --iters 1"),
    ("m.h5", "layers {}"),
    ("w.safetensors", "weights show {}"),
    ("w.safetensors", "weights check {} resnet18"),
    ("config.toml", "train {}"),
    ("past.safetensors", "train --synthetic --resume {} --steps 9"),
    ("config.toml", "fit {} --memory 1GiB"),
    ("config.ini", "campaign {}"),
    ("logs/campaign-1-of-2.sqlite", "campaign merge logs"),
    ("device.fp", "fingerprint show {}"),
    ("device.fp", "predict resnet18 --on {}"),
    ("data/layers.csv", "fingerprint fit --data data -o out.fp"),
    ("instances.json", "data show {} --dataset coco"),
    ("data/data_batch_1.bin", "data show data --dataset cifar10"),
    ("sums.txt", "data fetch oxford-iiit-pet --sums {} --url http://[::1]:1"),
    ("metric.so", "metrics resnet18 --no-weights --metric {}"),
    ("budgets.toml", "compare {run} {run} --budgets {}"),
]


def make(kind, path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        server = socket.socket(socket.AF_UNIX)
        server.bind(path)
        server.close()
    elif kind == "device":
        os.symlink("/dev/zero", path)
    else:
        os.mkdir(path)


def run(folder, command):
    environment = dict(os.environ, XDG_CACHE_HOME=folder + "/cache")
    return subprocess.run([PROGRAM] + command.split(), cwd=folder,
                          env=environment, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def main(top):
    n_failed = 0
    for kind in ("pipe", "socket", "device", "folder"):
        for number, (name, words) in enumerate(READERS):
            folder = "%s/%s-%d" % (top, kind, number)
            make(kind, "%s/%s" % (folder, name))
            if "{run}" in words:
                run(folder, "import %s/tests/cli/inputs/steady.json -o ok.assay"
                    % TREE)
            if kind == "folder" and ("photo.jpg" in name or
                                     "--dataset coco" in words or
                                     "metric.so" in name):
                continue  # these take folders
            ended = run(folder, words.replace("{run}", "ok.assay")
                        .replace("{}", name))
            lines = ended.stderr.strip().split("\n")
            if (ended.returncode != 3 or
                    os.path.basename(name) not in lines[-1] or
                    not any(word in lines[-1] for word in
                            ("regular file", "folder", "Is a directory"))):
                n_failed += 1
                print("%s as %s: assay %s: exit %d, %s" %
                      (kind, name, words, ended.returncode, lines))
    if n_failed:
        sys.exit("%d commands accepted what is not a file" % n_failed)
    print("%d inputs, four kinds of non-files" % len(READERS))


with tempfile.TemporaryDirectory() as scratch:
    main(scratch)
