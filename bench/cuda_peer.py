"""PyTorch's side of the benchmarks on a GPU.

    cuda_peer.py FOLDER PHOTOGRAPH

Prints "ready". Then runs the job that each line of its input names, "resnet50 32
tf32", once, and answers with a line: seconds, results. ResNet-50 is a CUDA graph,
channels last; detectors run eagerly, with autocast for fp16. Every job is warmed
up before it is measured first. Exits with 77 if torchvision or the GPU is missing.
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


def classifier_job(batch, precision):
    dtype = torch.float16 if precision == "fp16" else torch.float32
    model = torchvision.models.resnet50(weights=None).eval().cuda().to(dtype)
    model = model.to(memory_format=torch.channels_last)
    image = torch.rand(batch, 3, 224, 224)
    there = image.cuda().to(dtype).contiguous(memory_format=torch.channels_last)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(5):
            model(there)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        logits = model(there)
    pinned = image.to(dtype).pin_memory()

    def run():
        there.copy_(pinned, non_blocking=True)
        graph.replay()
        return logits.float().cpu().shape[0]

    return run


def detector_job(batch, precision):
    model = torchvision.models.detection.fasterrcnn_resnet50_fpn(
        weights=None, weights_backbone=None, min_size=800, max_size=1333)
    model = model.eval().cuda()
    if precision == "fp16":
        model = model.to(memory_format=torch.channels_last)
    images = [torch.rand(3, 800, 800).pin_memory() for _ in range(batch)]

    def run():
        there = [image.cuda(non_blocking=True) for image in images]
        with torch.autocast("cuda", enabled=precision == "fp16"):
            found = model(there)
        return sum(len(one["boxes"].cpu()) for one in found)

    return run


def job_of(line):
    if line not in JOBS:
        name, batch, precision = line.split()
        make = classifier_job if name == "resnet50" else detector_job
        JOBS[line] = make(int(batch), precision)
        for _ in range(5):
            JOBS[line]()
    return JOBS[line]


def main():
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    print("ready", flush=True)
    for line in sys.stdin:
        job = job_of(line.strip())
        torch.cuda.synchronize()
        since = time.perf_counter()
        results = job()
        torch.cuda.synchronize()
        print(time.perf_counter() - since, results, flush=True)


with torch.no_grad():
    main()
