/* cli/machine_gpu.h - the devices beside the host, for 'assay machine'.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_MACHINE_GPU_H
#define CLI_MACHINE_GPU_H

#include "backend/backend.h"
#include "base/json.h"
#include "base/term.h"

struct machine_gpu {
    const char *name; /* "cuda:0" */
    struct device_look look;
    struct device_peaks peaks;
};

/* Looks at a device and measures it; what cannot be measured is NaN. */
void machine_gpu_look(const struct device *device, struct machine_gpu *gpu);

/* A block of lines: what it is, its state, its peaks, its libraries. */
void machine_gpu_screen(const struct machine_gpu *gpu, struct sink *sink,
                        const struct term *term);
/* An object. */
void machine_gpu_json(struct json_writer *json, const struct machine_gpu *gpu);

#endif
