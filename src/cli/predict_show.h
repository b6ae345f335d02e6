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
    const char *family; /* that it is a level of, as the fingerprint calls it;
                           NULL: it was not made from it */
    enum stage stage;
    bool has[N_TARGETS];
    struct predicted *rows;
    size_t n_rows;
    double usable_mb;      /* NAN: not known */
    int64_t largest;       /* that fits, as far as was asked; 0: none */
    int64_t surely, maybe; /* the largest that fits beyond doubt, and the
                              largest that may */
    int64_t last;          /* the largest that was asked for */
    const char *outside;   /* why it should be refused; NULL: it should not */
    const struct uncounted_row *uncounted; /* layers left out of the sum */
    size_t n_uncounted;
};

void prediction_show_table(const struct prediction *prediction,
                           struct sink *sink, const struct term *term);
void prediction_show_json(const struct prediction *prediction,
                          struct sink *sink);

#endif
