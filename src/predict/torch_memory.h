/* predict/torch_memory.h - the memory of a GPU that PyTorch would hold for a
 * network, found by doing what it does with every tensor but the arithmetic.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREDICT_TORCH_MEMORY_H
#define PREDICT_TORCH_MEMORY_H

#include "graph/survey.h"

struct torch_memory {
    double used_mb;     /* by tensors, at its largest in the second step */
    double reserved_mb; /* from the driver, without its context */
};

/* Steps with that many images; the survey is of n_images. Training is by SGD
 * with momentum and weight decay. */
enum assay_status torch_memory_of(const struct graph *graph,
                                  const struct survey *survey, int64_t n_images,
                                  int64_t batch, bool is_training,
                                  struct torch_memory *out, struct error *err);

#endif
