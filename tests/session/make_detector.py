"""Builds Faster R-CNN and Mask R-CNN with torchvision and writes, into the
folder given, their checkpoints and their answers for some images.

    make_detector.py FOLDER SIZE PHOTOGRAPH...

Weights are random but not degenerate: the statistics of the batch norms are
those of a photograph, and the heads are scaled so that scores spread. Exits
with 77 if torchvision is missing.
"""
import collections
import json
import re
import struct
import sys

try:
    import torch
    import torchvision
    from torchvision.models.detection import FasterRCNN, MaskRCNN
    from torchvision.models.detection._utils import overwrite_eps
    from torchvision.models.detection.backbone_utils import (
        _resnet_fpn_extractor)
    from torchvision.ops.misc import FrozenBatchNorm2d
except ImportError:
    sys.exit(77)

DTYPES = {torch.float32: "F32", torch.int64: "I64", torch.uint8: "U8"}


def write_safetensors(path, tensors):
    header, at = {}, 0
    for name, tensor in tensors.items():
        size = tensor.numel() * tensor.element_size()
        header[name] = {"dtype": DTYPES[tensor.dtype],
                        "shape": list(tensor.shape),
                        "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            file.write(tensor.contiguous().numpy().tobytes())


def calibrate(model, image):
    """Gives every batch norm the statistics of what comes into it.

    The residual branches are made quiet, as training makes them: with full
    ones a random network multiplies rounding errors until float32 itself is
    4e-4 away from float64 in the scores (5e-6 with these).
    """
    for name, module in model.named_modules():
        if name.endswith("bn3"):
            module.weight.fill_(0.2)

    def take_statistics(norm, inputs):
        x = inputs[0]
        norm.running_mean.copy_(x.mean(dim=(0, 2, 3)))
        norm.running_var.copy_(x.var(dim=(0, 2, 3)) + 1e-3)

    hooks = [module.register_forward_pre_hook(take_statistics)
             for module in model.modules()
             if isinstance(module, FrozenBatchNorm2d)]
    model([image])
    for hook in hooks:
        hook.remove()


def spread_scores(model, image):
    """Scales the last layers so that what they give has the standard deviation
    named here: scores spread, boxes move, nothing saturates."""
    wanted = {model.rpn.head.cls_logits: 2.0, model.rpn.head.bbox_pred: 0.1,
              model.roi_heads.box_predictor.cls_score: 1.2,
              model.roi_heads.box_predictor.bbox_pred: 1.0}

    for layer, deviation in wanted.items():
        seen = []  # a head is called once a level
        hook = layer.register_forward_hook(
            lambda _, __, output: seen.append(output.flatten()))
        model([image])
        hook.remove()
        layer.weight.mul_(deviation / torch.cat(seen).std())


def build(kind, size):
    torch.manual_seed(7)
    body = torchvision.models.resnet50(weights=None,
                                       norm_layer=FrozenBatchNorm2d)
    backbone = _resnet_fpn_extractor(body, 3)
    return kind(backbone, num_classes=91, min_size=size,
                max_size=size * 1333 // 800).eval()


def watch(model, kept):
    """Keeps what passes between the parts of the model."""
    def keep_features(_, __, output):
        for level, feature in enumerate(output.values()):
            kept["feature_%d" % level] = feature

    def keep_head(_, __, output):
        for level, (logits, deltas) in enumerate(zip(*output)):
            kept["objectness_%d" % level] = logits
            kept["deltas_%d" % level] = deltas

    def keep_proposals(_, __, output):
        kept["proposals"] = torch.cat(output[0])
        kept["proposal_counts"] = torch.tensor([len(p) for p in output[0]])

    filter_proposals = model.rpn.filter_proposals

    def keep_scores(*arguments):
        boxes, scores = filter_proposals(*arguments)
        kept["proposal_scores"] = torch.cat(scores)
        return boxes, scores

    model.rpn.filter_proposals = keep_scores
    model.backbone.register_forward_hook(keep_features)
    model.rpn.head.register_forward_hook(keep_head)
    model.rpn.register_forward_hook(keep_proposals)


def answer(model, images):
    kept = collections.OrderedDict()
    for i, image in enumerate(images):
        kept["image_%d" % i] = image
    kept.update(model.kept)
    found = model(images)
    kept.update(model.kept)
    kept["boxes"] = torch.cat([f["boxes"] for f in found])
    kept["scores"] = torch.cat([f["scores"] for f in found])
    kept["labels"] = torch.cat([f["labels"] for f in found])
    kept["counts"] = torch.tensor([len(f["labels"]) for f in found])
    for i, f in enumerate(found):
        if "masks" in f:
            kept["masks_%d" % i] = (f["masks"] > 0.5).to(torch.uint8)
    return kept


# What torchvision since 0.13 calls a tensor, and what it was called before.
OLD_NAMES = (
    (r"(fpn\.(?:inner|layer)_blocks\.\d)\.0\.", lambda m: m[1] + "."),
    (r"(rpn\.head\.conv)\.0\.0\.", lambda m: m[1] + "."),
    (r"mask_head\.(\d)\.0\.",
     lambda m: "mask_head.mask_fcn%d." % (int(m[1]) + 1)))


def age(state):
    """Like a published file: old names, and variances so small that the
    answers tell whether anything is added to them."""
    scales = [name.replace("running_var", "weight") for name in state
              if name.endswith("running_var")]
    aged = collections.OrderedDict()
    for name, tensor in state.items():
        if name.endswith("running_var"):
            tensor = tensor * 0.001
        elif name in scales:
            tensor = tensor * 0.001 ** 0.5
        for pattern, old in OLD_NAMES:
            name = re.sub(pattern, old, name)
        aged[name] = tensor
    return aged


def write_published(folder, name, kind, state, size, image):
    """A checkpoint under the name of a published one, and its answer for the
    image, by a model that was given it as torchvision gives it."""
    files = {"faster": "fasterrcnn_resnet50_fpn_coco-258fb6c6.pth",
             "mask": "maskrcnn_resnet50_fpn_coco-bf2d0c1e.pth"}
    model = build(kind, size)
    model.load_state_dict(age(state))
    overwrite_eps(model, 0.0)
    torch.save(age(state), "%s/%s" % (folder, files[name]))
    model.kept = {}
    watch(model, model.kept)
    write_safetensors("%s/%s_published.safetensors" % (folder, name),
                      answer(model, [image]))


def main(folder, size, photographs):
    images = [torchvision.io.read_image(
        path, torchvision.io.ImageReadMode.RGB).float() / 255
        for path in photographs]
    mask = build(MaskRCNN, size)
    calibrate(mask, images[0])
    spread_scores(mask, images[0])
    faster = build(FasterRCNN, size)
    faster.load_state_dict(mask.state_dict(), strict=False)
    torch.save(faster.state_dict(), folder + "/faster_legacy.pth",
               _use_new_zipfile_serialization=False)
    for name, model in (("faster", faster), ("mask", mask)):
        torch.save(model.state_dict(), "%s/%s.pth" % (folder, name))
        model.kept = {}
        watch(model, model.kept)
        for i, image in enumerate(images):
            write_safetensors("%s/%s_%d.safetensors" % (folder, name, i),
                              answer(model, [image]))
        write_published(folder, name, type(model), model.state_dict(), size,
                        images[0])
    write_safetensors(folder + "/faster_batch.safetensors",
                      answer(faster, images))


if __name__ == "__main__":
    with torch.no_grad():
        main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
