#!/usr/bin/python3
"""Writes the results of torchvision's detection code for random inputs.

    make_torchvision_ops.py FILE [SEED]

FILE: "ASSAYGLD", version, seed, then named tensors (see torchvision_ops_test.c).
Exits with 77 if torchvision is missing.
"""
import struct
import sys

try:
    import torch
    import torchvision
    from torchvision.models.detection import _utils, anchor_utils, image_list
    from torchvision.models.detection import roi_heads, rpn, transform
except ImportError:
    sys.exit(77)

VERSION = 1
DTYPES = {torch.float32: 0, torch.int64: 10, torch.uint8: 5}
tensors = []


def put(name, tensor):
    tensors.append((name, torch.as_tensor(tensor).contiguous()))


def put_list(name, items):
    for i, item in enumerate(items):
        put(f"{name}.{i}", item)


def write(path, seed):
    with open(path, "wb") as file:
        file.write(b"ASSAYGLD" + struct.pack("<IQI", VERSION, seed,
                                             len(tensors)))
        for name, tensor in tensors:
            text = name.encode()
            file.write(struct.pack("<I", len(text)) + text)
            file.write(struct.pack("<II", DTYPES[tensor.dtype], tensor.dim()))
            file.write(struct.pack(f"<{tensor.dim()}q", *tensor.shape))
            file.write(tensor.numpy().tobytes())


def size_of(h, w, low, high):
    """The size after resizing, with a scale in float32 as in torchvision up to
    0.14 and in its scripted code. Since 0.15 its other code uses double, and an
    image may be a pixel larger."""
    shorter = torch.tensor(min(h, w), dtype=torch.float32)
    longer = torch.tensor(max(h, w), dtype=torch.float32)
    scale = torch.min(float(low) / shorter, float(high) / longer).item()
    return int(h * scale), int(w * scale)


