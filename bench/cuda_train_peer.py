"""PyTorch's side of the training benchmarks on a GPU.

    cuda_train_peer.py FOLDER PHOTOGRAPH

Prints "ready". Then trains by one step what each line of its input names,
"resnet50 64", and answers with a line: seconds, 1. "row resnet50 64" makes eight
steps without waiting in between, and answers with the seconds of each. "memory
resnet50 64" answers with the most bytes that its allocator held for that. TF32,
channels last, without cuDNN's benchmark mode. Every job is warmed up before it is
measured first. Exits with 77 if torchvision or the GPU is missing.
"""
import sys
import time

try:
    import torch
    import torchvision
except ImportError:
    sys.exit(77)
if not torch.cuda.is_available():
    sys.exit(77)

JOBS = {}


class Classifier:
    def __init__(self, name, batch):
        self.model = getattr(torchvision.models, name)(weights=None)
        self.model = self.model.cuda().train()
        self.model = self.model.to(memory_format=torch.channels_last)
        self.images = torch.rand(batch, 3, 224, 224).pin_memory()
        self.labels = torch.arange(batch) % 1000
        self.criterion = torch.nn.CrossEntropyLoss()

    def loss(self):
        images = self.images.cuda(non_blocking=True)
        images = images.to(memory_format=torch.channels_last)
        return self.criterion(self.model(images), self.labels.cuda())


class Detector:
    """As torchvision makes it without weights: every norm is trained."""

    def __init__(self, name, batch):
        self.model = getattr(torchvision.models.detection, name)(
            weights=None, weights_backbone=None
        )
        self.model = self.model.cuda().train()
        self.model = self.model.to(memory_format=torch.channels_last)
        self.images = [torch.rand(3, 500, 500).pin_memory() for _ in range(batch)]
        self.boxes = torch.tensor(
            [[50.0, 60.0, 300.0, 400.0], [200.0, 20.0, 480.0, 250.0]]
        )
        self.labels = torch.tensor([1, 2])

    def loss(self):
        images = [image.cuda(non_blocking=True) for image in self.images]
        targets = [
            {"boxes": self.boxes.cuda(), "labels": self.labels.cuda()}
            for _ in images
        ]
        return sum(self.model(images, targets).values())


ROW = 8


def step(job):
    job.optimizer.zero_grad(set_to_none=True)
    loss = job.loss()
    loss.backward()
    job.optimizer.step()
    return loss


def steps(job, n):
    """The seconds of each."""
    since = time.perf_counter()
    for _ in range(n):
        loss = step(job)
    torch.cuda.synchronize()
    loss.item()
    return (time.perf_counter() - since) / n


def job_of(name, batch):
    if (name, batch) not in JOBS:
        JOBS.clear()  # memory for one model at a time
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        kind = Detector if "rcnn" in name else Classifier
        job = kind(name, int(batch))
        job.optimizer = torch.optim.SGD(
            job.model.parameters(), lr=0.001, momentum=0.9, weight_decay=1e-4
        )
        JOBS[name, batch] = job
        steps(job, 5)
    return JOBS[name, batch]


torch.backends.cuda.matmul.allow_tf32 = True
torch.backends.cudnn.allow_tf32 = True
torch.manual_seed(0)
print("ready", flush=True)
for line in sys.stdin:
    words = line.split()
    if words[0] == "memory":
        job_of(words[1], words[2])
        print(float(torch.cuda.max_memory_reserved()), 1, flush=True)
        continue
    if words[0] == "row":
        print(steps(job_of(words[1], words[2]), ROW), 1, flush=True)
        continue
    print(steps(job_of(words[0], words[1]), 1), 1, flush=True)
