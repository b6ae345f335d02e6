#!/usr/bin/env python3
"""An output that is also an input, or two outputs with one name: exit code 2 with
both named, before anything is measured, and every file as it was. The same file
is named directly, by another path, through a link, and by a second name.

    tests/cli/same_file_test.py build/assay
"""
import os
import shutil
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(sys.argv[1])
TREE = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
INPUTS = TREE + "/tests/cli/inputs"
RUN = "run squeezenet1_1 --random --input size=32x32 --iters 1 --tune 0"

# A command line, the file that it reads and that @ stands for, and words to
# append.
READ_AND_WRITTEN = [
    ("show a.assay -o @", "a.assay"),
    ("compare a.assay b.assay -o @", "b.assay"),
    ("compare --a a.assay --b b.assay -o @", "a.assay"),
    ("trace a.assay -o @", "a.assay"),
    ("report a.assay b.assay -o @", "a.assay"),
    ("import trace.json -o @", "trace.json"),
    ("layers small.net -o @", "small.net"),
    ("metrics small.net --no-weights -o @", "small.net"),
    ("metrics squeezenet1_1 --no-weights --compare small.net -o @",
     "small.net"),
    ("prune small.net -p 10 -o @", "small.net"),
    ("export small.net -o @", "small.net"),
    ("predict small.net --on device.fp -o @", "device.fp"),
    ("fingerprint eval device.fp --data device -o @", "device.fp"),
    ("fingerprint fit --data device -o @", "device/layers.csv"),
    (RUN + " -o @", "names.txt --labels names.txt"),
    (RUN + " --html @", "names.txt --labels names.txt"),
    ("run small.net --random --iters 1 -o @", "small.net"),
    ("run squeezenet1_1 photos --input size=32x32 --iters 1 --trace @",
     "photos/coffee.jpg"),
    ("run squeezenet1_1 list.txt --input size=32x32 --iters 1 -o @",
     "photos/coffee.jpg"),
    ("train config.toml --steps 1 -o @", "config.toml"),
    ("train config.toml --steps 1 --html @", "config.toml"),
    ("train config.toml --steps 1 --export @",
     "past.safetensors --resume past.safetensors"),
]

# Two outputs, or one whose name is derived from another's.
OTHERS = [
    RUN + " -o x.assay --html x.assay",
    RUN + " --trace x --html x",
    RUN + " --trace x --html sub/../x",
    RUN + " --html run.assay",
    RUN + " --trace new_link --html target",
    "train config.toml --steps 1 -o x.assay --export x.safetensors",
    "train config.toml --steps 1 -o x.assay --trace x.assay",
    "train config.toml --steps 1 --set model.weights=past.safetensors -o "
    "past.assay",
    "prune squeezenet1_1 -p 10 -w past.safetensors -o past.net",
    "prune squeezenet1_1 -p 10 --repeats 3 -w s_1.safetensors -o s.net",
    "export squeezenet1_1 -w past.safetensors -o past.net",
    "fingerprint eval device.fp --data device -o x.png --plot x.png",
    "run faster-rcnn photos/coffee.jpg coffee_targets.jpg --score 0 --min-size"
    " 64 --iters 1",
    RUN + " --labels run-batch2.assay --sweep batch=1,2",
    "campaign self.ini",
]


