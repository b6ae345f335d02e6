"""Writes the results of torchvision's training code for random targets: matches,
samples, losses, and the gradients by autograd.

    make_detection_training.py FOLDER

FOLDER/answers.safetensors has the inputs and outputs of each case, see
detection_training_test.c. Samples take everything. Exits with 77 if torchvision
is missing.
"""
import os
import sys

try:
    import torch
    import torchvision
    from torchvision.models.detection import _utils, roi_heads, rpn, transform
except ImportError:
    sys.exit(77)

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import safetensors_out

ALL = 1 << 20  # sample size: more than there are
answers = {}


def put(name, value):
    answers[name] = torch.as_tensor(value)


def put_list(name, items):
    for i, item in enumerate(items):
        put(f"{name}.{i}", item)


def boxes_in(n, height, width, largest):
    """Corners at whole pixels half of the time, so that overlaps are equal."""
    corner = torch.rand(n, 2) * torch.tensor([width * 0.8, height * 0.8])
    side = 2 + torch.rand(n, 2) * largest
    boxes = torch.cat([corner, corner + side], 1)
    boxes[::2] = boxes[::2].round()
    return torchvision.ops.clip_boxes_to_image(boxes, (height, width))


def offset(matches, first):
    return torch.where(matches >= 0, matches + first, matches)


def targets():
    original = [(150, 187), (90, 61), (333, 500)]
    sizes = [(400, 498), (8, 5), (333, 500)]
    boxes = [boxes_in(n, *s, 40.0) for n, s in zip((5, 0, 7), original)]
    put("targets.boxes", torch.cat(boxes))
    put("targets.labels", torch.randint(1, 6, (12,)))
    put("targets.counts", [5, 0, 7])
    put("targets.sizes", sizes)
    put("targets.original", original)
    put("targets.resized", torch.cat(
        [transform.resize_boxes(b, o, s)
         for b, o, s in zip(boxes, original, sizes)]))


MAPS = [(12, 10), (6, 5)]


def make_anchors():
    anchors = boxes_in(sum(3 * h * w for h, w in MAPS), 96, 80, 50.0)
    anchors[40:60] = anchors[20:40]  # ties
    return anchors


def anchors_and_losses():
    network = rpn.RegionProposalNetwork(
        None, None, 0.7, 0.3, ALL, 0.5, {}, {}, 0.7).train()
    anchors = make_anchors()
    objects = [boxes_in(n, 96, 80, 50.0) for n in (6, 0, 1, 3)]
    objects[2] = anchors[40:41].clone()
    # No anchor overlaps it, so all overlap it equally.
    objects[3][1] = torch.tensor([500, 500, 510, 510.0])
    n = len(objects)
    first = 0
    matches = []
    for boxes in objects:
        if len(boxes):
            found = network.proposal_matcher(
                torchvision.ops.box_iou(boxes, anchors))
        else:
            found = torch.full((len(anchors),), -1)
        matches.append(offset(found, first))
        first += len(boxes)
    put("anchors.anchors", anchors)
    put("anchors.boxes", torch.cat(objects))
    put("anchors.counts", [len(b) for b in objects])
    put("anchors.matches", torch.stack(matches))

    labels, wanted = network.assign_targets_to_anchors(
        [anchors] * n, [{"boxes": b} for b in objects])
    deltas = network.box_coder.encode(wanted, [anchors] * n)
    chosen = torch.where(torch.cat(labels) >= 0)[0]
    put("anchors.chosen", chosen)
    put("anchors.labels", torch.cat(labels)[chosen])
    put("anchors.deltas", torch.where(
        torch.cat(labels)[chosen][:, None] > 0, torch.cat(deltas)[chosen],
        torch.zeros(())))

    logits = [(3 * torch.randn(n, 3, *m)).requires_grad_() for m in MAPS]
    regression = [(0.3 * torch.randn(n, 12, *m)).requires_grad_()
                  for m in MAPS]
    losses = network.compute_loss(
        *rpn.concat_box_prediction_layers(logits, regression), labels, deltas)
    (2 * losses[0] + 3 * losses[1]).backward()
    put_list("rpn.logits", logits)
    put_list("rpn.regression", regression)
    put("rpn.losses", torch.stack(losses))
    put_list("rpn.dlogits", [t.grad for t in logits])
    put_list("rpn.dregression", [t.grad for t in regression])


