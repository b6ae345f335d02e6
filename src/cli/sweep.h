/* cli/sweep.h - assay run --sweep: a model at every point of a grid.
 *
 * Every point runs in its own process, so that it does not find the memory or
 * the threads of another, and leaves a run file.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_SWEEP_H
#define CLI_SWEEP_H

#include "cli/run_settings.h"

enum { SWEEP_MAX_AXES = 3, SWEEP_MAX_VALUES = 16, SWEEP_MAX_POINTS = 64 };

enum sweep_key { SWEEP_BATCH, SWEEP_THREADS, SWEEP_SIZE };

struct sweep_axis {
    enum sweep_key key;
    int64_t values[SWEEP_MAX_VALUES];
    size_t n;
};

struct sweep {
    struct sweep_axis axes[SWEEP_MAX_AXES];
    size_t n_axes;
    size_t n_points;
    bool is_detector; /* the model */
};

/* "batch=1,2,4,8", "threads=1,2", "size=224,320": one axis per word, the first
 * changes slowest. */
enum assay_status sweep_read(struct sweep *sweep, const struct words *words,
                             struct error *err);
const char *sweep_key_name(enum sweep_key key);
/* The values of a point, one per axis. */
void sweep_point(const struct sweep *sweep, size_t point,
                 int64_t values[SWEEP_MAX_AXES]);

/* Runs all points and prints the table. */
enum assay_status sweep_run(const struct run_settings *settings,
                            const struct words *operands, struct error *err);

#endif
