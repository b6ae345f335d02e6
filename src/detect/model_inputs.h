/* detect/model_inputs.h - what a model wants to read, and what it is given.
 *
 * A built-in detector reads photographs as they are, one tensor each. Anything
 * else reads a batch, or one image alone, that a recipe makes of photographs,
 * where its only input looks like that, or random values.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DETECT_MODEL_INPUTS_H
#define DETECT_MODEL_INPUTS_H

#include "detect/detect.h"

enum inputs_kind { INPUTS_PHOTOGRAPHS, INPUTS_BATCH, INPUTS_RANDOM };

/* Start from {0}. */
struct model_inputs {
    enum inputs_kind kind;
    struct recipe recipe;  /* of a batch, with its size */
    struct shape *shapes;  /* one an input of the graph; not of photographs */
    struct tensor *values; /* the random ones */
    size_t n;
};

/* Settles sizes that the model leaves free. Fails with a sentence that says
 * which option gives one, and where photographs were given to a model whose
 * input is no image. */
enum assay_status model_inputs_settle(struct model_inputs *inputs,
                                      const struct detect_options *options,
                                      const struct graph *graph,
                                      struct pool *pool, struct error *err);
/* The shapes alone, of what would be random values: nothing is made. */
enum assay_status model_inputs_shapes(struct model_inputs *inputs,
                                      const struct detect_options *options,
                                      const struct graph *graph,
                                      struct error *err);
/* How many images an input of that shape takes: its first size, and 1 where it
 * is one image alone, [3,h,w] or [h,w,3]. */
int64_t model_inputs_images(const struct shape *shape);
void model_inputs_release(struct model_inputs *inputs);

/* "images 1x3x640x640 float32, seed 0": what the random values are; "none". */
enum assay_status model_inputs_text(const struct model_inputs *inputs,
                                    const struct graph *graph, struct str *text,
                                    struct error *err);

#endif
