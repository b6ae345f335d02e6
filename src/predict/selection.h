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

/* Names separated by commas, each with levels after a colon, or all levels. A
 * number or range after a comma is another level of the network before it.
 * Levels outside of 0 to 95 are refused with their position. */
enum assay_status selection_parse(struct selection *selection, const char *text,
                                  struct error *err);
void selection_release(struct selection *selection);

bool selection_has(const struct selection *selection,
                   const struct description *description);
/* Fails if a network of the selection has no rows in the set, or none at the
 * selected levels; the message lists the networks or levels that have. */
enum assay_status selection_check(const struct selection *selection,
                                  const struct data_set *set,
                                  struct error *err);

#endif
