#!/usr/bin/python3
"""assay eval: the same figures as a slow evaluator, written here from the
definitions of COCO and Pascal VOC, on data made at random."""
import json
import os
import random
import subprocess
import sys
import tempfile

ASSAY = sys.argv[1]
SIZES = {"": (0, 1e10), "small": (0, 32**2), "medium": (32**2, 96**2),
         "large": (96**2, 1e10)}
OVERLAPS = [0.5 + 0.05 * i for i in range(9)] + [0.95]


def run(*words):
    done = subprocess.run([ASSAY, "eval", *words, "--json"], text=True,
                          capture_output=True, check=True)
    return json.loads(done.stdout)


# ---- a dataset ---------------------------------------------------------------

def pixels(box, width, height):
    x, y, w, h = (int(v) for v in box)
    return {(i, j) for i in range(max(x, 0), min(x + w, width))
            for j in range(max(y, 0), min(y + h, height))}


def runs(area, width, height):
    """COCO's uncompressed runs down the columns."""
    counts, value, n = [], False, 0
    for i in range(width):
        for j in range(height):
            if ((i, j) in area) != value:
                counts.append(n)
                value, n = not value, 0
            n += 1
    return {"size": [height, width], "counts": counts + [n]}


def make_coco(lot, has_masks):
    truth = {"images": [], "annotations": [], "categories":
             [{"id": c, "name": f"class {c}"} for c in (3, 7, 12)]}
    found, areas = [], {}
    for image in lot.sample(range(1000), 12):
        width, height = (lot.randint(40, 60), lot.randint(30, 50)) \
            if has_masks else (400, 300)
        truth["images"].append({"id": image, "file_name": f"{image}.jpg",
                                "width": width, "height": height})
        for _ in range(lot.randint(0, 6)):
            w, h = lot.randint(4, width // 2), lot.randint(4, height // 2)
            box = [lot.randint(0, width - w), lot.randint(0, height - h), w, h]
            category = lot.choice((3, 7))
            number = len(truth["annotations"]) + 1
            mask = pixels(box, width, height) if has_masks else set()
            if mask:
                mask -= set(lot.sample(sorted(mask), len(mask) // 9))
            areas["truth", number] = mask
            truth["annotations"].append(
                {"id": number, "image_id": image, "category_id": category,
                 "bbox": box, "area": len(mask) if has_masks else w * h * 0.9,
                 "iscrowd": int(lot.random() < 0.15),
                 "segmentation": runs(mask, width, height)})
            for _ in range(lot.choice((0, 1, 1, 2, 14))):
                moved = [v + lot.randint(-3, 3) for v in box[:2]] + \
                    [max(1, v + lot.randint(-4, 4)) for v in box[2:]]
                result = {"image_id": image, "score": lot.randint(0, 40) / 40,
                          "category_id": lot.choice((category,) * 6 + (7, 12))}
                if has_masks:
                    mask = pixels(moved, width, height)
                    if not mask:
                        continue
                    areas["found", len(found)] = mask
                    result["segmentation"] = runs(mask, width, height)
                else:
                    result["bbox"] = moved
                found.append(result)
    return truth, found, areas


# ---- COCO, from its definition ------------------------------------------------

def box_overlap(a, b, is_crowd):
    w = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    h = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    if w <= 0 or h <= 0:
        return 0
    own = a[2] * a[3]
    return w * h / (own if is_crowd else own + b[2] * b[3] - w * h)


def mask_overlap(a, b, is_crowd):
    both = len(a & b)
    return both / (len(a) if is_crowd else len(a | b)) if both else 0


def coco_matches(truths, founds, overlap_of, least, size, area_of):
    """(score, is right) of those detections of an image that count."""
    low, high = SIZES[size]
    wanted = [not t["iscrowd"] and low <= t["area"] <= high for t in truths]
    taken, rows = set(), []
    for d in founds:
        best = None
        for is_wanted in (True, False):  # an ignored one only if no other fits
            reached = least
            for k, t in enumerate(truths):
                if wanted[k] != is_wanted or (k in taken and not t["iscrowd"]):
                    continue
                if overlap_of(d, t) >= min(reached, 1 - 1e-10):
                    reached, best = overlap_of(d, t), k
            if best is not None:
                break
        if best is None:
            if low <= area_of(d) <= high:
                rows.append((d["score"], False))
            else:
                rows.append((d["score"], None))
        else:
            taken.add(best)
            rows.append((d["score"], True if wanted[best] else None))
    return rows, sum(wanted)


def coco_class(truth, found, category, least, size, most, overlap_of, area_of):
    """(AP, recall), or None if there is no object."""
    rows, n = [], 0
    for image in sorted(i["id"] for i in truth["images"]):
        def of(items):
            return [a for a in items if a["image_id"] == image and
                    a["category_id"] == category]
        founds = sorted(of(found), key=lambda d: -d["score"])[:most]
        more, wanted = coco_matches(of(truth["annotations"]), founds,
                                    overlap_of, least, size, area_of)
        rows += more
        n += wanted
    if n == 0:
        return None
    right, wrong, points = 0, 0, []
    for _, is_right in sorted(rows, key=lambda r: -r[0]):
        right += is_right is True
        wrong += is_right is False
        points.append((right / n, right / (right + wrong)
                       if right + wrong else 0))
    precisions = []
    for i in range(101):
        wanted = i * 0.01 if i < 100 else 1.0
        precisions.append(max((p for r, p in points if r >= wanted), default=0))
    return sum(precisions) / 101, points[-1][0] if points else 0


def mean(values):
    values = [v for v in values if v is not None]
    return sum(values) / len(values) if values else None


def coco_figures(truth, found, areas, has_masks):
    numbers = {id(d): i for i, d in enumerate(found)}

    def overlap_of(d, t):
        if has_masks:
            return mask_overlap(areas["found", numbers[id(d)]],
                                areas["truth", t["id"]], t["iscrowd"])
        return box_overlap(d["bbox"], t["bbox"], t["iscrowd"])

    def area_of(d):
        if has_masks:
            return len(areas["found", numbers[id(d)]])
        return d["bbox"][2] * d["bbox"][3]

    def table(which, overlaps, size="", most=100, categories=(3, 7, 12)):
        cells = (coco_class(truth, found, c, o, size, most, overlap_of, area_of)
                 for c in categories for o in overlaps)
        return mean(c and c[which] for c in cells)

    figures = {"ap": table(0, OVERLAPS), "ap_50": table(0, [0.5]),
               "ap_75": table(0, [OVERLAPS[5]])}
    for most in (1, 10, 100):
        figures[f"ar_{most}"] = table(1, OVERLAPS, most=most)
    for size in ("small", "medium", "large"):
        figures[f"ap_{size}"] = table(0, OVERLAPS, size)
        figures[f"ar_{size}"] = table(1, OVERLAPS, size)
    classes = {f"class {c}": table(0, OVERLAPS, categories=(c,))
               for c in (3, 7, 12)}
    return figures, classes


def same(got, want):
    return got is None if want is None else \
        got is not None and abs(got - want) < 1e-9


def check_coco(seed, has_masks):
    truth, found, areas = make_coco(random.Random(seed), has_masks)
    with open("gt.json", "w", encoding="utf-8") as file:
        json.dump(truth, file)
    with open("dt.json", "w", encoding="utf-8") as file:
        json.dump(found, file)
    got = run("-r", "dt.json", "-a", "gt.json", "--iou",
              "segm" if has_masks else "bbox")
    figures, classes = coco_figures(truth, found, areas, has_masks)
    for key, want in figures.items():
        assert same(got[key], want), (seed, has_masks, key, got[key], want)
    for row in got["classes"]:
        assert same(row["ap"], classes[row["class"]]), (seed, row)
    assert got["detections"] == len(found)
    return figures["ap"]


# ---- Pascal VOC, from its definition ------------------------------------------

def voc_overlap(a, b):
    w = min(a[2], b[2]) - max(a[0], b[0]) + 1
    h = min(a[3], b[3]) - max(a[1], b[1]) + 1
    if w <= 0 or h <= 0:
        return 0

    def area(x):
        return (x[2] - x[0] + 1) * (x[3] - x[1] + 1)
    return w * h / (area(a) + area(b) - w * h)


def voc_average(truths, lines):
    """truths: image to [(box, is difficult)]; lines: (image, score, box)."""
    n = sum(not d for boxes in truths.values() for _, d in boxes)
    right, wrong, points, taken = 0, 0, [], set()
    for image, _, box in sorted(lines, key=lambda line: -line[1]):
        boxes = truths.get(image, [])
        best = max(range(len(boxes)), default=None,
                   key=lambda k: voc_overlap(boxes[k][0], box))
        if best is None or voc_overlap(boxes[best][0], box) < 0.5:
            wrong += 1
        elif boxes[best][1]:
            continue
        elif (image, best) in taken:
            wrong += 1
        else:
            taken.add((image, best))
            right += 1
        points.append((right / n, right / (right + wrong)))

    def at(recall):
        return max((p for r, p in points if r >= recall), default=0)
    eleven = sum(at(i * 0.1) for i in range(11)) / 11
    area, before = 0, 0
    for recall in sorted({r for r, _ in points}):
        area += (recall - before) * at(recall)
        before = recall
    return area, eleven


def check_voc(seed):
    lot = random.Random(seed)
    os.makedirs(f"voc{seed}/xml")
    os.makedirs(f"voc{seed}/found")
    truths, lines = {"dog": {}, "cat": {}}, {"dog": [], "cat": []}
    for image in (f"{i:06}" for i in range(15)):
        objects = ""
        for _ in range(lot.randint(0, 5)):
            x, y = lot.randint(1, 80), lot.randint(1, 80)
            box = (x, y, x + lot.randint(3, 40), y + lot.randint(3, 40))
            name, difficult = lot.choice(("dog", "cat")), lot.random() < 0.2
            truths[name].setdefault(image, []).append((box, difficult))
            sides = "".join(f"<{k}>{v}</{k}>" for k, v in
                            zip(("xmin", "ymin", "xmax", "ymax"), box))
            objects += (f"<object><name>{name}</name><difficult>"
                        f"{int(difficult)}</difficult><bndbox>{sides}</bndbox>"
                        "</object>")
            for _ in range(lot.choice((0, 1, 1, 3))):
                moved = [v + lot.randint(-4, 4) for v in box]
                lines[name].append((image, lot.randint(0, 30) / 30, moved))
        with open(f"voc{seed}/xml/{image}.xml", "w", encoding="utf-8") as file:
            file.write(f"<annotation>{objects}</annotation>")
    for name, rows in lines.items():
        lot.shuffle(rows)
        with open(f"voc{seed}/found/comp4_det_test_{name}.txt", "w",
                  encoding="utf-8") as file:
            for image, score, box in rows:
                print(image, repr(score), *box, file=file)
    got = run("--dataset", "voc", "-r", f"voc{seed}/found",
              "-a", f"voc{seed}/xml")
    answers = {name: voc_average(truths[name], lines[name]) for name in truths}
    for row in got["classes"]:
        if row["class"] in answers:
            assert same(row["ap"], answers[row["class"]][0]), (seed, row)
            assert same(row["ap_11"], answers[row["class"]][1]), (seed, row)
        else:
            assert row["ap"] is None, row
    assert same(got["ap"], mean(a for a, _ in answers.values()))
    assert same(got["ap_11"], mean(e for _, e in answers.values()))


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        reached = [check_coco(seed, False) for seed in range(4)]
        reached += [check_coco(seed, True) for seed in range(2)]
        # Neither all right nor all wrong, so that differences would show.
        assert all(0.02 < ap < 0.95 for ap in reached), reached
        for seed in range(4):
            check_voc(seed)
    print("the figures agree")


if __name__ == "__main__":
    ASSAY = os.path.abspath(ASSAY)
    main()
