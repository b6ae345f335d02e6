"""PyTorch's precisions beside its own strict fp32, as tests/cuda_parity judges ours.

    cuda_parity_peer.py WEIGHTS.pth PHOTOGRAPH...

WEIGHTS are those of a Faster R-CNN with 91 classes (`assay train --export`). Prints
for each precision how many of the detections in fp32 are there too: the same class,
an IoU of at least 0.95 (fp32: 0.999) and a score as near as cuda_parity asks for.
What PyTorch loses by rounding is the measure of what a precision can keep. Exits with
77 if torchvision or the GPU is missing.
"""
import sys

try:
    import torch
    import torchvision
    from torchvision.io import ImageReadMode, read_image
except ImportError:
    sys.exit(77)
if not torch.cuda.is_available():
    sys.exit(77)

# name, TF32 allowed, autocast to, least IoU, score within
PRECISIONS = (
    ("fp32", False, None, 0.999, 1e-4),
    ("tf32", True, None, 0.95, 0.01),
    ("fp16", True, torch.float16, 0.95, 0.02),
    ("bf16", True, torch.bfloat16, 0.95, 0.02),
)


def load(path):
    model = torchvision.models.detection.fasterrcnn_resnet50_fpn(
        weights=None, weights_backbone=None, num_classes=91)
    model.load_state_dict(torch.load(path, map_location="cpu"))
    return model.cuda().eval()


def detect(model, photos, tf32, dtype):
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32
    with torch.no_grad(), torch.autocast("cuda", dtype=dtype or torch.float16,
                                         enabled=dtype is not None):
        found = [model([photo])[0] for photo in photos]
    return [{key: value.float().cpu() for key, value in one.items()} for one in found]


def count_matches(wanted, got, least_iou, near):
    """How many of `wanted` have a partner of their own in `got`."""
    if not len(got["boxes"]):
        return 0
    iou = torchvision.ops.box_iou(wanted["boxes"], got["boxes"])
    iou[wanted["labels"][:, None] != got["labels"][None]] = -1
    matches = 0
    for i, row in enumerate(iou):
        best = int(row.argmax())
        if row[best] >= least_iou and abs(wanted["scores"][i] - got["scores"][best]) <= near:
            matches += 1
            iou[:, best] = -1
    return matches


def main(weights, *paths):
    model = load(weights)
    photos = [read_image(path, ImageReadMode.RGB).float().div(255).cuda() for path in paths]
    strict = detect(model, photos, False, None)
    total = sum(len(one["boxes"]) for one in strict)
    for name, tf32, dtype, least_iou, near in PRECISIONS:
        got = detect(model, photos, tf32, dtype)
        matched = sum(count_matches(a, b, least_iou, near) for a, b in zip(strict, got))
        print(f"PyTorch {name}  {matched} of {total} matched", flush=True)


main(*sys.argv[1:])
