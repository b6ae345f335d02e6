/* passes/integers_internal.h - what the files of the pass share.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PASSES_INTEGERS_INTERNAL_H
#define PASSES_INTEGERS_INTERNAL_H

#include "graph/graph.h"

/* A quantised value: (q - zero) * scale. The ids are of constants. */
struct step {
    uint32_t q, scale_value, zero_value;
    enum dtype dtype; /* int8 or uint8 */
    float scale;
    int zero;
};

/* The pass at work. */
struct integers {
    struct graph *graph;
    struct pool *pool;
    struct error *err;
    uint32_t *moved; /* by node: the one that moves the integers instead, or
                        GRAPH_NONE */
    size_t n_nodes;  /* before the pass appended any */
};

/* The node that makes a value; NULL: none does. */
const struct node *integers_maker(const struct graph *graph, uint32_t value);
/* The same, if it has that op and the value has no other reader. */
const struct node *integers_sole_maker(const struct graph *graph,
                                       uint32_t value,
                                       const struct op_class *op);
/* The value's data, if it is constant and of that type; else NULL. */
const struct tensor *integers_data(const struct graph *graph, uint32_t value,
                                   enum dtype dtype);
/* Whether a value is a quantised one made float32. */
bool integers_dequantised(const struct graph *graph, uint32_t value,
                          struct step *step);
bool integers_same_step(const struct step *a, const struct step *b);

/* Adds a node in the place and under the name of another. */
enum assay_status integers_add(struct integers *pass, const struct node *like,
                               const struct op_class *op, const void *attrs,
                               const uint32_t *inputs, size_t n_inputs,
                               size_t n_outputs, uint32_t *outputs);
/* Readers of a node's output read another value, whose maker stands for it. */
enum assay_status integers_replace(struct integers *pass,
                                   const struct node *node, uint32_t by);

/* ---- integers_table.c ---------------------------------------------------- */

/* The q of a step in another step. *out is that of `from` if they are the
 * same. */
enum assay_status integers_requantise(struct integers *pass,
                                      const struct node *like,
                                      const struct step *from,
                                      const struct step *to, uint32_t *out);
/* Puts into *out what Q(op(DQ)) of one quantised value is; GRAPH_NONE if the
 * op is not one of a single number. */
enum assay_status integers_activate(struct integers *pass,
                                    const struct node *op,
                                    const struct step *to, uint32_t *out);
/* ... of a Mul or Add of two values that are tables of the same one. */
enum assay_status integers_combine(struct integers *pass, const struct node *op,
                                   const struct step *a, const struct step *b,
                                   const struct step *to, uint32_t *out);

/* ---- integers_product.c -------------------------------------------------- */

/* Makes the integer node of a Conv2d, Linear or MatMul, with results in that
 * step, or in float32 if it is NULL. *out GRAPH_NONE: it cannot. */
enum assay_status integers_product(struct integers *pass, const struct node *op,
                                   const struct step *to, uint32_t *out);
/* A Mul after a Cast after ConvInteger or MatMulInteger. */
enum assay_status integers_scaled(struct integers *pass,
                                  const struct node *mul);
/* The Add of a bias, or an activation, after such a node with float32 results.
 */
enum assay_status integers_bias(struct integers *pass, const struct node *add);
enum assay_status integers_finish(struct integers *pass,
                                  const struct node *activation);

#endif
