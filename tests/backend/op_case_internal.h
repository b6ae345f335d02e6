/* tests/backend/op_case_internal.h - helpers to build cases.
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
/* A constant of the graph with random values. */
enum assay_status case_parameter(struct case_builder *b, const char *name,
                                 const struct shape *shape, float from,
                                 float to, uint32_t *value);
/* An input of the graph with random values in the range of the case. */
enum assay_status case_input(struct case_builder *b, const char *name,
                             const struct shape *shape, struct tensor *data,
                             uint32_t *value);
/* A list of integers as a constant. */
enum assay_status case_integers(struct case_builder *b, const char *name,
                                const int64_t *values, int64_t n,
                                uint32_t *value);

/* Adds a node with one output, or with several. */
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

/* The first word of a line, and the function that adds the nodes after x.
 * `second`: the graph's second input, if there is one. */
struct case_maker {
    const char *name;
    enum assay_status (*add)(struct case_builder *b, const struct op_case *c,
                             uint32_t x, struct tensor *second, uint32_t *y);
};

/* Lists that end with a name of NULL. */
extern const struct case_maker case_layers[], case_losses[], case_math[],
    case_moves[];

#endif
