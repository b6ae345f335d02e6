/* detect/intake.h - the photographs that can be used, looked at once before
 * anything is measured.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DETECT_INTAKE_H
#define DETECT_INTAKE_H

#include "detect/detect.h"

/* The least and the most of what the model resizes them to. */
struct intake_sizes {
    int64_t least_width, least_height;
    int64_t most_width, most_height;
};

/* What the model resizes a photograph to. */
struct intake_size {
    int64_t width, height;
};

struct intake {
    const char **paths;        /* borrowed from the photographs; one that is
                                  NULL where values are random */
    struct intake_size *sizes; /* one a path */
    struct photos drawn;       /* what each is called when it is drawn */
    size_t n;
    size_t n_skipped;
    struct intake_sizes resized;
};

/* Reads every photograph once. One that is broken, or so narrow that the model
 * would make nothing of it, is named in options.warnings, counted and left
 * out; ASSAY_BAD_INPUT where none is left. Released also on failure. */
enum assay_status intake_photos(const struct detect_options *options,
                                const struct photos *photos,
                                struct intake *intake, struct error *err);
/* All photographs become of one size, which only the model knew. */
void intake_set_size(struct intake *intake, int64_t width, int64_t height);
void intake_release(struct intake *intake); /* accepts {0} */

#endif
