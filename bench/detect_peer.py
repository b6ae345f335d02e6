"""PyTorch's side of the detector benchmarks.

    detect_peer.py FOLDER PHOTOGRAPH

Writes the files that both sides read into the folder (square.jpg, faster.pth,
mask.pth, boxes.f32) and prints "ready". Then runs the job that each line of its
input names (faster, mask, nms, roi_align) and answers with a line: seconds,
results. Exits with 77 if torchvision is missing.
"""
import collections
import os
import sys
import time

sys.path.append(os.path.join(os.path.dirname(__file__), "../tests/session"))
try:
    import PIL.Image
    import make_detector
    import torch
    import torchvision
    from torchvision.models.detection import FasterRCNN, MaskRCNN
except (ImportError, SystemExit):
    sys.exit(77)

SIZE, THREADS, BOXES, ROIS, CHANNELS = 800, 2, 4000, 1000, 256


def make_models(folder, photograph):
    square = folder + "/square.jpg"
    PIL.Image.open(photograph).convert("RGB").resize((SIZE, SIZE)).save(
        square, quality=95)
    image = torchvision.io.read_image(square).float() / 255
    mask = make_detector.build(MaskRCNN, SIZE)
    make_detector.calibrate(mask, image)
    make_detector.spread_scores(mask, image)
    faster = make_detector.build(FasterRCNN, SIZE)
    faster.load_state_dict(mask.state_dict(), strict=False)
    for name, model in (("faster", faster), ("mask", mask)):
        torch.save(model.state_dict(), "%s/%s.pth" % (folder, name))
    return image, faster, mask


def make_boxes(folder):
    """Corners and scores, one row of five per box, as our side reads them."""
    torch.manual_seed(3)
    corner = torch.rand(BOXES, 2) * (SIZE - 200)
    boxes = torch.cat([corner, corner + 10 + torch.rand(BOXES, 2) * 190], 1)
    scores = torch.rand(BOXES)
    torch.cat([boxes, scores[:, None]], 1).numpy().tofile(
        folder + "/boxes.f32")
    return boxes, scores


def make_pooling(boxes):
    """1000 boxes on four maps, as in a detector's box head."""
    maps = collections.OrderedDict(
        (str(i), torch.rand(1, CHANNELS, SIZE // stride, SIZE // stride))
        for i, stride in enumerate((4, 8, 16, 32)))
    align = torchvision.ops.MultiScaleRoIAlign(list(maps), 7, 2)
    return lambda: align(maps, [boxes[:ROIS]], [(SIZE, SIZE)])


def main(folder, photograph):
    torch.set_num_threads(THREADS)
    image, faster, mask = make_models(folder, photograph)
    boxes, scores = make_boxes(folder)
    pool = make_pooling(boxes)
    jobs = {"faster": lambda: faster([image])[0]["scores"],
            "mask": lambda: mask([image])[0]["scores"],
            "nms": lambda: torchvision.ops.nms(boxes, scores, 0.7),
            "roi_align": pool}
    print("ready", flush=True)
    for line in sys.stdin:
        job = jobs[line.strip()]
        since = time.perf_counter()
        found = job()
        print(time.perf_counter() - since, len(found), flush=True)


with torch.no_grad():
    main(sys.argv[1], sys.argv[2])
