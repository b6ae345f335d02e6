/* ops/gradient_internal.h - what the backward kernels of several ops share.
 *
 * All tensors are dense float32. Sums do not depend on the number of threads.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_GRADIENT_INTERNAL_H
#define OPS_GRADIENT_INTERNAL_H

#include "graph/graph.h"

/* backward_reads() of ops that read their only input, or their output. */
struct op_reads gradient_reads_input(const struct node *node, uint64_t wanted);
struct op_reads gradient_reads_output(const struct node *node, uint64_t wanted);

/* ... of products of the first two inputs: each is read for the other's
 * gradient. */
struct op_reads gradient_reads_factors(const struct node *node,
                                       uint64_t wanted);
/* ... of ops that read every input but the first: settings such as axes. */
struct op_reads gradient_reads_settings(const struct node *node,
                                        uint64_t wanted);

/* How many parts, one per thread, n elements are worth. */
int gradient_parts(const struct op_context *context, size_t n);

/* dx = factor * dy, for as many elements as dx has. */
void gradient_scale(const struct op_context *context, float factor,
                    const struct tensor *dy, const struct tensor *dx);

/* dx += dy, summed over the dimensions along which x was broadcast. */
void gradient_sum_to(const struct op_context *context, const struct tensor *dy,
                     const struct tensor *dx);

/* sums[c] = sum of a[n,c,...] */
void gradient_channel_sums(const struct op_context *context,
                           const struct tensor *a, const struct tensor *sums);

/* A copy of dy that is zero wherever a fused ReLU made y zero or cut it at its
 * limit (0: no limit); dy itself, shared, if has_relu is false. */
enum assay_status gradient_rectify(const struct op_context *context,
                                   bool has_relu, float limit,
                                   const struct tensor *y,
                                   const struct tensor *dy, struct tensor *out,
                                   struct error *err);

#endif
