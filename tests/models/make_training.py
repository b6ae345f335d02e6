"""Trains a model of torchvision for some steps and writes its inputs, the
losses, the gradients of the first step and the resulting parameters and running
statistics into a folder.

    make_training.py FOLDER CASE STEPS

Besides the inputs, FOLDER/CASE.safetensors has losses [steps, n] in the order
of LOSSES, "grad.NAME", "step1.NAME" of the running statistics and "last.NAME"
of small parameters; for one detector also "found.boxes", "found.scores",
"found.labels" and "found.counts", its detections after training. Weights come
from the formula of make_zoo.py, those of norms from calm(). Random samples are
set to take all or nothing. Images of detectors are chosen so that rounding does
not matter: see is_settled(). Exits with 77 if torchvision is missing.
"""
import contextlib
import os
import sys

try:
    import torch
    import torchvision
    from torchvision.models.detection import FasterRCNN, MaskRCNN
    from torchvision.models.detection.backbone_utils import (
        _resnet_fpn_extractor)
    from torchvision.ops.misc import FrozenBatchNorm2d
except ImportError:
    sys.exit(77)

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import make_zoo
import safetensors_out

ALL = 1 << 20
CLASSES = 7
LARGE = 1 << 16
LOSSES = ["loss_classifier", "loss_box_reg", "loss_mask", "loss_objectness",
          "loss_rpn_box_reg"]
# Resized by 0.8, which keeps positions exact. For other factors versions of
# PyTorch round differently, and other proposals come first.
SIZES = [(120, 160), (160, 120)]
BOXES = [[[10, 20, 90, 100], [60, 30, 150, 110], [5, 5, 40, 38]],
         [[20.5, 30.25, 80, 140]]]
LABELS = [[1, 6, 3], [2]]
# A few times more than rounding errors; and how many images to try.
NOISE, SHAKES, DRAWS = 1e-5, 4, 12


def build_detector(masks, depth, frozen):
    norm = FrozenBatchNorm2d if frozen else torch.nn.BatchNorm2d
    body = getattr(torchvision.models, "resnet%d" % depth)(norm_layer=norm)
    backbone = _resnet_fpn_extractor(body, 3 if frozen else 5)
    model = (MaskRCNN if masks else FasterRCNN)(
        backbone, CLASSES, min_size=96, max_size=160,
        rpn_pre_nms_top_n_train=ALL, rpn_post_nms_top_n_train=60,
        rpn_batch_size_per_image=ALL, box_batch_size_per_image=ALL)
    return model


def mask_of(box, size):
    """An ellipse."""
    y, x = torch.meshgrid(*(torch.arange(n) + 0.5 for n in size),
                          indexing="ij")
    cx, cy = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return (((x - cx) / (box[2] - box[0])) ** 2 +
            ((y - cy) / (box[3] - box[1])) ** 2 < 0.25).to(torch.uint8)


def shaken(images, noise):
    """The images with a relative error of that size in each value."""
    return [i * (1 + noise * torch.randn(i.shape)) for i in images]


def detector_batch(masks, draw, out):
    images = [torch.from_numpy(make_zoo.uniform("image%d.%d" % (i, draw),
                                                3 * h * w))
              .view(3, h, w) * 0.5 + 0.5 for i, (h, w) in enumerate(SIZES)]
    targets = [{"boxes": torch.tensor(b, dtype=torch.float32),
                "labels": torch.tensor(l)} for b, l in zip(BOXES, LABELS)]
    if masks:
        for target, size in zip(targets, SIZES):
            target["masks"] = torch.stack(
                [mask_of(b, size) for b in target["boxes"].tolist()])
    for i, (image, target) in enumerate(zip(images, targets)):
        out["image_%d" % i] = image
        if masks:
            out["masks_%d" % i] = target["masks"]
    out["boxes"] = torch.cat([t["boxes"] for t in targets])
    out["labels"] = torch.cat([t["labels"] for t in targets])
    out["counts"] = torch.tensor([len(t["labels"]) for t in targets])
    out["seed"] = torch.tensor([1])
    return lambda model, noise=0: model(shaken(images, noise), targets)


def classifier_batch(out):
    images = torch.from_numpy(make_zoo.uniform("images", 4 * 3 * 64 * 64)).view(
        4, 3, 64, 64)
    labels = torch.tensor([3, 0, 19, 7])
    out.update(images=images, labels=labels, seed=torch.tensor([1]))
    return lambda model, noise=0: {
        "loss": torch.nn.functional.cross_entropy(model(images), labels)}


def build(case, draw, out):
    """The model and the function that computes its losses."""
    parts = case.split("-")
    if parts[0] not in ("fasterrcnn", "maskrcnn"):
        model = make_zoo.build(case)
        for module in model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0
        return model, classifier_batch(out)
    masks = parts[0] == "maskrcnn"
    model = build_detector(masks, int(parts[1]), parts[2] == "frozen")
    return model, detector_batch(masks, draw, out)


def calm(model, losses_of, out):
    """Keeps the outputs of norms five standard deviations away from the kinks
    of activations; one channel of four is always off. Otherwise rounding would
    decide on which side of a kink a value falls, and so the gradients: with
    mobilenet_v2, float32 differs from float64 by 1e-2. Frozen norms get the
    statistics of their inputs. "start.NAME" are the resulting values.
    """
    def take_statistics(norm, inputs):
        norm.running_mean.copy_(inputs[0].mean(dim=(0, 2, 3)))
        norm.running_var.copy_(inputs[0].var(dim=(0, 2, 3)))

    norms = {name: module for name, module in model.named_modules()
             if isinstance(module, (torch.nn.BatchNorm2d, FrozenBatchNorm2d))}
    for norm in norms.values():
        off = torch.arange(len(norm.bias)) % 4 == 3
        norm.weight *= 0.4
        norm.bias += torch.where(off, -2.0, 2.0)
    frozen = [norm for norm in norms.values()
              if isinstance(norm, FrozenBatchNorm2d)]
    hooks = [norm.register_forward_pre_hook(take_statistics)
             for norm in frozen]
    if frozen:
        losses_of(model)
    for hook in hooks:
        hook.remove()
    for path, norm in norms.items():
        for name, value in norm.state_dict().items():
            if name != "num_batches_tracked":
                out["start.%s.%s" % (path, name)] = value.clone()


