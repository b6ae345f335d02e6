/* passes/fuse_internal.h - what the files of the optimising pass share.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PASSES_FUSE_INTERNAL_H
#define PASSES_FUSE_INTERNAL_H

#include "graph/graph.h"

/* ---- fuse.c -------------------------------------------------------------- */

/* The node that makes a value, if it has that op and the value has only one
 * reader; else GRAPH_NONE. */
uint32_t fuse_sole_maker(const struct graph *graph, uint32_t value,
                         const struct op_class *op);
/* Turns a node into a copy of an earlier one, with its own outputs. The earlier
 * one loses its inputs, so that the counts of readers stay right. */
enum assay_status fuse_into(struct graph *graph, size_t at, uint32_t maker,
                            struct error *err);
/* Notes that a node stands for a scope, unless it lies in that. */
enum assay_status fuse_note_scope(struct graph *graph, size_t at,
                                  uint32_t scope, struct error *err);
/* Whether it is a convolution without a ReLU and a residual; GRAPH_NONE is
 * not. */
bool fuse_conv_is_open(const struct graph *graph, uint32_t maker);
/* The value's data; NULL if it is computed or not float32. */
const struct tensor *fuse_data(const struct graph *graph, uint32_t value);
/* Adds a constant "NAME, folded WHAT", with the name of a value. Takes the data
 * over. */
enum assay_status fuse_constant(struct graph *graph, uint32_t named_after,
                                const char *what, struct tensor data,
                                uint32_t *value, struct error *err);

/* ---- fold_channels.c ----------------------------------------------------- */

/* A Mul by, or a Sum with, a constant that has one number, or one for every
 * channel, goes into the Conv2d or BatchNorm before it. */
enum assay_status fold_channels(struct graph *graph, size_t at,
                                struct pool *pool, struct error *err);

/* ---- focus.c ------------------------------------------------------------- */

/* A Conv2d after a Concat of the four maps of every second row and column
 * becomes one of their source, with twice the stride and the kernel spread over
 * twice the rows and columns: the same products, nothing copied. */
enum assay_status fuse_focus(struct graph *graph, size_t at, struct pool *pool,
                             struct error *err);

/* ---- spelled_out.c ------------------------------------------------------- */

/* A Mul or Div that ends a HardSwish, HardSigmoid or Gelu of several ops
 * becomes that. */
enum assay_status fuse_spelled_out(struct graph *graph, size_t at,
                                   struct error *err);

#endif
