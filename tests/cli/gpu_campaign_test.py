#!/usr/bin/env python3
"""Campaigns on a GPU that is made up (made_up_gpu.c): its kernels do nothing, but the
engine takes the memory that it would take of a real one.

    tests/cli/gpu_campaign_test.py build/assay FOLDER

FOLDER has the made-up driver, as for gpu_faults_test.py."""
import csv
import shutil
import sys

from made_up_gpu import Gpu

CONFIG = """[create_network_dataset]
networks= {networks}
pruning_perc= {levels}
model_path= nets

[profile]
gpu_id= 0
stage= ['training']
bs= {batches}
local_model_loc= nets
rounds= 1
till_first_fail= True
log_dir= logs
"""


def campaign(gpu, networks, levels, batches, **settings):
    """What it says; its rows; what the networks are predicted to take."""
    for name in ("nets", "logs"):
        shutil.rmtree(f"{gpu.folder}/{name}", ignore_errors=True)
    with open(gpu.folder + "/config.ini", "w", encoding="ascii") as file:
        file.write(CONFIG.format(networks=networks, levels=levels, batches=batches))
    result = gpu.run("campaign config.ini", **settings)
    assert result.returncode == 0, result
    tables = []
    for name in ("measurements", "network_ops"):
        with open(f"{gpu.folder}/logs/{name}.csv", encoding="utf-8") as file:
            tables.append(list(csv.DictReader(file)))
    return result.stdout + result.stderr, *tables


def test_predicted_memory_is_what_the_engine_takes(gpu):
    """Whole networks, and pruned ones, whose channels are padded: of maps, weights and
    gradients. Kernels of libraries may take more: there are none here."""
    _, rows, networks = campaign(
        gpu, ["resnet18", "mobilenetv2", "squeezenet"], [0, 30], [1, 8])
    taken = {(row["network"], row["prune"]): row for row in networks}
    assert len(rows) == 12, rows
    for row in rows:
        mb = float(row["mem_alloc_mb"])
        network = taken[row["network"], row["prune"]]
        predicted = float(network[f"assay_training_{row['batch']}_mb"])
        assert abs(predicted - mb) < 0.001 * mb, (row["network"], row["prune"],
                                                  row["batch"], mb, predicted)


def test_images_that_do_not_fit(gpu):
    """They alone are 147 MiB."""
    said, rows, _ = campaign(gpu, ["squeezenet"], [30], [1, 256, 512], MADE_UP_MIB=96)
    assert "batch 256 training latency: failed, out of memory on cuda:0: 147.0 MiB" \
           " needed for a tensor; cuda:0 has 96 of 96 MiB left" in said, said
    assert "batch 512 training latency: skipped: a smaller batch did not fit" in said, said
    fits = {row["batch"]: row["mem_passed"] + row["mem_in_gt"] for row in rows}
    assert fits == {"1": "11", "256": "01", "512": "00"}, fits


def main():
    gpu = Gpu(*sys.argv[1:3])
    test_predicted_memory_is_what_the_engine_takes(gpu)
    test_images_that_do_not_fit(gpu)
    gpu.close()


main()