def assay(folder, words):
    return subprocess.run(
        [PROGRAM, *words.split()], cwd=folder, text=True,
        env=dict(os.environ, XDG_CACHE_HOME=folder + "/cache"),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE)


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def prepare(folder):
    """Everything that the commands read."""
    for name in ("a", "b"):
        assay(folder, "import %s/steady.json -o %s.assay" % (INPUTS, name))
    shutil.copy(INPUTS + "/steady.json", folder + "/trace.json")
    shutil.copytree(INPUTS + "/device", folder + "/device")
    assay(folder, "fingerprint fit --data device -o device.fp")
    assay(folder, "prune squeezenet1_1 -p 50 --input size=64x64 -o small.net")
    for folders in ("photos", "sub"):
        os.mkdir("%s/%s" % (folder, folders))
    for name in ("photos/coffee.jpg", "coffee_targets.jpg"):
        shutil.copy(TREE + "/assets/coffee.jpg", "%s/%s" % (folder, name))
    os.symlink("target", folder + "/new_link")
    write(folder + "/names.txt", "cat\ndog\n")
    write(folder + "/list.txt", "photos/coffee.jpg\n")
    write(folder + "/run-batch2.assay", "cat\ndog\n")
    write(folder + "/self.ini", "[create_network_dataset]\n"
          "networks= ['squeezenet1_1']\npruning_perc= [0]\n"
          "model_path= nets\n[profile]\nbs= [1]\ncreate_config= True\n"
          "test_config= self.ini\nlog_dir= logs\n")
    write(folder + "/config.toml", "[model]\nname = 'squeezenet1_1'\n"
          "weights = 'random'\n[dataset]\nkind = 'synthetic'\n"
          "image_size = 32\n[training]\nnum_workers = 1\nthreads = 1\n")
    made = assay(folder, "train config.toml --tune 0 --steps 1 -o past.assay")
    if made.returncode:
        sys.exit("a checkpoint to continue from: %s" % (made,))
    shutil.copy(folder + "/past.safetensors", folder + "/s_1.safetensors")


def state(folder):
    """All files with their contents."""
    found = {}
    for path, _, names in os.walk(folder):
        for name in names:
            full = os.path.join(path, name)
            if "/cache/" in full:
                continue
            if os.path.islink(full):
                found[full] = os.readlink(full)
            else:
                with open(full, "rb") as file:
                    found[full] = file.read()
    return found


def check(folder, words, problems):
    before = state(folder)
    ended = assay(folder, words)
    lines = ended.stderr.strip().split("\n")
    if (ended.returncode != 2 or ended.stdout or len(lines) != 1 or
            not ("would replace" in lines[0] or "both write" in lines[0])):
        problems.append((words, ended.returncode, lines))
    after = state(folder)
    for name in sorted(set(before) | set(after)):
        if before.get(name) != after.get(name):
            problems.append((words, "changed " + name))


def ways(folder, path):
    """The file under four names."""
    for name in ("way_link", "way_hard"):
        if os.path.lexists("%s/%s" % (folder, name)):
            os.remove("%s/%s" % (folder, name))
    os.symlink(path, folder + "/way_link")
    os.link("%s/%s" % (folder, path), folder + "/way_hard")
    return [path, "sub/../" + path, "way_link", "way_hard"]


def main(folder):
    problems = []
    prepare(folder)
    for words, named in READ_AND_WRITTEN:
        path, *more = named.split(" ", 1)
        for way in ways(folder, path):
            ending = os.path.splitext(path)[1]
            if ("prune" in words or "export " in words) and \
                    not way.endswith(ending):
                continue  # these go by the ending
            check(folder, " ".join([words.replace("@", way), *more]), problems)
    for name in ("way_link", "way_hard"):
        os.remove("%s/%s" % (folder, name))
    for words in OTHERS:
        check(folder, words, problems)
    for problem in problems:
        print(problem)
    if problems:
        sys.exit("%d files were not safe" % len(problems))
    # What should be replaced is replaced: the checkpoint that a training
    # continues from, and an older result.
    for words in ("train config.toml --tune 0 --steps 2 -o past.assay --resume "
                  "past.safetensors", "trace a.assay", "trace a.assay",
                  "trace a.assay -o /dev/null"):
        ended = assay(folder, words)
        if ended.returncode:
            sys.exit("%s: %s" % (words, ended.stderr))
    print("%d commands refuse to overwrite what they read" %
          (len(READ_AND_WRITTEN) + len(OTHERS)))


with tempfile.TemporaryDirectory() as scratch:
    main(scratch)
