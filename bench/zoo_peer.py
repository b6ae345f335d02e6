"""PyTorch's side of the classifier benchmarks.

    zoo_peer.py FOLDER PHOTOGRAPH

Prints "ready". Then runs the model that each line of its input names once on an
image of 224x224 and answers with a line: seconds, classes. Exits with 77 if
torchvision is missing.
"""
import sys
import time

try:
    import torch
    import torchvision
except ImportError:
    sys.exit(77)

THREADS = 2
MODELS = {}


def model_of(name):
    if name not in MODELS:
        MODELS[name] = getattr(torchvision.models, name)(weights=None).eval()
    return MODELS[name]


def main():
    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    image = torch.rand(1, 3, 224, 224)
    print("ready", flush=True)
    for line in sys.stdin:
        model = model_of(line.strip())
        since = time.perf_counter()
        logits = model(image)
        print(time.perf_counter() - since, logits.shape[1], flush=True)


with torch.no_grad():
    main()
