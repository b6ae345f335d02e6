/* run/content.h - how the time per image depends on what is in the image.
 *
 * A detector's time depends on the picture. Reads the series "input.photo" and
 * "content.*" of a run along with its iterations.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RUN_CONTENT_H
#define RUN_CONTENT_H

#include "run/run.h"

/* Of a series over the iterations; n 0: there is none. */
struct content_spread {
    size_t n;
    double mean, least, most, p5;
};

/* What the time depends on. A term that is the same in all photographs, or
 * follows from the others, is left out of the fit. */
#define RUN_CONTENT_TERMS(X)                                                   \
    X(CONTENT_PROPOSALS, "proposals", "proposal")                              \
    X(CONTENT_DETECTIONS, "detections", "detection")                           \
    X(CONTENT_PIXELS, "megapixels", "megapixel")

enum content_term {
#define RUN_CONTENT_ENUM(name, many, one) name,
    RUN_CONTENT_TERMS(RUN_CONTENT_ENUM)
#undef RUN_CONTENT_ENUM
        N_CONTENT_TERMS
};

const char *content_term_text(enum content_term term); /* "proposals" */
const char *content_term_one(enum content_term term);  /* "proposal" */

/* time = base + sum of terms[i] * the photograph's amount of it, by least
 * squares over the medians of the photographs. */
struct content_fit {
    size_t n; /* photographs; 0: no fit: too few, or all alike */
    double base_ns;
    double terms_ns[N_CONTENT_TERMS]; /* NaN: left out */
    double r2;                        /* share of the differences explained */
};

/* A photograph, with the median over its iterations. */
struct content_photo {
    uint32_t label; /* of "input.photo" */
    size_t runs;
    double median_ns, min_ns;
    double terms[N_CONTENT_TERMS]; /* means; NaN: unknown */
};

/* A part of the model whose time depends on the picture. */
struct content_part {
    uint32_t scope;
    double median_ns, min_ns, max_ns;
};

enum { CONTENT_MAX_PARTS = 8 };

struct content {
    struct content_spread proposals, detections;
    struct content_photo *photos; /* by label; n_photos 0: nothing is known */
    size_t n_photos;
    size_t slowest;  /* index of a photo */
    char reason[96]; /* why that one; "" if nothing explains it */
    double p99_ns;   /* of an image in the set; NaN below 100 iterations */
    struct content_fit fit;
    struct content_part parts[CONTENT_MAX_PARTS];
    size_t n_parts;
};

/* For a sealed run; the caller releases it, even on failure. Empty if the run
 * has no photographs. */
enum assay_status run_content(const struct run *run, struct content *out,
                              struct error *err);
void content_release(struct content *content);

/* The name of a photograph. */
const char *content_name(const struct run *run,
                         const struct content_photo *photo);

/* Least squares over n photographs; exposed for tests. A term that is NaN in
 * any photograph is left out. */
struct content_fit content_fit(const struct content_photo *photos, size_t n);

#endif
