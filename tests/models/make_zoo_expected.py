"""Builds the seeded classifiers of torchvision's own tests and writes their
checkpoints, their input and the expected outputs of torchvision's repository
into a folder.

    make_zoo_expected.py FOLDER EXPECT NAME...

Arguments, seed and input are those of test_classification_model in
torchvision 0.14's test/test_models.py; EXPECT is the folder of its .pkl files.
Exits with 77 if torchvision is missing.
"""
import random
import sys

from make_zoo import torch, torchvision, write_safetensors


MORE = {"googlenet": {"init_weights": True}}


def main(folder, expect, names):
    for name in names:
        torch.manual_seed(0)
        random.seed(0)
        model = getattr(torchvision.models, name)(
            weights=None, num_classes=50, **MORE.get(name, {}))
        images = torch.rand(1, 3, 224, 224)
        torch.save(model.state_dict(), "%s/%s.pth" % (folder, name))
        wanted = torch.load("%s/ModelTester.test_%s_expect.pkl"
                            % (expect, name))
        write_safetensors("%s/%s.safetensors" % (folder, name),
                          {"images": images, "logits": wanted.detach()})


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
