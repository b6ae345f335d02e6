/* backend/cuda/cuda_nvml.h - what NVML says of a GPU: clocks, power, heat, and
 * who else uses it. Everything is optional: what the library, the driver or the
 * GPU does not say is unknown.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_CUDA_CUDA_NVML_H
#define BACKEND_CUDA_CUDA_NVML_H

#include "backend/cuda/cuda_internal.h"

/* Fills what NVML knows; the rest stays as it is. */
void cuda_nvml_look(struct cuda_device *device, struct device_look *look);

/* "power, heat": the names of the bits that slow a GPU down; "" for none. */
void cuda_nvml_throttling(unsigned long long bits, char *text, size_t size);

#endif
