/* session/intake.h - the usable photographs, checked once before anything is
 * measured.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SESSION_INTAKE_H
#define SESSION_INTAKE_H

#include "picture/photos.h"
#include "session/session.h"

/* The range of sizes that the model resizes them to. */
struct intake_sizes {
    int64_t least_width, least_height;
    int64_t most_width, most_height;
};

/* What the model resizes a photograph to. */
struct intake_size {
    int64_t width, height;
};

struct intake {
    const char **paths;        /* borrowed from the photographs; a single NULL
                                  for random values */
    struct intake_size *sizes; /* one per path */
    struct photos drawn;       /* the name of each when it is drawn; the
                                  caller's to choose */
    size_t n;
    size_t n_skipped;
    struct intake_sizes resized;
};

/* Reads every photograph once. One that is broken, or so narrow that resizing
 * would leave nothing, is named in options.warnings, counted and left out;
 * ASSAY_BAD_INPUT if none is left. The caller releases it, also on failure. */
enum assay_status intake_photos(const struct session_options *options,
                                const struct photos *photos,
                                struct intake *intake, struct error *err);
/* Sets one size for all photographs, which only the model knew. */
void intake_set_size(struct intake *intake, int64_t width, int64_t height);
void intake_release(struct intake *intake); /* accepts {0} */

#endif
