/* tests/backend/far.h - a device whose memory the host cannot touch and whose
 * queue runs late: what is right on it is right on a GPU.
 *
 * It runs the portable kernels, on a worker thread of its own (see
 * tensor/far_space.h), so that results are those of the host bit for bit.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_BACKEND_FAR_H
#define TESTS_BACKEND_FAR_H

#include "backend/backend.h"

struct far_device;

/* refused: names of ops that it has no kernels for, "Conv2d Relu"; "all" of
 * them; NULL: none. Kept by the caller. Aborts without memory. */
struct far_device *far_device_new(const char *refused);
/* All engines on it must be gone; aborts if memory was not given back. */
void far_device_free(struct far_device *device);
/* Output 0 of the op, as it infers it, is room for a list whose length is the
 * number in output 1. */
void far_device_lists(struct far_device *device, const struct op_class *op);
const struct device *far_device(const struct far_device *device);
/* When its queue passed the marks of the engine's timer: CLOCK_MONOTONIC. */
void far_device_marks(const struct far_device *device, int64_t ns[2]);
/* Kernels, copies and arithmetic that ran on it so far. */
uint64_t far_device_jobs(const struct far_device *device);

/* far_flight.c: its passes in flight. */
extern const struct flight_class far_flights;

#endif
