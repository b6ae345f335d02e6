/* detect/recipe.h - how a photograph becomes what a model reads, where the
 * model does not resize it itself.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DETECT_RECIPE_H
#define DETECT_RECIPE_H

#include "models/models.h"
#include "picture/picture.h"

enum recipe_fit {
    FIT_STRETCH,   /* both sides to what is wanted */
    FIT_LETTERBOX, /* all of it, in the middle, padded */
    FIT_CORNER,    /* the same, at the top left */
    FIT_CROP       /* the shorter side to `shorter`, then the middle */
};

enum recipe_order { ORDER_RGB, ORDER_BGR, ORDER_GREY };

struct recipe {
    int width, height; /* 0: what the model declares */
    enum recipe_fit fit;
    int shorter; /* of FIT_CROP */
    int pad;     /* 0 to 255 */
    enum recipe_order order;
    double scale, mean[3], std[3]; /* (pixel * scale - mean) / std */
    bool is_channels_last;
};

/* Stretched to what the model declares, RGB, 0 to 1. */
struct recipe recipe_defaults(void);
/* Torchvision's preset for ImageNet; the usual one for CIFAR. */
struct recipe recipe_of_variant(enum model_variant variant);

/* Where a photograph lies in what the model reads: x_model = x * x_scale +
 * left. */
struct placement {
    double x_scale, y_scale, left, top;
    int width, height; /* of the whole photograph there */
};

struct placement recipe_place(const struct recipe *recipe, int width,
                              int height);

/* Writes one image: as many planes (or values a pixel) as the order has. A
 * photograph of which nothing would be left is ASSAY_BAD_INPUT. */
enum assay_status recipe_apply(const struct recipe *recipe,
                               const struct picture *picture, float *out,
                               struct error *err);
/* Floats that recipe_apply() writes. */
size_t recipe_elements(const struct recipe *recipe);

#endif
