/* run/content.h - how the time of an image goes with what is in it.
 *
 * A detector's time depends on the picture. Reads the series "input.photo" and
 * "content.*" of a run beside its iterations.
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

/* What the time is put down to. A term of which all photographs have the same,
 * or which follows from the others, cannot be told. */
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

/* time = base + sum of terms[i] * what the photograph has of it, by least
 * squares over the medians of the photographs. */
struct content_fit {
    size_t n; /* photographs; 0: too few, or all alike: no fit */
    double base_ns;
    double terms_ns[N_CONTENT_TERMS]; /* NaN: left out */
    double r2;                        /* of the differences, explained */
};

/* A photograph, with the median over its iterations. */
struct content_photo {
    uint32_t label; /* of "input.photo" */
    size_t runs;
    double median_ns, min_ns;
    double terms[N_CONTENT_TERMS]; /* means; NaN: not known */
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
    char reason[96]; /* why that one; "" where nothing explains it */
    double p99_ns;   /* of an image of the set; NaN below 10 iterations */
    struct content_fit fit;
    struct content_part parts[CONTENT_MAX_PARTS];
    size_t n_parts;
};

/* Of a sealed run; released by the caller, also on failure. A run that knows
 * nothing of photographs gives an empty one. */
enum assay_status run_content(const struct run *run, struct content *out,
                              struct error *err);
void content_release(struct content *content);

/* The name of a photograph. */
const char *content_name(const struct run *run,
                         const struct content_photo *photo);

/* Least squares of `n` rows of N_CONTENT_TERMS values (rows of which one is
 * NaN must not have that term in any), on their own for tests. */
struct content_fit content_fit(const struct content_photo *photos, size_t n);

#endif
