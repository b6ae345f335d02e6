#!/usr/bin/python3
"""Writes device/: what was measured of small networks on a device that was
made up, in the four files that assay fingerprint reads."""
import math
import os

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "device")
LIMIT = 300  # MB: what wants more failed

HEADS = {
    "layers": "network,prune,layer_index,layer_name,ic,oc,kh,kw,sh,sw,ph,pw,"
              "groups,ih,iw,bias",
    "networks": "network,prune,total_params,bn_params,n_param_tensors,"
                "fc_layers,saved_act_bytes_per_image",
    "network_ops": "network,prune,relu_elems,n_relu,bn_elems,n_bn,cat_elems,"
                   "n_cat,add_elems,n_add,maxpool_in,maxpool_out,"
                   "maxpool_taps,n_maxpool,avgpool_in,n_avgpool",
    "measurements": "network,prune,batch,stage,repeat,lat_passed,mem_passed,"
                    "latency_ms,mem_used_mb,mem_avail_mb,mem_capacity_mb",
}
NETWORKS = {"tiny": (6, 16), "small": (8, 24), "deep": (14, 16)}


def describe(name, level, rows):
    depth, width = NETWORKS[name]
    size, channels, macs, weights, elements = 64, 3, 0, 0, 0
    for i in range(depth):
        out = max(1, width * 2 ** (i // 3) * (100 - level) // 100)
        kernel, stride = (3, 1)[i % 2], 2 if i % 3 == 2 else 1
        rows["layers"].append([name, level, i, "conv%d" % i, channels, out,
                               kernel, kernel, stride, stride, kernel // 2,
                               kernel // 2, 1, size, size, 0])
        size = (size + 2 * (kernel // 2) - kernel) // stride + 1
        macs += size * size * channels * out * kernel * kernel
        weights += channels * out * kernel * kernel + 2 * out
        elements += out * size * size
        channels = out
    weights += channels * 10 + 10
    saved = 8 * elements + 4 * 3 * 64 * 64
    rows["networks"].append([name, level, weights, 0, 3 * depth + 2,
                             "%dx10" % channels, saved])
    rows["network_ops"].append([name, level, elements, depth, elements, depth,
                                0, 0, 0, 0, 0, 0, 0, 0,
                                channels * size * size, 1])
    return macs, weights, elements, saved, depth


def measure(name, level, described, rows):
    macs, weights, elements, saved, depth = described
    for batch in (1, 2, 4, 8, 16, 32, 64):
        wobble = 1 + 0.02 * math.sin(7 * batch + level)
        time = max(batch * (macs * 3 / 2e8 + elements * 20 / 7.5e6),
                   0.8 * depth) * wobble
        memory = (90 + 12 * weights / 2**20 +
                  1.2 * batch * saved / 2**20) * wobble
        fits = memory < LIMIT
        rows["measurements"].append(
            [name, level, batch, "training", 0, int(fits), int(fits),
             "%.4f" % time if fits else "", "%.3f" % memory if fits else "",
             450, 512])
    if name == "deep":
        rows["measurements"].append([name, level + 5, 1, "training", 0, 1, 1,
                                     5, 100, 450, 512])


def main():
    rows = {name: [] for name in HEADS}
    for name in NETWORKS:
        for level in (0, 20, 40, 60, 80):
            measure(name, level, describe(name, level, rows), rows)
    os.makedirs(FOLDER, exist_ok=True)
    for name, head in HEADS.items():
        with open(os.path.join(FOLDER, name + ".csv"), "w") as file:
            file.write(head + "\n")
            for row in rows[name]:
                file.write(",".join(map(str, row)) + "\n")


main()
