#!/usr/bin/env python3
"""What `run`, `train` and `show` print fits 80x24 with room for a prompt,
whatever the model is, and --full prints more.

    tests/cli/brief_test.py build/assay
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unicodedata

COLUMNS = 80
LINES = 23  # and the prompt

program = os.path.realpath(sys.argv.pop(1))
tree = pathlib.Path(__file__).resolve().parents[2]
photo = tree / "assets" / "coffee.jpg"
data = tree.parent / "shared" / "data"
yolov8n = data / "models" / "onnx" / "yolov8n" / "model.onnx"
dog = data / "photos" / "darknet" / "dog.jpg"

QUICK = ["--iters", "2", "--warmup", "0", "--tune", "0.01"]
CASES = {
    "a detector": ["run", "faster-rcnn", photo, "--min-size", "64", *QUICK],
    "a detector that draws": ["run", "faster-rcnn", photo, "--min-size", "64",
                              "--score", "0", *QUICK],
    "a classifier": ["run", "resnet18", photo, *QUICK],
    "random inputs": ["run", "squeezenet1_1", "--random", *QUICK],
    "a flat ONNX model": ["run", yolov8n, dog, "--decode", "yolov8", *QUICK],
    "a training": ["train", "--synthetic", "--steps", "2", "--min-size", "64",
                   "--batch", "1", "--tune", "0.01"],
}


def columns(line):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1
               for c in line)


def screen(folder, command):
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "COLUMNS": str(COLUMNS),
                   "NO_COLOR": "1"}
    done = subprocess.run([program, *map(str, command)], cwd=folder,
                          env=environment, capture_output=True, text=True)
    assert done.returncode == 0, (command, done.stderr)
    # A training shows its settings first, and its summary when it is over.
    return done.stdout.rpartition("\n\nmodel ")[1].lstrip("\n") + \
        done.stdout.rpartition("\n\nmodel ")[2]


def check_fits(name, text):
    lines = text.splitlines()
    wide = [line for line in lines if columns(line) > COLUMNS]
    assert len(lines) <= LINES, f"{name}: {len(lines)} lines:\n{text}"
    assert not wide, f"{name}: too wide:\n" + "\n".join(wide)
    for label in ("model", "machine", "latency", "memory", "next"):
        assert any(line.startswith(label + " ") for line in lines), (
            f"{name}: no line '{label}':\n{text}")
    assert any(line.startswith(("module ", "class ")) for line in lines), text


def check_case(name, command):
    missing = [word for word in command
               if isinstance(word, pathlib.Path) and not word.exists()]
    if missing:
        print(f"skipped: {name}: {missing[0]} is missing")
        return
    with tempfile.TemporaryDirectory() as folder:
        check_fits(name, screen(folder, command))
        run = "train/run.assay" if command[0] == "train" else "run.assay"
        brief = screen(folder, ["show", run])
        full = screen(folder, ["show", run, "--full"])
        check_fits("show after " + name, brief)
        assert full.count("\n") > brief.count("\n"), name
        if name == "a flat ONNX model":
            for text in (brief, full):
                assert "\nclass " in text and "\nConv2d " in text, text


for name, command in CASES.items():
    check_case(name, command)
