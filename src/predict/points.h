/* predict/points.h - rows that a model is fitted to.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREDICT_POINTS_H
#define PREDICT_POINTS_H

#include "predict/data_folder.h"

/* One target of one measurement. */
struct data_point {
    const struct description *description; /* borrowed */
    size_t network; /* the same number for all levels of a network */
    double batch;
    double value;    /* milliseconds or MB */
    double measured; /* the same, before others of its network set it right */
    bool is_bound; /* it did not fit: it needs more memory than there is; value
                      is meaningless */
};

/* Of one stage and one target. Start from {0}. */
struct data_points {
    enum stage stage;
    enum target target;
    double lane; /* channels that the device computes together; 0: unknown */
    double multiprocessors; /* 0: unknown, or no GPU */
    bool is_fused;          /* of this program's engine, which fuses layers */
    struct data_point *items;
    size_t n, capacity;
    size_t n_networks;
};

/* Empty, with the same stage, target and device. */
struct data_points points_like(const struct data_points *points);

void points_release(struct data_points *points);
enum assay_status points_add(struct data_points *points,
                             const struct data_point *point, struct error *err);
/* Adds the rows of a set that `takes` accepts (NULL: all). */
enum assay_status points_take(struct data_points *points,
                              const struct data_set *set,
                              bool (*takes)(const struct measurement *row,
                                            const struct description *network,
                                            const void *context),
                              const void *context, struct error *err);
/* The number of points with a value. */
size_t points_n_values(const struct data_points *points);
/* The smallest and largest value; NAN if there is none. */
double points_least(const struct data_points *points);
double points_most(const struct data_points *points);
bool points_have_bounds(const struct data_points *points);

#endif
