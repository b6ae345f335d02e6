"""The shortest script that prints what torchvision finds on a photograph.

    detect_minimal.py CHECKPOINT PHOTOGRAPH
"""
import sys

import torch
import torchvision

torch.set_num_threads(2)
model = torchvision.models.detection.fasterrcnn_resnet50_fpn(
    weights=None, weights_backbone=None).eval()
model.load_state_dict(torch.load(sys.argv[1]), strict=False)
image = torchvision.io.read_image(sys.argv[2]).float() / 255
with torch.no_grad():
    found = model([image])[0]
for box, label, score in zip(found["boxes"], found["labels"],
                             found["scores"]):
    print(int(label), "%.3f" % score, [round(x, 1) for x in box.tolist()])
