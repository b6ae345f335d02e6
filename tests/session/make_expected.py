"""Builds the seeded models of torchvision's own tests and writes, into the
folder given, their checkpoints, their input and what torchvision's repository
expects of them.

    make_expected.py FOLDER EXPECT

Arguments, seed and input are those of test_detection_model in torchvision
0.14's test/test_models.py; EXPECT is the folder of its .pkl files. Exits with
77 if torchvision is missing.
"""
import random
import sys

from make_detector import torch, torchvision, write_safetensors

CLASSES = {"fasterrcnn_resnet50_fpn": 20, "maskrcnn_resnet50_fpn": 10}


def main(folder, expect):
    for name, classes in CLASSES.items():
        torch.manual_seed(0)
        random.seed(0)
        builder = getattr(torchvision.models.detection, name)
        model = builder(weights=None, weights_backbone=None,
                        num_classes=classes, min_size=224, max_size=224)
        kept = {"image_0": torch.rand(3, 224, 224)}
        torch.save(model.state_dict(), "%s/%s.pth" % (folder, name))
        wanted = torch.load("%s/ModelTester.test_%s_expect.pkl"
                            % (expect, name))[0]
        masks = wanted.pop("masks", None)
        kept.update((key, value.detach()) for key, value in wanted.items())
        if masks:
            kept["masks"] = torch.stack(
                [masks["mean"], masks["std"]]).detach().float()
        write_safetensors("%s/%s.safetensors" % (folder, name), kept)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
