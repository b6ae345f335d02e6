/* predict/sample.h - rows that a model is fitted to.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREDICT_SAMPLE_H
#define PREDICT_SAMPLE_H

#include "predict/data_folder.h"

/* One target of one measurement. */
struct sample {
    const struct description *description; /* borrowed */
    size_t network; /* the same number for all levels of a network */
    double batch;
    double value;  /* milliseconds or MB */
    bool is_bound; /* it did not fit: it wants more memory than there is; value
                      says nothing */
};

/* Of one stage and one target. Start from {0}. */
struct samples {
    enum stage stage;
    enum target target;
    struct sample *items;
    size_t n, capacity;
    size_t n_networks;
};

void samples_release(struct samples *samples);
enum assay_status samples_add(struct samples *samples,
                              const struct sample *sample, struct error *err);
/* Adds the rows of a set for which `takes` says so (NULL: all). */
enum assay_status samples_take(struct samples *samples,
                               const struct data_set *set,
                               bool (*takes)(const struct measurement *row,
                                             const struct description *network,
                                             const void *context),
                               const void *context, struct error *err);
/* Those that have a value. */
size_t samples_n_values(const struct samples *samples);
/* The smallest and largest value; 0 of them: NAN. */
double samples_least(const struct samples *samples);
double samples_most(const struct samples *samples);
bool samples_have_bounds(const struct samples *samples);

#endif
