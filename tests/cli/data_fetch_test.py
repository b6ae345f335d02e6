#!/usr/bin/python3
"""assay data fetch, from a server on loopback.

    data_fetch_test.py PROGRAM

Serves small archives of the layout of Oxford-IIIT Pet, well and badly, and
looks at what the program says and leaves behind.
"""
import hashlib
import http.server
import io
import json
import os
import re
import struct
import subprocess
import sys
import tarfile
import tempfile
import threading
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
PHOTO = os.path.join(HERE, "../../assets/coffee.jpg")  # 600x400
FILES = {}  # what is served, by path
ASKED = []  # requested paths and ranges
CUT = set()  # paths of which one request gets only half


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        body = FILES.get(self.path)
        wanted = self.headers.get("Range", "")
        ASKED.append((self.path, wanted))
        if body is None:
            self.send_error(404)
            return
        first = int((re.findall(r"bytes=(\d+)-", wanted) or ["0"])[0])
        self.send_response(206 if first else 200)
        self.send_header("Content-Length", str(len(body) - first))
        if first:
            self.send_header("Content-Range",
                             f"bytes {first}-{len(body) - 1}/{len(body)}")
        self.end_headers()
        if self.path in CUT:
            CUT.remove(self.path)
            body = body[:len(body) // 2]
        self.wfile.write(body[first:])


# ---- archives -------------------------------------------------------------

def archive(files):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for path, content in files.items():
            info = tarfile.TarInfo(path)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return packed.getvalue()


def chunk(kind, content):
    return (struct.pack(">I", len(content)) + kind + content +
            struct.pack(">I", zlib.crc32(kind + content)))


def trimap(width, height):
    """A pet of 100x50 at 20,30."""
    rows = b"".join(
        b"\0" + bytes(1 if 20 <= x < 120 and 30 <= y < 80 else 2
                      for x in range(width)) for y in range(height))
    return (b"\x89PNG\r\n\x1a\n" +
            chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0,
                                       0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


XML = (b"<annotation><size><width>600</width><height>400</height></size>"
       b"<object><name>dog</name><bndbox><xmin>5</xmin><ymin>6</ymin>"
       b"<xmax>50</xmax><ymax>60</ymax></bndbox></object></annotation>")


def make_archives():
    with open(PHOTO, "rb") as file:
        photo = file.read()
    images = {f"images/beagle_{i}.jpg": photo for i in range(3)}
    images["images/beagle_0.mat"] = b"MATLAB"
    notes = {"annotations/trainval.txt": b"beagle_0 5 2 4\nbeagle_1 5 2 4\n",
             "annotations/test.txt": b"beagle_2 5 2 4\n",
             "annotations/list.txt": b"beagle_0 5 2 4\nbeagle_1 5 2 4\n"
                                     b"beagle_2 5 2 4\n",
             "annotations/xmls/beagle_0.xml": XML,
             "annotations/trimaps/._beagle_1.png": b"macOS"}
    for i in range(3):
        notes[f"annotations/trimaps/beagle_{i}.png"] = trimap(600, 400)
    return archive(images), archive(notes)


# ---- checks ---------------------------------------------------------------

class Place:
    """A folder to fetch into, and the sums of what is served."""

    def __init__(self, program, url, folder):
        self.program, self.url, self.folder = program, url, folder
        self.to = os.path.join(folder, "data")

    def fetch(self, base, *more, sums=True):
        return run(*self.command(base, *more, sums=sums))

    def command(self, base, *more, sums=True):
        command = [self.program, "data", "fetch", "oxford-iiit-pet", "--to",
                   self.to, "--url", f"{self.url}/{base}", *more]
        if sums:
            path = os.path.join(self.folder, "sums")
            with open(path, "w") as file:
                for name in ("images.tar.gz", "annotations.tar.gz"):
                    body = FILES.get(f"/{base}/{name}", b"")
                    print(hashlib.md5(body).hexdigest(), "", name, file=file)
            command += ["--sums", path]
        return command

    def files(self):
        found = []
        for folder, _, names in os.walk(self.to):
            found += [os.path.relpath(os.path.join(folder, name), self.to)
                      for name in names]
        return sorted(found)


def run(*command):
    environment = {**os.environ, "no_proxy": "127.0.0.1"}
    done = subprocess.run(command, capture_output=True, text=True,
                          env=environment, check=False)
    return done.returncode, done.stdout, done.stderr


def expect(is_so, what):
    if not is_so:
        sys.exit(f"data_fetch_test: {what}")


def check_resuming(place):
    CUT.add("/good/images.tar.gz")
    code, _, said = place.fetch("good")
    expect(code == 3 and "run the command again" in said,
           f"a cut download: {code} {said}")
    expect(place.files() == ["oxford-iiit-pet/images.tar.gz.part"],
           f"left behind: {place.files()}")
    half = len(FILES["/good/images.tar.gz"]) // 2
    code, out, said = place.fetch("good")
    expect(code == 0, f"going on: {code} {said}")
    expect(("/good/images.tar.gz", f"bytes={half}-") in ASKED,
           f"asked for: {ASKED}")
    expect("oxford-iiit-pet/images  4 files" in out, out)
    expect("oxford-iiit-pet/annotations  8 files" in out, out)
    expect(len(place.files()) == 12, f"left behind: {place.files()}")


def check_what_is_there(place):
    n_asked = len(ASKED)
    code, out, said = place.fetch("good")
    expect(code == 0 and out.count("found") == 2, f"again: {out} {said}")
    expect(len(ASKED) == n_asked, "what is there was fetched again")
    code, out, said = run(place.program, "data", "show", "--json", "--images",
                          place.to)
    expect(code == 0, said)
    shown = json.loads(out)
    expect(shown["kind"] == "oxford-iiit-pet", shown["kind"])
    expect([(part["split"], part["samples"], part["boxes"])
            for part in shown["splits"]] == [("train", 2, 2), ("test", 1, 1)],
           str(shown["splits"]))
    expect(any("beagle_0.mat is a leftover" in line for line in shown["odd"]),
           str(shown["odd"]))
    expect(any("._beagle_1.png" in line for line in shown["odd"]),
           str(shown["odd"]))


def check_sums(place):
    code, _, said = place.fetch("good", sums=False)
    expect(code == 3 and "bytes instead of 791918971" in said,
           f"another size: {code} {said}")
    expect(place.files() == [], f"left behind: {place.files()}")
    good = FILES["/good/images.tar.gz"]
    FILES["/good/images.tar.gz"] = good[:-9] + b"X" + good[-8:]
    with open(os.path.join(place.folder, "right"), "w") as file:
        print(hashlib.md5(good).hexdigest(), "", "images.tar.gz", file=file)
    code, _, said = place.fetch("good", "--sums", file.name, sums=False)
    FILES["/good/images.tar.gz"] = good
    expect(code == 3 and "MD5" in said, f"other sums: {code} {said}")
    expect(place.files() == [], f"left behind: {place.files()}")


def check_hostile(place):
    out = os.path.join(place.folder, "out")
    FILES["/bad/images.tar.gz"] = archive(
        {"images/a.jpg": b"a", "images/../../../../out": b"harm"})
    FILES["/bad/annotations.tar.gz"] = FILES["/good/annotations.tar.gz"]
    code, _, said = place.fetch("bad")
    expect(code == 3 and "lead out" in said, f"a path out: {code} {said}")
    expect(not os.path.exists(out), "an archive wrote outside its folder")
    expect(not os.path.isdir(
        os.path.join(place.to, "oxford-iiit-pet/images")),
           "a folder that is not whole appeared")


def check_other(place):
    FILES["/other/images.tar.gz"] = archive({"pictures/a.jpg": b"a"})
    code, _, said = place.fetch("other")
    expect(code == 3 and "no folder images" in said, f"{code} {said}")


def check_keeping(place):
    code, _, said = place.fetch("good", "--keep")
    expect(code == 0, said)
    expect("oxford-iiit-pet/images.tar.gz" in place.files(),
           str(place.files()))


def check_missing(place):
    code, _, said = place.fetch("nowhere")
    expect(code == 3 and "404" in said, f"not there: {code} {said}")
    code, _, said = run(place.program, "data", "fetch", "oxford-iiit-pet",
                        "--to", place.to, "--url", "http://127.0.0.1:1")
    expect(code == 3 and "put it there as" in said, f"{code} {said}")


def check_many(place):
    """Each of eight at once fetches it, finds it, or names the one that does."""
    command = place.command("good")
    environment = {**os.environ, "no_proxy": "127.0.0.1"}
    children = [subprocess.Popen(command, text=True, env=environment,
                                 stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE) for _ in range(8)]
    pids = [child.pid for child in children]
    codes = []
    for child in children:
        _, said = child.communicate()
        codes.append(child.returncode)
        expect(child.returncode == 0 or (child.returncode == 3 and any(
            f"another process (pid {pid})" in said for pid in pids)),
               f"{child.returncode} {said}")
    expect(0 in codes, f"nobody got it: {codes}")
    code, out, said = place.fetch("good")
    expect(code == 0 and out.count("found ") == 2, f"{out} {said}")
    expect(not any(".part" in name or "tar.gz" in name or "unpacking" in name
                   for name in place.files()), str(place.files()))
    code, out, _ = run(place.program, "data", "show",
                       place.to + "/oxford-iiit-pet")
    expect(code == 0, out)


def main(program):
    images, notes = make_archives()
    FILES["/good/images.tar.gz"] = images
    FILES["/good/annotations.tar.gz"] = notes
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    for checks in ([check_resuming, check_what_is_there], [check_sums],
                   [check_hostile], [check_other], [check_keeping],
                   [check_missing], *[[check_many]] * 10):
        with tempfile.TemporaryDirectory() as folder:
            for check in checks:
                check(Place(program, url, folder))
    print("data fetch works")


main(os.path.abspath(sys.argv[1]))
