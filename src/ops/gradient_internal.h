/* ops/gradient_internal.h - what the backward kernels of several ops have in
 * common.
 *
 * All tensors are dense float32. Sums are the same with any number of threads.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_GRADIENT_INTERNAL_H
#define OPS_GRADIENT_INTERNAL_H

#include "graph/graph.h"

/* backward_reads() of ops that read their only input, or their output. */
struct op_reads gradient_reads_input(const struct node *node, uint64_t wanted);
struct op_reads gradient_reads_output(const struct node *node, uint64_t wanted);

/* ... of products of their first two inputs: each for the other's gradient. */
struct op_reads gradient_reads_factors(const struct node *node,
                                       uint64_t wanted);
/* ... of ops that are told how to move x by their other inputs. */
struct op_reads gradient_reads_settings(const struct node *node,
                                        uint64_t wanted);

/* Into how many parts n elements are cut for the threads. */
int gradient_parts(const struct op_context *context, size_t n);

/* dx = factor * dy, of as many elements. */
void gradient_scale(const struct op_context *context, float factor,
                    const struct tensor *dy, const struct tensor *dx);

/* dx += dy, summed over the dimensions that x was repeated in to become y. */
void gradient_sum_to(const struct op_context *context, const struct tensor *dy,
                     const struct tensor *dx);

/* sums[c] = sum of a[n,c,...] */
void gradient_channel_sums(const struct op_context *context,
                           const struct tensor *a, const struct tensor *sums);

/* A copy of dy that is zero where a fused ReLU made y zero or cut it at the
 * limit (0: it has none); dy itself, shared, where has_relu is false. */
enum assay_status gradient_rectify(const struct op_context *context,
                                   bool has_relu, float limit,
                                   const struct tensor *y,
                                   const struct tensor *dy, struct tensor *out,
                                   struct error *err);

#endif
