/* tests/backend/op_case_internal.h - what cases are built with.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_BACKEND_OP_CASE_INTERNAL_H
#define TESTS_BACKEND_OP_CASE_INTERNAL_H

#include "base/random.h"
#include "op_case.h"

struct case_builder {
    struct graph *graph;
    struct pool *pool;
    struct random random;
    float from, to; /* values of inputs */
    struct error *err;
};

/* A tensor of random values. */
enum assay_status case_fill(struct case_builder *b, const struct shape *shape,
                            float from, float to, struct tensor *out);
/* The same as a constant of the graph. */
enum assay_status case_parameter(struct case_builder *b, const char *name,
                                 const struct shape *shape, float from,
                                 float to, uint32_t *value);
/* ... as an input of it, in the range of the case. */
enum assay_status case_input(struct case_builder *b, const char *name,
                             const struct shape *shape, struct tensor *data,
                             uint32_t *value);
/* A list of integers as a constant. */
enum assay_status case_integers(struct case_builder *b, const char *name,
                                const int64_t *values, int64_t n,
                                uint32_t *value);

/* A node with one output, or with several. */
enum assay_status case_append(struct case_builder *b, const struct op_class *op,
                              const void *attrs, const uint32_t *inputs,
                              size_t n, uint32_t *out);
enum assay_status case_append_outputs(struct case_builder *b,
                                      const struct op_class *op,
                                      const void *attrs, const uint32_t *inputs,
                                      size_t n, uint32_t *outputs,
                                      size_t n_outputs);

/* Any op of one input, with attributes that suit those of unary_math.h. */
enum assay_status case_unary(struct case_builder *b, const struct op_class *op,
                             uint32_t x, uint32_t *y);

/* What a line begins with, and who makes the nodes behind x. `second` is the
 * tensor of the graph's second input, where there is one. */
struct case_maker {
    const char *name;
    enum assay_status (*add)(struct case_builder *b, const struct op_case *c,
                             uint32_t x, struct tensor *second, uint32_t *y);
};

/* Lists, with a name of NULL at the end. */
extern const struct case_maker case_layers[], case_losses[], case_math[],
    case_moves[];

#endif
