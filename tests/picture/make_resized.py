#!/usr/bin/python3
"""Writes a picture and what Pillow makes of it in other sizes.

    make_resized.py FOLDER WIDTHxHEIGHT...

FOLDER/original.png and FOLDER/WIDTHxHEIGHT.png. Exits with 77 where there is
no Pillow.
"""
import sys

from make_pictures import Image, scene


def main(folder, sizes):
    original = scene(61, 43)
    original.save(folder + "/original.png")
    for size in sizes:
        width, height = map(int, size.split("x"))
        original.resize((width, height), Image.BILINEAR).save(
            "%s/%s.png" % (folder, size))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