@contextlib.contextmanager
def same_statistics(model):
    """Restores the running statistics of norms afterwards."""
    before = {name: value.clone() for name, value in model.named_buffers()}
    yield
    for name, value in model.named_buffers():
        value.copy_(before[name])


def calm_hidden(model, losses_of, out):
    """The same for the hidden layers of a detector's heads."""
    def take_bias(layer, inputs):
        is_conv = isinstance(layer, torch.nn.Conv2d)
        made = (torch.nn.functional.conv2d(inputs[0], layer.weight, padding=1)
                if is_conv else
                torch.nn.functional.linear(inputs[0], layer.weight))
        over = (0, 2, 3) if is_conv else 0
        off = torch.arange(len(layer.bias)) % 4 == 3
        away = 5 * made.std(dim=over)
        layer.bias.copy_(torch.where(off, -away, away) - made.mean(dim=over))

    hidden = {name: module for name, module in model.named_modules()
              if name.endswith((".fc6", ".fc7")) or
              "mask_head" in name and isinstance(module, torch.nn.Conv2d)}
    hooks = [layer.register_forward_pre_hook(take_bias)
             for layer in hidden.values()]
    if hidden:
        with same_statistics(model):
            losses_of(model)
    for hook in hooks:
        hook.remove()
    for path, layer in hidden.items():
        out["start.%s.bias" % path] = layer.bias.clone()


@torch.no_grad()
def is_settled(model, losses_of):
    """Whether slightly different images have the same losses. Of two proposals
    that overlap and have similar scores, rounding chooses one, and another
    processor may choose the other."""
    with same_statistics(model):
        calm_losses = losses_of(model)
        for _ in range(SHAKES):
            for name, value in losses_of(model, NOISE).items():
                if abs(value - calm_losses[name]) > 1e-4 * calm_losses[name]:
                    return False
    return True


def is_used(case):
    """Whether the detections after training are compared, too."""
    return case == "fasterrcnn-18-batch"


def train(case, steps, draw):
    """The model and what is written about it; None if rounding matters."""
    out = {}
    model, losses_of = build(case, draw, out)
    with torch.no_grad():
        make_zoo.fill(model)
        calm(model.train(), losses_of, out)
        if not is_used(case):
            calm_hidden(model, losses_of, out)
    if "image_0" in out and not is_settled(model, losses_of):
        return None, out
    trained = [p for p in model.parameters() if p.requires_grad]
    rate = 2e-4 if "-" in case else 1e-2
    optimizer = torch.optim.SGD(trained, lr=rate, momentum=0.9,
                                weight_decay=5e-4)
    out["rate"] = torch.tensor([rate])
    rows = []
    for step in range(steps):
        losses = losses_of(model)
        names = [n for n in LOSSES + ["loss"] if n in losses]
        rows.append(torch.stack([losses[n].detach() for n in names]))
        optimizer.zero_grad()
        sum(losses.values()).backward()
        if step == 0:
            for name, value in model.named_parameters():
                if value.grad is not None:
                    out["grad." + name] = value.grad.clone()
        optimizer.step()
        if step == 0:
            for name, value in model.named_buffers():
                if name.endswith(("running_mean", "running_var")):
                    out["step1." + name] = value.clone()
    for name, value in model.named_parameters():
        if value.numel() <= LARGE:
            out["last." + name] = value.detach().clone()
    out["losses"] = torch.stack(rows)
    return model, out


@torch.no_grad()
def find(model, out):
    """Whether there are detections that do not depend on rounding."""
    images = [out["image_%d" % i] for i in range(len(SIZES))]
    model.roi_heads.score_thresh = 0.01
    found = model.eval()(images)
    for name in ("boxes", "scores", "labels"):
        out["found." + name] = torch.cat([f[name] for f in found])
    out["found.counts"] = torch.tensor([len(f["labels"]) for f in found])
    return any(len(f["labels"]) for f in found) and all(
        are_same(found, model(shaken(images, NOISE))) for _ in range(SHAKES))


def are_same(found, again):
    return all(f["labels"].tolist() == a["labels"].tolist() and
               torch.allclose(f["boxes"], a["boxes"], rtol=0, atol=0.02)
               for f, a in zip(found, again))


def main(folder, case, steps):
    for name in ("kaiming_normal_", "kaiming_uniform_", "normal_", "uniform_",
                 "trunc_normal_"):
        setattr(torch.nn.init, name, lambda tensor, *_, **__: tensor)
    torch.set_flush_denormal(True)  # where losses are small they cost minutes
    torch.manual_seed(1)
    for draw in range(DRAWS):
        model, out = train(case, int(steps), draw)
        if model and (not is_used(case) or find(model, out)):
            break
    else:
        sys.exit("of %d draws of images, rounding decides in each" % DRAWS)
    print("%s: draw %d" % (case, draw), file=sys.stderr)
    safetensors_out.write("%s/%s.safetensors" % (folder, case), out)


if __name__ == "__main__":
    main(*sys.argv[1:])
