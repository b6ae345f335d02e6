/* backend/device.h - what models run on: the host's processors, a GPU.
 *
 * A device is a memory space and a queue; struct backend_class (backend.h) has
 * the kernels. Devices live as long as the process.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_DEVICE_H
#define BACKEND_DEVICE_H

#include "tensor/space.h"

struct backend_class;

struct device {
    const char *name; /* "cpu", "cuda:0": what a user chooses it by */
    const struct backend_class *backend;
    struct space *space;
};

/* The host with nothing but portable kernels. */
extern const struct device device_portable;

/* The host with the fastest kernels of this build: link assay_backends, as for
 * the functions that follow. */
const struct device *device_cpu(void);

/* All devices that were found; the host is the first. NULL: there are no
 * more. */
const struct device *device_at(size_t i);

/* By name. NULL and "cpu" are the host; "auto" is the first device beside the
 * host, or else the host. The message lists what there is. */
enum assay_status device_find(const char *name, const struct device **out,
                              struct error *err);

#endif
