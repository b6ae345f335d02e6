/* predict/fingerprint_internal.h - the contents of a fingerprint.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREDICT_FINGERPRINT_INTERNAL_H
#define PREDICT_FINGERPRINT_INTERNAL_H

#include "predict/fingerprint.h"

/* One target of one stage. */
struct print_part {
    bool is_there;
    struct data_points points;
    struct predictor predictor;
    struct calibration calibration[N_SIGHTS];
};

/* Of the features per image, over the networks that were trained on. */
struct ranges {
    double low[N_FEATURES], high[N_FEATURES];
    double least_batch, most_batch;
};

struct fingerprint {
    char *device;
    enum framework framework; /* N_FRAMEWORKS: several */
    uint64_t seed;
    struct data_set data;
    struct print_part parts[N_STAGES][N_TARGETS];
    struct ranges ranges[N_STAGES];
};

/* "", "assay", "torch", "mixed", and NULL. */
extern const char *const print_frameworks[];

enum assay_status fingerprint_new(struct fingerprint **out, struct error *err);
/* Makes points from the data; parts without enough of them are not there. */
enum assay_status fingerprint_sort_rows(struct fingerprint *fingerprint,
                                        struct error *err);
struct predictor_options
fingerprint_growth(const struct fingerprint *fingerprint, int n_threads);

#endif
