/* vision/model_inputs.h - shapes and kinds of a model's inputs.
 *
 * A built-in detector reads photographs as they are, one tensor each. Other
 * models read a batch or a single image that a recipe makes from photographs,
 * if one of their inputs looks like that, and besides it what the photographs
 * or the user say (side_inputs.h); or random values.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VISION_MODEL_INPUTS_H
#define VISION_MODEL_INPUTS_H

#include "models/model_open.h"
#include "vision/side_inputs.h"

enum inputs_kind { INPUTS_PHOTOGRAPHS, INPUTS_BATCH, INPUTS_RANDOM };

/* Start from {0}. */
struct model_inputs {
    enum inputs_kind kind;
    struct recipe recipe; /* for a batch, with its size */
    struct shape *shapes; /* one per input of the graph; not of photographs */
    struct side_input *sides; /* the same; once settled */
    struct tensor *values;    /* if random */
    size_t n;
    size_t image; /* the input for photographs; n: none looks like that */
};

/* Settles sizes that the model leaves free. Fails with a message about the size
 * that must be given, or if photographs are given to a model that does not read
 * images. graph: of the model. */
enum assay_status model_inputs_settle(struct model_inputs *inputs,
                                      const struct model_source *model,
                                      const struct vision_options *options,
                                      const struct graph *graph,
                                      struct pool *pool, struct error *err);
/* Only the shapes, as for random values; makes no tensors. */
enum assay_status model_inputs_shapes(struct model_inputs *inputs,
                                      const struct model_source *model,
                                      const struct vision_options *options,
                                      const struct graph *graph,
                                      struct error *err);
/* How many images an input of that shape takes: its first size, or 1 for a
 * single image, [3,h,w] or [h,w,3]. */
int64_t model_inputs_images(const struct shape *shape);
void model_inputs_release(struct model_inputs *inputs);

/* For a batch: writes what an input besides the image says of a photograph of
 * that size, the image `at` of the batch. The input of images stays as it is.
 */
void model_inputs_describe(const struct model_inputs *inputs, size_t input,
                           int width, int height, size_t at, void *data);
/* The size that the model takes the photograph of image `at` for: it is told,
 * or it is that of the image it reads. width and height: of the photograph. */
void model_inputs_size(const struct model_inputs *inputs, size_t at,
                       double *width, double *height);

/* "images 1x3x640x640, mask 1 bool", or "none". */
enum assay_status model_inputs_text(const struct model_inputs *inputs,
                                    const struct graph *graph, struct str *text,
                                    struct error *err);

#endif
