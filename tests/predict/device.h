/* tests/predict/device.h - a made-up device, and networks on it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_PREDICT_DEVICE_H
#define TESTS_PREDICT_DEVICE_H

#include "predict/data_folder.h"

/* The cost of a made-up step, deliberately unlike the model that is fitted. */
double device_latency_ms(const struct description *network, double batch);
double device_memory_mb(const struct description *network, double batch);

enum { DEVICE_LIMIT_MB = 500 };

/* Rows of so many networks ("net0", ...), each at levels 0, 10 ... 90 and
 * batches 1 to 64, with that much noise; runs above the limit failed. The set
 * has a capacity of 800 MB. */
void device_measure(struct data_set *set, size_t n_networks, double noise,
                    uint64_t seed);

#endif
