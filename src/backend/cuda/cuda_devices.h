/* backend/cuda/cuda_devices.h - NVIDIA GPUs, for the list of devices.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_CUDA_CUDA_DEVICES_H
#define BACKEND_CUDA_CUDA_DEVICES_H

#include "backend/device.h"

/* The i-th GPU that can be used; NULL: there are no more. The first call looks
 * for the driver. */
const struct device *cuda_device_at(size_t i);
/* Why there is none, or why one of them is left out; ASSAY_OK: nothing is
 * wrong. */
enum assay_status cuda_why_none(struct error *err);

extern const struct backend_class backend_cuda;

#endif
