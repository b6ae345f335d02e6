/* predict/selection.h - some networks at some levels:
 * resnet18,resnet50:0,30,50..70
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREDICT_SELECTION_H
#define PREDICT_SELECTION_H

#include "predict/data_folder.h"

struct selected_levels {
    char *network;
    int64_t first, last;
};

/* Start from {0}; that selects everything. */
struct selection {
    struct selected_levels *items;
    size_t n, capacity;
};

/* Names separated by commas, each with levels behind a colon or without: all.
 * What follows a comma and is a number or a range is another level of the
 * network before. Levels outside of 0 to 95 are refused, with the place. */
enum assay_status selection_parse(struct selection *selection, const char *text,
                                  struct error *err);
void selection_release(struct selection *selection);

bool selection_has(const struct selection *selection,
                   const struct description *description);
/* Fails where a network of the selection has no rows in the set, or none at the
 * selected levels, and names those that do, or the levels. */
enum assay_status selection_check(const struct selection *selection,
                                  const struct data_set *set,
                                  struct error *err);

#endif
