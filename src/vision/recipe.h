/* vision/recipe.h - turns a photograph into a model's input, if the model does
 * not resize it itself.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VISION_RECIPE_H
#define VISION_RECIPE_H

#include "models/models.h"
#include "picture/picture.h"

enum recipe_fit {
    FIT_STRETCH,   /* resizes both sides */
    FIT_LETTERBOX, /* keeps the aspect ratio; pads around it */
    FIT_CORNER,    /* the same, at the top left */
    FIT_CROP       /* resizes the shorter side to `shorter`, crops the center */
};

enum recipe_order { ORDER_RGB, ORDER_BGR, ORDER_GREY };

struct recipe {
    int width, height; /* 0: as the model declares */
    enum recipe_fit fit;
    int shorter; /* for FIT_CROP */
    int pad;     /* 0 to 255 */
    enum recipe_order order;
    double scale, mean[3], std[3]; /* (pixel * scale - mean) / std */
    bool is_channels_last;
};

/* Stretched to the model's size, RGB, 0 to 1. */
struct recipe recipe_defaults(void);
/* Torchvision's preset for ImageNet; the usual one for CIFAR. */
struct recipe recipe_of_variant(enum model_variant variant);

/* Where a photograph is in the model's input: x_model = x * x_scale + left. */
struct placement {
    double x_scale, y_scale, left, top;
    int width, height; /* of the whole resized photograph */
};

struct placement recipe_place(const struct recipe *recipe, int width,
                              int height);

/* Writes one image with as many planes (or values per pixel) as the order has.
 * ASSAY_BAD_INPUT if a side of the photograph would become 0. */
enum assay_status recipe_apply(const struct recipe *recipe,
                               const struct picture *picture, float *out,
                               struct error *err);
/* The number of floats that recipe_apply() writes. */
size_t recipe_elements(const struct recipe *recipe);

#endif
