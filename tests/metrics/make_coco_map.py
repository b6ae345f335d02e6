#!/usr/bin/env python3
"""Records what pycocotools reads from coco_tiny80, and how it scores made-up
detections on it. Run by hand, in an environment with pycocotools from PyPI (the
files name its version); the tests read what it writes:

    python3 tests/metrics/make_coco_map.py ../shared/data/datasets/coco_tiny80

tests/data/coco_masks.txt     one line per annotation: image id, its index among
                              the image's annotations, area and CRC-32 of the
                              compressed mask; then polygons with their masks
tests/metrics/coco_map.txt    the twelve figures for boxes and for masks, then
                              one line per detection: image id, the annotation it
                              is made from, category id, score, shift in x and
                              y, scale
"""
import contextlib
import importlib.metadata
import io
import os
import random
import sys
import zlib

from pycocotools import mask as masks
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VERSION = importlib.metadata.version("pycocotools")

# (width, height, polygons): corners outside, repeated and on edges.
POLYGONS = [
    (8, 6, [[1, 1, 1, 4, 5, 4, 5, 1]]),
    (8, 6, [[0.5, 0.5, 6.3, 1.2, 3.1, 5.4]]),
    (8, 6, [[-3, -2, 12, 1, 4, 9]]),
    (8, 6, [[2, 2, 2, 2, 6, 2, 6, 2, 6, 5, 2, 5]]),
    (8, 6, [[0, 0, 3, 0, 3, 3, 0, 3], [2, 2, 7, 2, 7, 5, 2, 5]]),
    (8, 6, [[1, 1, 6, 5, 6, 1, 1, 5]]),
    (8, 6, [[-9, -9, -5, -9, -5, -5]]),
    (300, 200, [[10.2, 7.7, 250.9, 31.4, 280, 190.5, 150.1, 99.9, 33, 180]]),
]


def quiet(function, *arguments):
    with contextlib.redirect_stdout(io.StringIO()):
        return function(*arguments)


def write_masks(coco):
    with open(os.path.join(TESTS, "data", "coco_masks.txt"), "w") as out:
        out.write(f"# pycocotools {VERSION}, made by make_coco_map.py\n")
        for image in sorted(coco.imgs):
            for place, note in enumerate(coco.imgToAnns[image]):
                rle = coco.annToRLE(note)
                out.write(f"{image} {place} {masks.area(rle)} "
                          f"{zlib.crc32(rle['counts'])}\n")
        for width, height, polygons in POLYGONS:
            rle = masks.merge(masks.frPyObjects(polygons, height, width))
            corners = ";".join(
                " ".join(repr(float(x)) for x in p) for p in polygons)
            out.write(f"polygon {width} {height} {masks.area(rle)} "
                      f"{rle['counts'].decode()} {corners}\n")


def make_rows(coco, generator):
    rows = []
    for image in sorted(coco.imgs):
        notes = coco.imgToAnns[image]
        for place, note in enumerate(notes):
            for _ in range(generator.choice([0, 1, 1, 1, 2])):
                category = note["category_id"]
                if generator.random() < 0.12:
                    category = generator.choice(coco.getCatIds())
                jitter = generator.choice([0, 0.02, 0.05, 0.1, 0.3])
                width, height = note["bbox"][2:]
                # Scores of two decimals: many are equal.
                rows.append((image, place, category,
                             round(generator.random(), 2),
                             round(generator.gauss(0, jitter) * width, 2),
                             round(generator.gauss(0, jitter) * height, 2),
                             round(1 + generator.gauss(0, jitter / 2), 3)))
    generator.shuffle(rows)
    # More of one category on an image than the 100 that count.
    crowded = next(r for r in rows if r[2] == 1)
    for _ in range(120):
        rows.append(crowded[:3] + (round(generator.random(), 2),
                                   round(generator.gauss(0, 9), 2),
                                   round(generator.gauss(0, 9), 2), 0.9))
    return sorted(rows, key=lambda r: r[0])


def move(note, points, row):
    """Scales points about the box's middle, then shifts them."""
    x, y, width, height = note["bbox"]
    mx, my = x + width / 2, y + height / 2
    _, _, _, _, dx, dy, scale = row
    return [mx + (p - mx) * scale + dx if i % 2 == 0
            else my + (p - my) * scale + dy for i, p in enumerate(points)]


def detection(coco, row, wants_mask):
    image, place, category, score = row[:4]
    note = coco.imgToAnns[image][place]
    x, y, width, height = note["bbox"]
    left, top, right, bottom = move(note, [x, y, x + width, y + height], row)
    found = {"image_id": image, "category_id": category, "score": score}
    if not wants_mask:
        return dict(found, bbox=[left, top, right - left, bottom - top])
    polygons = note["segmentation"]
    if isinstance(polygons, dict):
        polygons = [[x, y, x, y + height, x + width, y + height, x + width, y]]
    size = coco.imgs[image]
    moved = [move(note, p, row) for p in polygons]
    return dict(found, segmentation=masks.merge(
        masks.frPyObjects(moved, size["height"], size["width"])))


def figures(coco, rows, kind):
    found = quiet(coco.loadRes,
                  [detection(coco, r, kind == "segm") for r in rows])
    evaluation = COCOeval(coco, found, kind)
    quiet(evaluation.evaluate)
    quiet(evaluation.accumulate)
    quiet(evaluation.summarize)
    return evaluation.stats


def main():
    root = sys.argv[1]
    coco = quiet(COCO, os.path.join(root, "annotations",
                                    "instances_val2017.json"))
    write_masks(coco)
    rows = make_rows(coco, random.Random(5))
    with open(os.path.join(TESTS, "metrics", "coco_map.txt"), "w") as out:
        out.write(f"# pycocotools {VERSION}, made by make_coco_map.py\n")
        for kind in ("bbox", "segm"):
            out.write(kind + "".join(
                f" {float(x)!r}" for x in figures(coco, rows, kind)) + "\n")
        for row in rows:
            out.write(" ".join(str(x) for x in row) + "\n")


main()
