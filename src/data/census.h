/* data/census.h - what a dataset holds, counted.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DATA_CENSUS_H
#define DATA_CENSUS_H

#include "base/progress.h"
#include "data/dataset.h"

struct census_options {
    bool reads_images; /* every one: whether it is whole, and of its size */
    struct progress *progress; /* NULL: none; counts samples */
    /* Told of a sample that cannot be used, or a box. */
    void (*odd)(void *context, const char *line);
    void *context;
};

/* Start from {0}. */
struct census {
    size_t n_samples;
    size_t n_bad;     /* of them: those that cannot be used */
    size_t n_without; /* of them: those without a box, where others have some */
    size_t n_boxes;   /* crowds not counted */
    size_t n_crowds;
    size_t n_cut;                  /* boxes that reach out of their image */
    size_t n_left_out;             /* boxes of no size, or outside */
    size_t *n_of_class;            /* boxes, or images where there are none */
    size_t n_sized;                /* samples whose size is known */
    int least_width, least_height; /* of those */
    int most_width, most_height;
};

/* Released also on failure. */
enum assay_status census_dataset(const struct dataset *dataset,
                                 const struct census_options *options,
                                 struct census *out, struct error *err);
void census_release(struct census *census);

#endif
