/* predict/own_memory.h - the memory of a GPU that this program's engine would
 * take for a network: its own, running on a device without any
 * (hollow_device.h).
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREDICT_OWN_MEMORY_H
#define PREDICT_OWN_MEMORY_H

#include "graph/graph.h"

enum { OWN_MEMORY_BATCHES = 8 };

/* The largest live size of the pool in a step, in MB, for batches of 1, 2, 4
 * and so on, of images of that shape. All 0 for networks whose shapes depend on
 * data, or which cannot be trained. The graph needs no weights. */
enum assay_status own_memory_of(const struct graph *graph,
                                const struct shape *image, bool is_training,
                                double out[OWN_MEMORY_BATCHES],
                                struct error *err);

#endif
