"""Builds the wheel of the package (PEP 517) with CMake and the C compiler alone.

The wheel holds the package with its extension, which uses the stable ABI, and
the program `assay`. CMake builds in a temporary folder; ASSAY_BUILD_DIR names a
folder that already holds a build.
"""
import base64
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def _project():
    """The values of [project]; Python 3.9 has no parser for TOML."""
    text = (ROOT / "pyproject.toml").read_text()
    return dict(re.findall(r'^([\w-]+) = "(.*)"$', text, re.MULTILINE))


def _tag():
    system = re.sub(r"[-.]", "_", sysconfig.get_platform())
    return f"cp39-abi3-{system}"


def _build(folder):
    """Builds the program and the package."""
    configure = ["cmake", "-S", str(ROOT), "-B", folder,
                 "-DCMAKE_BUILD_TYPE=Release",
                 f"-DPython3_EXECUTABLE={sys.executable}"]
    subprocess.run(configure, check=True)
    subprocess.run(["cmake", "--build", folder, "--parallel", "--target",
                    "assay", "assay_python_package"], check=True)


def _metadata():
    project = _project()
    return (f"Metadata-Version: 2.1\nName: {project['name']}\n"
            f"Version: {project['version']}\n"
            f"Summary: {project['description']}\n"
            f"Requires-Python: {project['requires-python']}\n"
            "License: MIT\n").encode()


class _Wheel:
    """A wheel being written; each file is noted with its hash."""

    def __init__(self, path, stem):
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self.stem = stem
        self.record = []

    def add(self, name, data, is_program=False):
        info = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = (0o100755 if is_program else 0o100644) << 16
        self.zip.writestr(info, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
        self.record.append(f"{name},sha256={digest.decode().rstrip('=')},"
                           f"{len(data)}")

    def close(self):
        name = f"{self.stem}.dist-info/RECORD"
        self.zip.writestr(name, "\n".join([*self.record, f"{name},,", ""]))
        self.zip.close()


def _pack(folder, path, stem):
    wheel = _Wheel(path, stem)
    package = pathlib.Path(folder) / "python" / "assay"
    for file in sorted(package.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            wheel.add(f"assay/{file.relative_to(package).as_posix()}",
                      file.read_bytes(), is_program=file.suffix == ".so")
    wheel.add(f"{stem}.data/scripts/assay",
              (pathlib.Path(folder) / "assay").read_bytes(), is_program=True)
    wheel.add(f"{stem}.dist-info/METADATA", _metadata())
    wheel.add(f"{stem}.dist-info/WHEEL",
              ("Wheel-Version: 1.0\nGenerator: assay_build\n"
               f"Root-Is-Purelib: false\nTag: {_tag()}\n").encode())
    wheel.add(f"{stem}.dist-info/licenses/LICENSE",
              (ROOT / "LICENSE").read_bytes())
    wheel.close()


# ---- what pip calls

def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    project = _project()
    stem = f"{project['name']}-{project['version']}"
    name = f"{stem}-{_tag()}.whl"
    path = os.path.join(wheel_directory, name)
    built = os.environ.get("ASSAY_BUILD_DIR")
    if built:
        _pack(built, path, stem)
        return name
    with tempfile.TemporaryDirectory(prefix="assay-wheel-") as folder:
        _build(folder)
        _pack(folder, path, stem)
    return name


def build_sdist(sdist_directory, config_settings=None):
    """The files that git tracks."""
    project = _project()
    stem = f"{project['name']}-{project['version']}"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True,
                            capture_output=True, text=True)
    name = f"{stem}.tar.gz"
    with tarfile.open(os.path.join(sdist_directory, name), "w:gz") as archive:
        for file in filter(None, listed.stdout.split("\0")):
            archive.add(ROOT / file, f"{stem}/{file}")
    return name
