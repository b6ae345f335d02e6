"""torchvision's side of the loader benchmark.

    loader_peer.py FOLDER PHOTOGRAPH

FOLDER has one folder per class. Prints "ready". Then, for each line of its
input, goes through one epoch with as many workers as the line says and answers
with a line: seconds, images. Workers stay between epochs. Exits with 77 if
torchvision is missing.
"""
import sys
import time

try:
    import torch
    import torchvision
    from torchvision import transforms
except ImportError:
    sys.exit(77)

BATCH = 8
LOADERS = {}


def loader_of(folder, job):
    if job not in LOADERS:
        task, n_workers = job.split()
        steps = [transforms.ToTensor()]
        if task == "classes":
            steps = [transforms.Resize(256), transforms.CenterCrop(224),
                     *steps, transforms.Normalize((0.485, 0.456, 0.406),
                                                  (0.229, 0.224, 0.225))]
        data = torchvision.datasets.ImageFolder(
            folder, transforms.Compose(steps))
        LOADERS[job] = torch.utils.data.DataLoader(
            data, batch_size=BATCH, shuffle=True, num_workers=int(n_workers),
            prefetch_factor=2, persistent_workers=True)
    return LOADERS[job]


def main():
    torch.set_num_threads(1)
    print("ready", flush=True)
    for line in sys.stdin:
        loader = loader_of(sys.argv[1], line.strip())
        since = time.perf_counter()
        images = sum(len(batch) for batch, _ in loader)
        print(time.perf_counter() - since, images, flush=True)


main()
