/* machine/machine_internal.h - what the probe runs.
 *
 * SPDX-License-Identifier: MIT */
#ifndef MACHINE_MACHINE_INTERNAL_H
#define MACHINE_MACHINE_INTERNAL_H

#include "machine/machine.h"

/* ---- probe_compute.c: one layer, repeatedly --------------------------- */

struct layer_shape {
    int64_t channels, height, width; /* in and out, with padding */
    int64_t kernel;                  /* 1 or 3; 0: a matrix product with height
                                        rows */
};

struct probe_layer;

/* Runs it once, so that its input has the layout of a layer's output. */
enum assay_status probe_layer_new(const struct device *device, int n_threads,
                                  const struct layer_shape *shape,
                                  struct probe_layer **out, struct error *err);
void probe_layer_free(struct probe_layer *layer); /* accepts NULL */
/* context: the layer. */
enum assay_status probe_layer_run(void *context, struct error *err);
double probe_layer_flops(const struct probe_layer *layer); /* executed */

/* ---- probe_memory.c: all threads go through memory -------------------- */

/* A ring of memory, used in short steps: the best of many is less disturbed by
 * other work. */
struct probe_memory {
    char *data;
    size_t bytes;
    size_t step;   /* bytes per repetition */
    size_t repeat; /* how often a step is read */
    size_t at;     /* where the next step begins */
    int n_threads;
    uint64_t seen; /* so that reading cannot be optimised away */
};

/* Each goes through a step of a struct probe_memory, one part per thread;
 * copying reads half a step in the first half of the ring and writes it to the
 * second. */
enum assay_status probe_read(void *context, struct error *err);
enum assay_status probe_write(void *context, struct error *err);
enum assay_status probe_copy(void *context, struct error *err);

#endif
