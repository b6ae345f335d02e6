"""PyTorch's side of the benchmarks on a GPU.

    cuda_peer.py FOLDER PHOTOGRAPH [once]

Prints "ready". Then runs the job that each line of its input names, "resnet50 32
tf32", once, and answers with a line: seconds, results. "memory resnet50 32 tf32"
answers with the bytes that the driver has handed out for it. ResNet-50 is a CUDA
graph, channels last; detectors run eagerly, with autocast for fp16, and hand over
boxes and masks of 0 and 1 in the host's memory. Every job is warmed up before it is
measured first. "once" detects in the photograph and ends. Exits with 77 if
torchvision or the GPU is missing.
"""
import gc
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

    run.model = model  # whose memory the graph reads
    return run


def detector(name):
    make = {"faster-rcnn": torchvision.models.detection.fasterrcnn_resnet50_fpn,
            "mask-rcnn": torchvision.models.detection.maskrcnn_resnet50_fpn}[name]
    model = make(weights=None, weights_backbone=None, min_size=800, max_size=1333)
    return model.eval().cuda()


def let_find(model, images):
    """Lowers the threshold until some 1000 boxes of an image compete for its 100
    places, as with our made-up weights."""
    seen = []
    hook = model.roi_heads.box_predictor.register_forward_hook(
        lambda module, given, made: seen.append(made[0]))
    model(images[:1])
    hook.remove()
    scores = torch.softmax(seen[0].float(), -1)[:, 1:]
    model.roi_heads.score_thresh = scores.flatten().topk(1000).values[-1].item()


def detector_job(name, batch, precision):
    model = detector(name)
    if precision == "fp16":
        model = model.to(memory_format=torch.channels_last)
    images = [torch.rand(3, 800, 800).pin_memory() for _ in range(batch)]
    let_find(model, [image.cuda() for image in images])

    def run():
        there = [image.cuda(non_blocking=True) for image in images]
        with torch.autocast("cuda", enabled=precision == "fp16"):
            found = model(there)
        for one in found:
            if "masks" in one:
                one["masks"] = (one["masks"] > 0.5).cpu()
        return sum(len(one["boxes"].cpu()) for one in found)

    return run


def job_of(line):
    if line not in JOBS:
        JOBS.clear()
        gc.collect()
        torch.cuda.empty_cache()
        name, batch, precision = line.split()
        before = torch.cuda.mem_get_info()[0]
        if name == "resnet50":
            job = classifier_job(int(batch), precision)
        else:
            job = detector_job(name, int(batch), precision)
        for _ in range(5):
            job()
        torch.cuda.empty_cache()
        job()
        JOBS[line] = job, before - torch.cuda.mem_get_info()[0]
    return JOBS[line]


def answer(line):
    if line.startswith("memory "):
        return job_of(line[len("memory "):])[1], 0
    job = job_of(line)[0]
    torch.cuda.synchronize()
    since = time.perf_counter()
    results = job()
    torch.cuda.synchronize()
    return time.perf_counter() - since, results


def once(photograph):
    image = torchvision.io.read_image(photograph).cuda() / 255
    found = detector("faster-rcnn")([image])[0]
    print(*(len(found[key].cpu()) for key in ("boxes", "labels", "scores")))


def main():
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    if sys.argv[3:] == ["once"]:
        once(sys.argv[2])
        return
    torch.backends.cudnn.benchmark = True
    print("ready", flush=True)
    for line in sys.stdin:
        print(*answer(line.strip()), flush=True)


with torch.no_grad():
    main()
