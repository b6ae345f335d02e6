#!/usr/bin/env python3
"""What a user is told when something is wrong with a GPU, on one that is made up
(made_up_gpu.c): a line that says what, on what, and what to do; the exit code; and
what is kept.

    tests/cli/gpu_faults_test.py build/assay FOLDER

FOLDER has the made-up driver as libmade_up_gpu.so and one that is too old as
libmade_up_old.so."""
import json
import os
import shutil
import sys

from made_up_gpu import Gpu

RUN = "run resnet18 --random --device cuda:0 --iters 3 --tune 0.01"
TRAIN = ("train --synthetic --set model.name=squeezenet1_1 --device cuda:0 --min-size 64 "
         "--tune 0.01 --set training.checkpoint_every=2 --steps 30 -o t.assay")
OTHERWISE = "--device cpu uses the processors"

# What is set, the command, its exit code, and what it says.
FAULTS = [
    ({"MADE_UP_INIT": 100}, RUN, 3,
     ["NVIDIA's driver finds no GPU that works", "CUDA_ERROR_NO_DEVICE", OTHERWISE]),
    ({"MADE_UP_INIT": 803}, RUN, 3,
     ["system has unsupported display driver", OTHERWISE]),
    ({"MADE_UP_GPUS": 0}, RUN, 3,
     ["shows no GPU; CUDA_VISIBLE_DEVICES may hide them", OTHERWISE]),
    ({"MADE_UP_MAJOR": 6}, RUN, 3,
     ["(Made Up GPU) has compute capability 6.0", "the oldest that kernels are made "
      "for is 7.0", OTHERWISE]),
    ({"MADE_UP_MAJOR": 7}, RUN + " --precision bf16", 3,
     ["compute capability 7.0, and bf16 needs 8.0; use fp32 or fp16"]),
    ({}, RUN.replace("cuda:0", "cuda:1"), 2,
     ["there is no device 'cuda:1'; available: cpu, cuda:0"]),
    ({"MADE_UP_MIB": 600}, "run resnet50 --random --device cuda:0 --batch 64 --iters 64",
     4, ["(Conv2d): out of memory: ", " MiB needed for ", "of 600 MiB left; here ",
         "a batch of 63 is the most that could fit"]),
    # So much may be taken, whatever the GPU has; what failed counts for the batch.
    ({"ASSAY_CUDA_MEMORY": 600},
     "run vgg16 --random --device cuda:0 --batch 64 --iters 64", 4,
     ["(Conv2d): out of memory: ", "784.0 MiB needed for a tensor", "of 600 MiB left; here ",
      "a batch of 44 is the most that could fit"]),
    ({}, RUN.replace("cuda:0", "cpu") + " --in-flight 2", 2,
     ["--in-flight needs a GPU (--device cuda:0)", "one pass at a time"]),
    ({}, RUN + " --in-flight 2 --plain", 2, ["leave out one of the two"]),
    ({}, RUN + " --in-flight 17", 2, ["--in-flight", "17"]),
    ({"MADE_UP_MIB": 8}, RUN, 4, ["out of memory", "of 8 MiB left"]),
]


def check(result, code, texts):
    said = result.stdout + result.stderr
    assert result.returncode == code, (result.args, result.returncode, said)
    for text in texts:
        assert text in said, (result.args, text, said)


def check_message(result, code, texts):
    check(result, code, texts)
    lines = [line for line in result.stderr.splitlines() if "of our own" not in line]
    assert len(lines) == 1, result.stderr


def test_faults(gpu):
    for settings, words, code, texts in FAULTS:
        check_message(gpu.run(words, **settings), code, texts)


def test_an_old_driver():
    gpu = Gpu(*sys.argv[1:3], driver="libmade_up_old.so")
    check_message(gpu.run(RUN), 3, ["NVIDIA's driver is too old: it has no ",
                                    "version 520 (CUDA 11.8) or newer", OTHERWISE])
    check(gpu.run(RUN.replace("cuda:0", "auto")), 0, ["resnet18"])
    gpu.close()


def test_what_was_recorded_is_kept(gpu):
    """The 500th kernel fails, after some iterations."""
    result = gpu.run(RUN.replace("--iters 3", "--iters 200") + " -o f.assay",
                     MADE_UP_LAUNCHES=500)
    check_message(result, 3, ["on cuda:0 (Made Up GPU): an illegal memory access",
                              "images measured before are in f.assay"])
    n = result.stderr.split(" images measured")[0].split()[-1]
    check(gpu.run("show f.assay"), 0, [f"measured {n}", "device   kernels"])


def test_nothing_is_kept_of_nothing(gpu):
    result = gpu.run(RUN + " -o g.assay", MADE_UP_LAUNCHES=3)
    check_message(result, 3, ["an illegal memory access"])
    assert not [name for name in os.listdir(gpu.folder) if name.startswith("g.assay")]


