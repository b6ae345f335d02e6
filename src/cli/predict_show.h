/* cli/predict_show.h - predictions on the screen.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_PREDICT_SHOW_H
#define CLI_PREDICT_SHOW_H

#include "base/term.h"
#include "predict/fingerprint.h"

/* One batch size. */
struct predicted {
    int64_t batch;
    struct estimate of[N_TARGETS];
    enum fit fit;
};

struct prediction {
    const struct fingerprint *fingerprint;
    const char *network;
    const char *family; /* the fingerprint's name for what it was pruned from;
                           NULL: the fingerprint does not know it */
    enum stage stage;
    bool has[N_TARGETS];
    struct predicted *rows;
    size_t n_rows;
    double usable_mb;      /* NAN: not known */
    double memory_mb;      /* all of it; NAN: not known */
    double capacity_mb;    /* of the measured device; NAN: not known */
    int64_t largest;       /* batch that fits, in the range; 0: none */
    int64_t surely, maybe; /* the largest that certainly fits, and the largest
                              that may */
    int64_t last;          /* the largest batch of the range */
    const char *outside;   /* why it should be refused; NULL: it should not */
    const struct uncounted_row *uncounted; /* layers not in the sum */
    size_t n_uncounted;
};

void prediction_show_table(const struct prediction *prediction,
                           struct sink *sink, const struct term *term);
void prediction_show_json(const struct prediction *prediction,
                          struct sink *sink);

#endif
