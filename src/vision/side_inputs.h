/* vision/side_inputs.h - what a model reads besides the image.
 *
 * Detectors that scale their boxes themselves take the size of the photograph
 * as an input of its own. Those with the names that exporters use are known;
 * the user gives the numbers of any other.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VISION_SIDE_INPUTS_H
#define VISION_SIDE_INPUTS_H

#include "tensor/tensor.h"
#include "vision/vision.h"

/* What the name of an input says about its numbers: two, but for the last
 * ones. */
enum side_meaning {
    SIDE_UNKNOWN,
    SIDE_WIDTH_HEIGHT, /* of the photograph */
    SIDE_HEIGHT_WIDTH,
    SIDE_RESIZED, /* height and width of the photograph after resizing */
    SIDE_SCALES,  /* what resizing multiplied them by */
    SIDE_INFO,    /* three: SIDE_RESIZED, and the scale of the height */
    SIDE_ONES     /* any: all of the image is to be looked at */
};

/* Start from {0}. */
struct side_input {
    const char *name; /* borrowed from the graph */
    enum dtype dtype;
    struct shape shape;
    size_t each;     /* elements per image */
    size_t n_images; /* 1 if all images share the elements */
    enum side_meaning meaning;
    double *numbers; /* all elements, if the user gave them */
};

/* name and shape: of the input, for a batch of so many images. */
void side_input_init(struct side_input *side, const char *name,
                     enum dtype dtype, const struct shape *shape,
                     int64_t batch);
void side_input_release(struct side_input *side);

/* Reads the user's text: one number for all elements, those of one image, or
 * all, with x or commas between them; true and false for bool.
 * ASSAY_BAD_USAGE if they do not fit the type or the number of elements. */
enum assay_status side_input_give(struct side_input *side, const char *text,
                                  struct error *err);
/* Whether its elements are given or can be told from a photograph. */
bool side_input_is_known(const struct side_input *side);
/* For an input that is not. */
enum assay_status side_input_refuse(const struct side_input *side,
                                    struct error *err);

/* Writes the elements for the image `at` of a batch, whose photograph has that
 * size. */
void side_input_write(const struct side_input *side,
                      const struct recipe *recipe, int width, int height,
                      size_t at, void *data);
/* The size that the model takes the photograph of image `at` for, if this input
 * tells it. */
bool side_input_size(const struct side_input *side, size_t at, double *width,
                     double *height);

#endif
