/* data/census.h - counts what a dataset holds.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DATA_CENSUS_H
#define DATA_CENSUS_H

#include "base/progress.h"
#include "data/dataset.h"

struct census_options {
    bool reads_images; /* check that every image is intact and has its size */
    struct progress *progress; /* counts samples; or NULL */
    /* Reports a sample or a box that cannot be used. */
    void (*odd)(void *context, const char *line);
    void *context;
};

/* Start from {0}. */
struct census {
    size_t n_samples;
    size_t n_bad;     /* that cannot be used */
    size_t n_without; /* without a box, if the dataset has boxes */
    size_t n_boxes;   /* without crowds */
    size_t n_crowds;
    size_t n_cut;                  /* boxes that reach out of their image */
    size_t n_left_out;             /* boxes without a size, or outside */
    size_t *n_of_class;            /* boxes, or images if there are no boxes */
    size_t n_sized;                /* samples whose size is known */
    int least_width, least_height; /* of those */
    int most_width, most_height;
};

/* The caller releases *out, also on failure. */
enum assay_status census_dataset(const struct dataset *dataset,
                                 const struct census_options *options,
                                 struct census *out, struct error *err);
void census_release(struct census *census);

#endif
