"""Writes a small .tar.gz as tar programs do, for unpack_test.

    make_archive.py ustar|gnu|pax FILE

It has a path that is deep, a name that is long (which ustar cannot have), a
file of 200000 bytes and a small one.
"""
import io
import sys
import tarfile

FORMATS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT,
           "pax": tarfile.PAX_FORMAT}
ZEROS = "0" * 60


def add(archive, path, content):
    info = tarfile.TarInfo(path)
    info.size = len(content)
    archive.addfile(info, io.BytesIO(content))


def main(form, path):
    with tarfile.open(path, "w:gz", format=FORMATS[form]) as archive:
        folder = tarfile.TarInfo("pets")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        add(archive, f"pets/{ZEROS}/{ZEROS}/{ZEROS}.txt", b"deep")
        if form != "ustar":
            add(archive, f"pets/{'0' * 150}.txt", b"long")
        add(archive, "pets/big", bytes(200000))
        add(archive, "pets/small", b"last")


main(*sys.argv[1:])
