/* ops/shape_rules.h - what the shape rules of several ops have in common.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_SHAPE_RULES_H
#define OPS_SHAPE_RULES_H

#include "graph/graph.h"

/* Sets type and shape of an output that has no data yet. */
void rule_set(struct tensor *output, enum dtype dtype,
              const struct shape *shape);

/* "input 0 has rank 3 (3x8x8), 4 is wanted" */
enum assay_status rule_rank(const struct tensor *const *inputs, size_t input,
                            int rank, struct error *err);
enum assay_status rule_dtype(const struct tensor *const *inputs, size_t input,
                             enum dtype dtype, struct error *err);

/* The rank and the type of an input, for a table of them. */
struct input_rule {
    size_t input;
    int rank;
    enum dtype dtype;
};
enum assay_status rule_inputs(const struct tensor *const *inputs,
                              const struct input_rule *rules, size_t n,
                              struct error *err);

/* A bias: left out, or a list of n. */
enum assay_status rule_bias(const struct tensor *bias, int64_t n,
                            struct error *err);

/* What is added to a tensor has its shape; NULL: nothing is. */
enum assay_status rule_summand(const struct tensor *summand,
                               const struct shape *to, struct error *err);

/* Positions of a window of `kernel` (dilated) that moves by stride over
 * size + before + after; rounded up where ceil asks for it, but no window
 * starts in the padding behind. 0 or less: it does not fit, or the numbers are
 * none of a window. */
int64_t rule_windows(int64_t size, int64_t kernel, int64_t stride,
                     int64_t dilation, int64_t before, int64_t after,
                     bool ceil);

/* The most that windows of ops over pictures have, which libraries compute:
 * some of these take every element of a window one by one, also those beside
 * the picture, or make room for all padding. The general ops (ConvNd,
 * MaxPoolNd) look only at what is there. */
enum { RULE_MAX_POOL = 1 << 10, RULE_MAX_REACH = 1 << 15 };

/* A window that is pooled over pictures [n,c,h,w]; down, across. */
struct pool2d_rule {
    const int64_t *kernel, *stride, *before, *after;
    bool ceil;
};
enum assay_status rule_pool2d(const struct tensor *const *inputs,
                              const struct pool2d_rule *rule,
                              struct tensor *outputs, struct error *err);

/* The cost of an op that does one operation for each element it makes. */
void rule_cost_elementwise(const struct node *node,
                           const struct tensor *const *inputs,
                           const struct tensor *outputs, struct cost *cost);

#endif
