/* vision/candidates_internal.h - boxes with a sufficient score, before those
 * that overlap better ones are dropped.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VISION_CANDIDATES_INTERNAL_H
#define VISION_CANDIDATES_INTERNAL_H

#include "vision/found.h"

/* In pixels of the photograph. */
struct candidates {
    struct box *boxes;
    float *scores;
    int64_t *labels;
    uint32_t *kept;
    size_t n, room;
    struct placement place; /* of the photograph in the model's input */
    float least_score;
};

enum assay_status candidates_init(struct candidates *list,
                                  const struct found_source *source,
                                  size_t room, struct error *err);
void candidates_release(struct candidates *list);

/* Adds a box in pixels of the model's input, if its score suffices. */
void candidates_add(struct candidates *list, struct box box, float score,
                    int64_t label);

/* Drops boxes that overlap a better one of their class, and adds the rest to
 * what was found. */
enum assay_status candidates_keep_best(struct candidates *list,
                                       const struct found_source *source,
                                       size_t n_classes, struct found *found,
                                       struct error *err);
/* Adds all to what was found, the highest score first. */
enum assay_status candidates_keep_all(struct candidates *list,
                                      struct found *found, struct error *err);

/* The place of the largest of n values, `step` apart. */
size_t candidates_best(const float *values, size_t n, size_t step);

/* How many cells the grid of that stride has over the model's input. */
size_t candidates_cells(const struct recipe *recipe, int stride);
/* The same for n grids, each with twice the stride of the one before. */
size_t candidates_cells_of(const struct recipe *recipe, int stride, int n);

#endif