def transforms():
    cases = [
        (800, 1333, [(37, 53)]),
        (160, 300, [(61, 40), (33, 150), (160, 160)]),
        (96, 128, [(1, 1), (7, 3)]),
        (224, 333, [(480, 640)]),
        (97, 1000, [(97, 130)]),
    ]
    k = 0
    for low, high, sizes in cases:
        images = [torch.rand(3, *size) for size in sizes]
        model = transform.GeneralizedRCNNTransform(
            low, high, [0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
        batch, _ = model.eval()(images)
        if batch.image_sizes != [size_of(*s, low, high) for s in sizes]:
            continue
        put(f"transform.{k}.attrs", [len(images), low, high])
        put_list(f"transform.{k}.image", images)
        put(f"transform.{k}.batch", batch.tensors)
        put(f"transform.{k}.sizes", batch.image_sizes)
        k += 1
    # Many sizes, for which rounding decides about a pixel.
    sizes = torch.randint(1, 2500, (2000, 2)).tolist()
    sizes = [(h, w) for h, w in sizes if max(h, w) < 8 * min(h, w)]
    put("sizes.from", sizes)
    put("sizes.to", [size_of(h, w, 800, 1333) for h, w in sizes])


LEVELS = {
    0: ((256, 320), [(64, 80), (32, 40), (16, 20), (8, 10), (4, 5)]),
    1: ((96, 64), [(24, 16), (12, 8), (6, 4), (3, 2), (2, 1)]),
}


def anchors_of(size, maps, n):
    generator = anchor_utils.AnchorGenerator(
        tuple((s,) for s in (32, 64, 128, 256, 512)),
        ((0.5, 1.0, 2.0),) * 5)
    images = image_list.ImageList(torch.zeros(n, 3, *size), [size] * n)
    return generator(images, [torch.zeros(n, 1, *m) for m in maps])


def distinct_logits(n, maps):
    """No two probabilities of an image are equal, or their order would be open."""
    counts = [3 * h * w for h, w in maps]
    values = [torch.linspace(-4, 4, sum(counts))[torch.randperm(sum(counts))]
              .split(counts) for _ in range(n)]
    return [torch.stack([v[i].view(3, *m) for v in values])
            for i, m in enumerate(maps)]


def proposals():
    for k, (size, maps) in LEVELS.items():
        n = 2
        anchors = anchors_of(size, maps, n)
        image_sizes = [size, (size[0] - 9, size[1] - 31)]
        logits = distinct_logits(n, maps)
        deltas = [torch.randn(n, 12, *m) * 0.4 for m in maps]
        deltas[0][0, 2] += 5  # more than the clamp allows
        attrs = [1000, 1000] if k == 0 else [60, 50]
        network = rpn.RegionProposalNetwork(
            None, None, 0.7, 0.3, 256, 0.5, {"testing": attrs[0]},
            {"testing": attrs[1]}, 0.7).eval()
        flat_logits, flat_deltas = rpn.concat_box_prediction_layers(
            logits, deltas)
        boxes = network.box_coder.decode(flat_deltas, anchors).view(n, -1, 4)
        counts = [3 * h * w for h, w in maps]
        top = network._get_top_n_idx(flat_logits.reshape(n, -1), counts)
        kept, _ = network.filter_proposals(boxes, flat_logits, image_sizes,
                                           counts)
        put(f"rpn.{k}.attrs", attrs)
        put(f"rpn.{k}.batch", list(size))
        put(f"rpn.{k}.sizes", image_sizes)
        put(f"rpn.{k}.anchors", anchors[0])
        put_list(f"rpn.{k}.logits", logits)
        put_list(f"rpn.{k}.deltas", deltas)
        put(f"rpn.{k}.top", top)
        put(f"rpn.{k}.proposals", torch.cat(kept))
        put(f"rpn.{k}.counts", [len(b) for b in kept])


def random_boxes(n, height, width, largest):
    corner = torch.rand(n, 2) * torch.tensor([width, height])
    side = torch.exp(torch.rand(n, 2) * torch.tensor(largest).log())
    boxes = torch.cat([corner, corner + side], 1)
    return torchvision.ops.clip_boxes_to_image(boxes, (height, width))


def pooled():
    for k, (size, channels, counts) in enumerate(
            [(7, 19, (40, 23)), (14, 32, (15, 0)), (7, 5, (0, 0))]):
        sizes = [(256, 320), (200, 311)]
        maps = [torch.randn(2, channels, 64 >> i, 80 >> i) for i in range(4)]
        boxes = [random_boxes(n, *s, 400.0) for n, s in zip(counts, sizes)]
        if counts[0]:
            boxes[0][0] = torch.tensor([-300, -200, 900, 700.0])
            boxes[0][1] = torch.tensor([319, 255, 320, 256.0])
        pool = torchvision.ops.MultiScaleRoIAlign(["0", "1", "2", "3"], size, 2)
        put(f"roi.{k}.size", [size])
        put(f"roi.{k}.boxes", torch.cat(boxes))
        put(f"roi.{k}.counts", list(counts))
        put(f"roi.{k}.sizes", sizes)
        put_list(f"roi.{k}.map", maps)
        put(f"roi.{k}.output",
            pool({str(i): m for i, m in enumerate(maps)}, boxes, sizes))


def detections():
    # The second has over 1000 candidates per image: NMS works another way.
    for k, (classes, counts, spread) in enumerate(
            [(91, (200, 150), 2.0), (21, (900, 300), 0.7), (3, (0, 0), 1.0)]):
        sizes = [(400, 500), (333, 200)]
        boxes = [random_boxes(n, *s, 200.0) for n, s in zip(counts, sizes)]
        logits = torch.randn(sum(counts), classes) * spread
        deltas = torch.randn(sum(counts), classes * 4)
        heads = roi_heads.RoIHeads(None, None, None, 0.5, 0.5, 512, 0.25, None,
                                   0.05, 0.5, 100).eval()
        found = heads.postprocess_detections(logits, deltas, boxes, sizes)
        put(f"detections.{k}.logits", logits)
        put(f"detections.{k}.deltas", deltas)
        put(f"detections.{k}.proposals", torch.cat(boxes))
        put(f"detections.{k}.counts", list(counts))
        put(f"detections.{k}.sizes", sizes)
        for name, parts in zip(("boxes", "scores", "labels"), found):
            put(f"detections.{k}.{name}", torch.cat(parts))
        put(f"detections.{k}.kept", [len(b) for b in found[0]])


def masks():
    counts, sizes, original = (12, 0, 7), [(400, 500), (8, 8), (333, 200)], \
        [(150, 187), (9, 7), (90, 61)]
    labels = torch.randint(0, 6, (sum(counts),))
    logits = torch.randn(sum(counts), 6, 28, 28)
    chosen = roi_heads.maskrcnn_inference(logits, labels.split(counts))
    boxes = [random_boxes(n, *s, 300.0) for n, s in zip(counts, sizes)]
    resized = [transform.resize_boxes(b, s, o)
               for b, s, o in zip(boxes, sizes, original)]
    put("masks.logits", logits)
    put("masks.labels", labels)
    put("masks.chosen", torch.cat(chosen))
    put("masks.boxes", torch.cat(boxes))
    put("masks.counts", list(counts))
    put("masks.sizes", sizes)
    put("masks.original", original)
    put("masks.resized", torch.cat(resized))
    put_list("masks.pasted",
             [roi_heads.paste_masks_in_image(m, b, o)
              for m, b, o in zip(chosen, resized, original)])


def main(path, seed=7):
    torch.manual_seed(seed)
    transforms()
    proposals()
    pooled()
    detections()
    masks()
    write(path, seed)


if __name__ == "__main__":
    with torch.no_grad():
        main(sys.argv[1], *map(int, sys.argv[2:]))
