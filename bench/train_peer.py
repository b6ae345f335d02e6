"""PyTorch's side of the training benchmarks.

    train_peer.py FOLDER PHOTOGRAPH
    train_peer.py --steps MODEL N

Prints "ready". Then trains the model that each line of its input names by one
step and answers with a line: seconds, 1. With --steps it makes so many steps
and ends, so that its peak memory can be measured. Exits with 77 if torchvision
is missing.
"""
import sys
import time

try:
    import torch
    import torchvision
except ImportError:
    sys.exit(77)

THREADS = 2
IMAGES = 8
DETECTOR_IMAGES = 2
JOBS = {}


class Classifier:
    def __init__(self, name):
        self.model = getattr(torchvision.models, name)(weights=None).train()
        self.images = torch.rand(IMAGES, 3, 224, 224)
        self.labels = torch.arange(IMAGES) % 1000
        self.criterion = torch.nn.CrossEntropyLoss()

    def loss(self):
        return self.criterion(self.model(self.images), self.labels)


class Detector:
    """As torchvision makes it without weights: every norm is trained."""

    def __init__(self, name):
        self.model = getattr(torchvision.models.detection, name)(
            weights=None, weights_backbone=None
        ).train()
        self.images = [
            torch.rand(3, 500, 500) for _ in range(DETECTOR_IMAGES)
        ]
        self.targets = [
            {
                "boxes": torch.tensor(
                    [[50.0, 60.0, 300.0, 400.0], [200.0, 20.0, 480.0, 250.0]]
                ),
                "labels": torch.tensor([1, 2]),
            }
            for _ in range(DETECTOR_IMAGES)
        ]

    def loss(self):
        return sum(self.model(self.images, self.targets).values())


def job_of(name):
    if name not in JOBS:
        kind = Detector if "rcnn" in name else Classifier
        job = kind(name)
        job.optimizer = torch.optim.SGD(
            job.model.parameters(), lr=0.001, momentum=0.9, weight_decay=1e-4
        )
        JOBS.clear()  # memory for one model at a time
        JOBS[name] = job
    return JOBS[name]


def step(job):
    job.optimizer.zero_grad(set_to_none=True)
    job.loss().backward()
    job.optimizer.step()


def serve():
    print("ready", flush=True)
    for line in sys.stdin:
        job = job_of(line.strip())
        since = time.perf_counter()
        step(job)
        print(time.perf_counter() - since, 1, flush=True)


torch.set_num_threads(THREADS)
torch.manual_seed(0)
if sys.argv[1] == "--steps":
    for _ in range(int(sys.argv[3])):
        step(job_of(sys.argv[2]))
else:
    serve()
