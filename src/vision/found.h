/* vision/found.h - what a model found on one photograph, decoded from its
 * outputs.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VISION_FOUND_H
#define VISION_FOUND_H

#include "ops/detection/boxes.h"
#include "run/run.h"
#include "vision/vision.h"

struct found_item {
    struct box box; /* in pixels of the photograph; unused for classes */
    float score;
    int64_t label;
    const uint8_t *mask; /* or NULL; borrowed from the outputs */
};

/* Start from {0}. The highest score comes first. */
struct found {
    struct found_item *items;
    size_t n, capacity;
    bool has_boxes;
};

void found_release(struct found *found);
/* Makes room for n more. */
enum assay_status found_reserve(struct found *found, size_t n,
                                struct error *err);

/* The input of the decoders. */
struct found_source {
    const struct vision_options *options;
    const struct tensor *outputs;   /* of the model */
    size_t n_outputs;               /* 0: not run yet, only for names */
    const struct recipe *recipe;    /* that made the model's inputs */
    struct pool *pool;              /* for temporary memory */
    size_t image;                   /* its index in the batch */
    int width, height;              /* of the photograph */
    double told_width, told_height; /* what the model takes it for; see
                                       model_inputs_size() */
};

/* Decodes the outputs as options.decode says. ASSAY_BAD_USAGE if they have
 * other shapes, with the decoder that fits, if there is one. */
enum assay_status found_decode(const struct found_source *source,
                               struct found *found, struct error *err);

/* The name of a class: the user's, COCO's if the model fits, or its number,
 * written to the buffer. */
const char *found_name(const struct found_source *source, int64_t label,
                       char *buffer, size_t size);

/* Adds the items with a sufficient score, or all classes, to the run. name: of
 * the photograph. */
enum assay_status found_tell(const struct found *found,
                             const struct found_source *source,
                             const char *name, struct run *run,
                             struct error *err);

#endif
