#!/usr/bin/python3
"""assay train from an empty folder, with a server on loopback.

    train_fetch_test.py PROGRAM

Serves a small dataset of the layout of Oxford-IIIT Pet. A training fetches it
with --fetch, or after a yes at the terminal; continues a download that was cut;
and asks nobody where there is no terminal.
"""
import hashlib
import http.server
import importlib.util
import os
import pty
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))


def load_fetch_test():
    """The server and the archives of data_fetch_test.py, which runs its
    checks only as a program."""
    path = os.path.join(HERE, "data_fetch_test.py")
    with open(path) as file:
        source = file.read().rsplit("\nmain(", 1)[0]
    spec = importlib.util.spec_from_loader("data_fetch_test", loader=None)
    module = importlib.util.module_from_spec(spec)
    module.__file__ = path
    exec(compile(source, path, "exec"), module.__dict__)
    return module


FETCH = load_fetch_test()


def expect(is_so, what):
    if not is_so:
        sys.exit(f"train_fetch_test: {what}")


class Training:
    """A training of one step in a folder of its own."""

    def __init__(self, program, url, folder):
        self.program, self.url, self.folder = program, url, folder
        self.environment = {**os.environ, "no_proxy": "127.0.0.1",
                            "XDG_CACHE_HOME": os.path.join(folder, "cache")}

    def command(self, *more, base="good"):
        sums = os.path.join(self.folder, "sums")
        with open(sums, "w") as file:
            for name in ("images.tar.gz", "annotations.tar.gz"):
                body = FETCH.FILES.get(f"/{base}/{name}", b"")
                print(hashlib.md5(body).hexdigest(), "", name, file=file)
        return [self.program, "train", "--steps", "1", "--min-size", "32",
                "--batch", "1", "--threads", "1", "--workers", "0",
                "--url", f"{self.url}/{base}", "--sums", sums,
                "--set", "model.name=squeezenet1_1", *more]

    def run(self, *more, base="good"):
        done = subprocess.run(self.command(*more, base=base), cwd=self.folder,
                              capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, env=self.environment,
                              check=False)
        return done.returncode, done.stdout, done.stderr

    def answer(self, text, *more):
        """The same at a terminal, which is asked."""
        ours, theirs = pty.openpty()
        child = subprocess.Popen(self.command(*more), cwd=self.folder,
                                 stdin=theirs, stderr=theirs,
                                 stdout=subprocess.PIPE, env=self.environment)
        os.close(theirs)
        said = b""
        is_answered = False
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:
                break
            if not part:
                break
            said += part
            if b"[Y/n]" in said and not is_answered:
                os.write(ours, text.encode())
                is_answered = True
        child.stdout.read()
        code = child.wait()
        os.close(ours)
        return code, said.decode(errors="replace"), is_answered

    def has(self, path):
        return os.path.exists(os.path.join(self.folder, path))


RANDOM = ("--set", "model.weights=random")


def check_fetching(training):
    code, _, said = training.run(*RANDOM)
    expect(code == 3 and "assay data fetch" in said, f"{code} {said}")
    expect(not training.has("data"), "fetched without being asked")
    FETCH.CUT.add("/good/images.tar.gz")
    code, _, said = training.run(*RANDOM, "--fetch")
    expect(code == 3 and "run the command again" in said, f"{code} {said}")
    n_asked = len(FETCH.ASKED)
    code, out, said = training.run(*RANDOM, "--fetch")
    expect(code == 0, f"{code} {said}")
    half = len(FETCH.FILES["/good/images.tar.gz"]) // 2
    expect(FETCH.ASKED[n_asked] == ("/good/images.tar.gz", f"bytes={half}-"),
           str(FETCH.ASKED[n_asked:]))
    expect("data/oxford-iiit-pet/images" in said, said)
    expect("train/run.assay" in out and training.has("train/run.assay"), out)
    n_asked = len(FETCH.ASKED)
    code, _, said = training.run(*RANDOM, "--fetch")
    expect(code == 0 and len(FETCH.ASKED) == n_asked,
           f"fetched again: {FETCH.ASKED[n_asked:]} {said}")


def check_asking(training):
    code, said, is_asked = training.answer("n\n", *RANDOM)
    expect(is_asked and code == 3, f"{code} {said}")
    expect("the dataset oxford-iiit-pet (811 MB)" in said, said)
    expect(said.count("[Y/n]") == 1, said)
    expect(not training.has("data"), "fetched after a no")
    code, said, is_asked = training.answer("\n", *RANDOM)
    expect(is_asked and code == 0, f"{code} {said}")
    expect(training.has("data/oxford-iiit-pet/annotations"), said)
    code, said, is_asked = training.answer("n\n", *RANDOM)
    expect(not is_asked and code == 0, f"asked again: {said}")


def check_weights(training):
    """Weights that are not on the server: said, and nothing is trained."""
    code, _, said = training.run("--fetch")
    expect(code == 3 and "404" in said and "squeezenet1_1" in said,
           f"{code} {said}")
    expect(not training.has("train/run.assay"), said)


def check_other_root(training):
    """A folder with another name is the user's own."""
    n_asked = len(FETCH.ASKED)
    code, _, said = training.run(*RANDOM, "--fetch", "--set",
                                 "dataset.root=pets")
    expect(code == 3 and "pets" in said, f"{code} {said}")
    expect(len(FETCH.ASKED) == n_asked, str(FETCH.ASKED[n_asked:]))


def main(program):
    images, notes = FETCH.make_archives()
    FETCH.FILES["/good/images.tar.gz"] = images
    FETCH.FILES["/good/annotations.tar.gz"] = notes
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), FETCH.Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    for check in (check_fetching, check_asking, check_weights,
                  check_other_root):
        with tempfile.TemporaryDirectory() as folder:
            check(Training(program, url, folder))
    print("a training fetches what it lacks")


main(os.path.abspath(sys.argv[1]))