def step_of(path):
    """The step that a checkpoint holds."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        return int(json.loads(file.read(size))["__metadata__"]["step"])


def test_a_gpu_that_fails_in_a_training(gpu):
    """Its weights cannot be read any more: the last checkpoint is what is left."""
    result = gpu.run(TRAIN, MADE_UP_LAUNCHES=3000)
    saved = step_of(gpu.folder + "/t.safetensors")
    check(result, 3, ["on cuda:0 (Made Up GPU): an illegal memory access",
                      f"t.safetensors holds step {saved}; --resume continues",
                      "t.assay has what was measured"])
    failed = int(result.stderr.split("assay: step ")[1].split(":")[0])
    assert failed > saved >= failed - 2, (failed, saved)
    check(gpu.run("show t.assay"), 0, [f"measured {failed - 4}", "device   kernels"])
    check(gpu.run(TRAIN + " --resume t.safetensors"), 0,
          [f"resumed after step {saved} of 30", "step 30/30"])


def test_a_gpu_that_fails_before_the_first_checkpoint(gpu):
    words = TRAIN.replace("every=2", "every=50").replace("t.assay", "n.assay")
    check(gpu.run(words, MADE_UP_LAUNCHES=3000), 3,
          ["an illegal memory access", "assay: step ",
           "there is no checkpoint yet (training.checkpoint_every is 50)"])
    assert not os.path.exists(gpu.folder + "/n.safetensors")


def test_passes_in_flight(gpu):
    check(gpu.run(RUN + " --in-flight 3 --time-limit 100ms --full"), 0,
          ["stream   3 in flight", " img/s   pass ", "device idle ",
           "results the same as one at a time (1 of 1)"])


def test_a_pass_in_flight_that_fails(gpu):
    """A graph cannot be launched: what was measured before is kept."""
    result = gpu.run(RUN + " --in-flight 2 -o s.assay", MADE_UP_GRAPHS=4)
    check_message(result, 3, ["launching a pass on cuda:0 (Made Up GPU)",
                              "3 images measured before are in s.assay"])
    check(gpu.run("show s.assay"), 0, ["measured 3"])


def test_trials_of_fit_start_the_driver_themselves(gpu):
    """Nobody may have started it before they are forked."""
    check(gpu.run("fit --synthetic --set model.name=squeezenet1_1 --device cuda:0 "
                  "--min-size 64 --memory 4GiB --most 4"), 0,
          ["4.0 GiB of cuda:0", "answer   batch 4"])


def test_other_processes(gpu):
    check(gpu.run(RUN + " --full", MADE_UP_OTHERS=2), 0,
          ["2 other processes on it, with 2048 MiB", "busy with others 40 %",
           "J per image"])


def test_peaks_are_remembered_unless_others_use_the_gpu(gpu):
    peaks = gpu.folder + "/cache/assay/machine.txt"
    run = RUN.replace("--iters 3", "--iters 60")  # fewer measure no peaks
    shutil.rmtree(gpu.folder + "/cache", ignore_errors=True)
    check(gpu.run(run, MADE_UP_OTHERS=2), 0, ["resnet18"])
    assert not os.path.exists(peaks)
    check(gpu.run(run), 0, ["resnet18"])
    with open(peaks, encoding="utf-8") as file:
        assert "Made Up GPU" in file.read()


def test_a_cache_that_cannot_be_written(gpu):
    shutil.rmtree(gpu.folder + "/cache", ignore_errors=True)
    with open(gpu.folder + "/cache", "w", encoding="ascii") as file:
        file.write("not a folder")
    check(gpu.run(RUN), 0, ["resnet18"])
    os.remove(gpu.folder + "/cache")


def test_damaged_files_of_the_cache(gpu):
    check(gpu.run(RUN), 0, ["resnet18"])
    n = 0
    for folder, _, names in os.walk(gpu.folder + "/cache"):
        for name in names:
            with open(f"{folder}/{name}", "wb") as file:
                file.write(b"\0damaged\xff" * 20)
            n += 1
    assert n > 1, n
    check(gpu.run(RUN), 0, ["resnet18"])


def test_a_remembered_kernel_of_a_library_that_is_gone(gpu):
    """Another is measured in its place, once."""
    run = RUN.replace("--tune 0.01", "--tune 60s")
    check(gpu.run(run), 0, ["resnet18"])
    folder = gpu.folder + "/cache/assay/cuda/"
    path, = [folder + name for name in os.listdir(folder) if name.startswith("choices")]
    with open(path, encoding="ascii") as file:
        before = file.read()
    assert path.endswith("-no-cublaslt.txt"), path
    assert before.count(" direct\n") == len(before.splitlines()) > 5, before
    with open(path, "w", encoding="ascii") as file:
        file.write(before.replace(" direct\n", " cublaslt 0\n"))
    check(gpu.run(run), 0, ["resnet18"])
    with open(path, encoding="ascii") as file:
        after = file.read()
    assert sorted(after.splitlines()) == sorted(before.splitlines()), after


def test_libraries_that_do_not_work(gpu):
    """Without cuDNN and cuBLASLt our own kernels run; the machine's page says so."""
    check(gpu.run(RUN + " --explain"), 0,
          ["libcudnn.so.9 does not have the functions of cuDNN; convolutions are "
           "computed by kernels of our own, slowly", "direct"])
    said = gpu.run("machine").stdout
    for name in ("cuDNN", "cuBLASLt", "CUPTI"):
        assert [line for line in said.split("\n") if line.startswith(name)], said


def main():
    gpu = Gpu(*sys.argv[1:3])
    test_faults(gpu)
    test_an_old_driver()
    test_what_was_recorded_is_kept(gpu)
    test_nothing_is_kept_of_nothing(gpu)
    test_a_gpu_that_fails_in_a_training(gpu)
    test_a_gpu_that_fails_before_the_first_checkpoint(gpu)
    test_passes_in_flight(gpu)
    test_a_pass_in_flight_that_fails(gpu)
    test_trials_of_fit_start_the_driver_themselves(gpu)
    test_other_processes(gpu)
    test_peaks_are_remembered_unless_others_use_the_gpu(gpu)
    test_a_cache_that_cannot_be_written(gpu)
    test_damaged_files_of_the_cache(gpu)
    test_a_remembered_kernel_of_a_library_that_is_gone(gpu)
    test_libraries_that_do_not_work(gpu)
    gpu.close()


main()
