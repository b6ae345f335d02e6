"""The wheel that `pip install .` builds: what it holds."""
import base64
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import assay_build  # noqa: E402


def built(tmp_path):
    return tmp_path / assay_build.build_wheel(str(tmp_path))


def test_the_wheel_serves_every_python_from_3_9_on(tmp_path):
    name = built(tmp_path).name
    assert re.fullmatch(r"assay-[\d.]+-cp39-abi3-linux_\w+\.whl", name)


def test_every_file_has_its_hash_in_the_record(tmp_path):
    with zipfile.ZipFile(built(tmp_path)) as wheel:
        (record,) = [n for n in wheel.namelist() if n.endswith("/RECORD")]
        lines = wheel.read(record).decode().splitlines()
        assert {line.split(",")[0] for line in lines} == set(wheel.namelist())
        for line in lines:
            name, digest, size = line.split(",")
            if name != record:
                data = wheel.read(name)
                sha = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
                assert digest == "sha256=" + sha.decode().rstrip("=")
                assert int(size) == len(data)


def test_the_package_and_the_program_in_it_work(tmp_path):
    with zipfile.ZipFile(built(tmp_path)) as wheel:
        wheel.extractall(tmp_path / "files")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "files")}
    done = subprocess.run(
        [sys.executable, "-c",
         "import assay; print(assay.__version__, assay.__file__)"],
        env=environment, capture_output=True, text=True, check=True)
    version, place = done.stdout.split()
    assert place.startswith(str(tmp_path))
    (program,) = (tmp_path / "files").glob("*.data/scripts/assay")
    program.chmod(0o755)
    said = subprocess.run([program, "version"], capture_output=True, text=True,
                          check=True)
    assert version in said.stdout


def test_the_version_is_that_of_the_program():
    text = (ROOT / "CMakeLists.txt").read_text()
    (version,) = re.findall(r"project\(assay VERSION ([\d.]+)", text)
    assert assay_build._project()["version"] == version


def test_the_extension_shows_only_its_entry():
    library = pathlib.Path(os.environ["ASSAY_BUILD_DIR"],
                           "python/assay/_native.abi3.so")
    listed = subprocess.run(["nm", "-D", "--defined-only", library],
                            capture_output=True, text=True, check=True)
    names = {line.split()[-1] for line in listed.stdout.splitlines()}
    assert names == {"PyInit__native"}
