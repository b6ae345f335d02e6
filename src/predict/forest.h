/* predict/forest.h - means of many regression trees.
 *
 * Extremely randomised trees (Geurts, Ernst, Wehenkel 2006): every tree sees
 * all rows, and cuts a node at the best of one random threshold per feature.
 * The same seed gives the same forest with any number of threads.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREDICT_FOREST_H
#define PREDICT_FOREST_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct forest_options {
    size_t n_trees;  /* 0: 300 */
    size_t min_leaf; /* least rows per leaf; 0: 1 */
    uint64_t seed;
    int n_threads; /* 0: one */
};

/* n rows of n_features, one after the other, and their values. */
struct forest_rows {
    const double *x;
    const double *y;
    size_t n, n_features;
};

struct forest;

/* The rows are not needed afterwards. Features are compared as floats. */
enum assay_status forest_fit(const struct forest_rows *rows,
                             const struct forest_options *options,
                             struct forest **out, struct error *err);
void forest_free(struct forest *forest); /* accepts NULL */

/* x: as many features as the rows have. */
double forest_predict(const struct forest *forest, const double *x);
size_t forest_node_count(const struct forest *forest); /* of all trees */

#endif
