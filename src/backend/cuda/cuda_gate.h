/* backend/cuda/cuda_gate.h - maps with their channels last, and one value per
 * image and channel [n,c,1,1]: what squeeze-and-excitation is made of.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_CUDA_CUDA_GATE_H
#define BACKEND_CUDA_CUDA_GATE_H

#include "backend/cuda/cuda_backward.h"
#include "backend/cuda/cuda_walk.h"

/* Whether they fit, and are stored alike. */
bool cuda_is_gate(const struct tensor *map, const struct tensor *gate);
/* to = map * by, or without a map factor * by; to is stored as the map is, and
 * may be it. */
enum assay_status cuda_gate(struct cuda_call *call, const struct tensor *map,
                            const struct tensor *by, float factor,
                            const struct tensor *to);
/* to = factor * the sum of the map, or of its product with another that is
 * stored alike, over its places. */
enum assay_status cuda_image_sums(struct cuda_call *call,
                                  const struct tensor *map,
                                  const struct tensor *times, float factor,
                                  const struct tensor *to);

cuda_back cuda_back_mul;

/* cuda_binary.c: y = a * b, of any layouts, repeated to the shape of y. */
enum assay_status cuda_multiply(struct cuda_call *call, const struct tensor *a,
                                const struct tensor *b, const struct tensor *y);

#endif
