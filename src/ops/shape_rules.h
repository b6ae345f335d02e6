/* ops/shape_rules.h - shape rules that several ops share.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_SHAPE_RULES_H
#define OPS_SHAPE_RULES_H

#include "graph/graph.h"

/* Sets type and shape of an output that has no data yet. */
void rule_set(struct tensor *output, enum dtype dtype,
              const struct shape *shape);

/* infer() of ops whose output has the type and shape of the first input, or
 * that read and make float32 of one shape. */
enum assay_status rule_same(const struct node *node,
                            const struct tensor *const *inputs,
                            struct tensor *outputs, struct error *err);
enum assay_status rule_same_f32(const struct node *node,
                                const struct tensor *const *inputs,
                                struct tensor *outputs, struct error *err);

/* Errors: "a 2x3 and b 2x4 do not fit"; "Tanh of bool is not defined". */
enum assay_status rule_misfit(const char *a_name, const struct shape *a,
                              const char *b_name, const struct shape *b,
                              struct error *err);
enum assay_status rule_undefined(const struct node *node, enum dtype dtype,
                                 struct error *err);

/* Checks one input: "input 0 has rank 3 (3x8x8); expected 4". */
enum assay_status rule_rank(const struct tensor *const *inputs, size_t input,
                            int rank, struct error *err);
enum assay_status rule_dtype(const struct tensor *const *inputs, size_t input,
                             enum dtype dtype, struct error *err);
/* Checks the rank of the first n inputs. */
enum assay_status rule_ranks(const struct tensor *const *inputs, size_t n,
                             int rank, struct error *err);

/* Rank and type of an input, for a table of them. */
struct input_rule {
    size_t input;
    int rank;
    enum dtype dtype;
};
enum assay_status rule_inputs(const struct tensor *const *inputs,
                              const struct input_rule *rules, size_t n,
                              struct error *err);

/* Inputs 1 to n - 1 have one element per channel. */
enum assay_status rule_per_channel(const struct tensor *const *inputs, size_t n,
                                   int64_t channels, struct error *err);

/* A bias has n elements, or is NULL. */
enum assay_status rule_bias(const struct tensor *bias, int64_t n,
                            struct error *err);

/* A summand has the shape of what it is added to, or is NULL. */
enum assay_status rule_summand(const struct tensor *summand,
                               const struct shape *to, struct error *err);

/* How many positions a dilated window of `kernel` has that moves by stride over
 * size + before + after. With ceil it is rounded up, but no window starts in
 * the padding after. 0 or less: the window does not fit, or is invalid. */
int64_t rule_windows(int64_t size, int64_t kernel, int64_t stride,
                     int64_t dilation, int64_t before, int64_t after,
                     bool ceil);

/* Limits on the windows of ops over pictures, because libraries compute these:
 * some visit every element of a window, even outside the picture, or allocate
 * all padding. The general ops (ConvNd, MaxPoolNd) have no such limit. */
enum { RULE_MAX_POOL = 1 << 10, RULE_MAX_REACH = 1 << 15 };

/* cost() of ops that do one operation per element of the output, or of the
 * first input, or that read only as much of that as they output. */
void rule_cost_elementwise(const struct node *node,
                           const struct tensor *const *inputs,
                           const struct tensor *outputs, struct cost *cost);
void rule_cost_input(const struct node *node,
                     const struct tensor *const *inputs,
                     const struct tensor *outputs, struct cost *cost);
void rule_cost_taken(const struct node *node,
                     const struct tensor *const *inputs,
                     const struct tensor *outputs, struct cost *cost);

#endif