def make_heads(n):
    return roi_heads.RoIHeads(None, None, None, 0.5, 0.5, n, 0.25, None, 0.05,
                              0.5, 100).train()


def samples():
    objects = [boxes_in(n, 200, 300, 120.0) for n in (4, 0, 6)]
    labels = [torch.randint(1, 6, (len(b),)) for b in objects]
    proposals = [boxes_in(n, 200, 300, 120.0) for n in (90, 40, 0)]
    proposals[0][:30] = objects[0][torch.arange(30) % 4] + torch.randn(30, 4)
    put("samples.proposals", torch.cat(proposals))
    put("samples.counts", [len(b) for b in proposals])
    put("samples.boxes", torch.cat(objects))
    put("samples.labels", torch.cat(labels))
    put("samples.objects", [len(b) for b in objects])
    found, matched, classes, deltas = make_heads(ALL).select_training_samples(
        [p.clone() for p in proposals],
        [{"boxes": b, "labels": l} for b, l in zip(objects, labels)])
    is_object = torch.cat(classes) > 0
    first = torch.tensor([0, 4, 4])
    matched = torch.cat([m + f for m, f in zip(matched, first)])
    put("samples.found", torch.cat(found))
    put("samples.found_counts", [len(b) for b in found])
    put("samples.found_labels", torch.cat(classes))
    put("samples.found_objects",
        torch.where(is_object, matched, torch.tensor(-1)))
    put("samples.found_deltas", torch.where(
        is_object[:, None], torch.cat(deltas), torch.zeros(())))


def box_losses():
    logits = torch.randn(30, 6).requires_grad_()
    deltas = torch.randn(30, 24).requires_grad_()
    labels = torch.randint(0, 6, (30,))
    wanted = torch.randn(30, 4)
    losses = roi_heads.fastrcnn_loss(logits, deltas, [labels], [wanted])
    (3 * losses[1]).backward()
    put("boxes.deltas", deltas)
    put("boxes.labels", labels)
    put("boxes.wanted", wanted)
    put("boxes.loss", losses[1])
    put("boxes.ddeltas", deltas.grad)


def masks():
    original = [(150, 187), (90, 61), (133, 100)]
    sizes = [(400, 498), (60, 40), (133, 100)]
    counts = [3, 0, 2]
    masks = [(torch.rand(c, *s) > 0.5).to(torch.uint8)
             for c, s in zip(counts, original)]
    for mask in masks[0]:
        mask[40:90, 30:] = 1
    boxes = [boxes_in(n, *s, 0.8 * s[0])
             for n, s in zip((20, 0, 12), sizes)]
    boxes[2][0] = torch.tensor([-40, 20, 130, 180.0])  # outside the image
    objects = [torch.randint(0, max(c, 1), (len(b),))
               for c, b in zip(counts, boxes)]
    labels = [torch.randint(1, 6, (c,)) for c in counts]
    resized = [torch.nn.functional.interpolate(m[:, None].float(), size=s)
               [:, 0].byte() for m, s in zip(masks, sizes)]
    logits = torch.randn(32, 6, 28, 28).requires_grad_()
    loss = roi_heads.maskrcnn_loss(logits, boxes, resized, labels, objects)
    (3 * loss).backward()
    put("masks.boxes", torch.cat(boxes))
    put("masks.counts", [len(b) for b in boxes])
    put("masks.objects", torch.cat([objects[0], 3 + objects[2]]))
    put("masks.sizes", sizes)
    put_list("masks.masks", masks)
    put("masks.targets", torch.cat(
        [roi_heads.project_masks_on_boxes(m, b, o, 28)
         for m, b, o in zip(resized, boxes, objects) if len(m)]))
    put("masks.logits", logits)
    put("masks.labels", torch.cat([l[o] for l, o in zip(labels, objects)]))
    put("masks.loss", loss)
    put("masks.dlogits", logits.grad)


def main(folder):
    torch.manual_seed(11)
    targets()
    anchors_and_losses()
    samples()
    box_losses()
    masks()
    safetensors_out.write(folder + "/answers.safetensors", answers)


if __name__ == "__main__":
    main(sys.argv[1])
