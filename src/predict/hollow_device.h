/* predict/hollow_device.h - a GPU that computes nothing and whose memory has no
 * bytes.
 *
 * The engine runs a network on it as it would on a GPU, and takes what it would
 * take: what its kernels take there, cuda_convolution.c and others, is taken
 * here. Nothing may read what it gives back.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREDICT_HOLLOW_DEVICE_H
#define PREDICT_HOLLOW_DEVICE_H

#include "backend/device.h"

extern const struct device hollow_device;

#endif
