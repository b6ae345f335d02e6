/* predict/fingerprint_eval.h - how well a fingerprint predicts rows it has not
 * seen.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREDICT_FINGERPRINT_EVAL_H
#define PREDICT_FINGERPRINT_EVAL_H

#include "picture/sheet.h"
#include "predict/fingerprint.h"

/* Of relative errors in percent; NAN if n is 0. */
struct error_stats {
    size_t n;
    double mean, median, p90, max;
    double coverage; /* percent of the rows inside their interval; NAN: no
                        intervals */
    double width; /* mean of the intervals, from end to end, in percent of the
                     prediction; NAN: no intervals */
};

/* One target of one row. */
struct evaluated {
    size_t network; /* index in the evaluation */
    int64_t level;
    enum stage stage;
    enum target target;
    double batch, measured;
    struct estimate estimate;
};

struct evaluated_network {
    const char *name; /* borrowed from the data set */
    struct error_stats stats[N_TARGETS];
};

/* Start from {0}. */
struct evaluation {
    struct evaluated_network *networks; /* in the order of the rows */
    size_t n_networks, networks_capacity;
    struct evaluated *rows;
    size_t n_rows, rows_capacity;
    size_t n_seen; /* rows that it was made from, left out */
    /* Whether it fits, for all rows with memory, including failed ones. */
    size_t n_right, n_wrong, n_undecided;
};

/* The set must outlive the evaluation. with_seen: include the rows that the
 * fingerprint was made from. ASSAY_BAD_USAGE if no row is left. */
enum assay_status evaluate(struct evaluation *evaluation,
                           const struct fingerprint *fingerprint,
                           const struct data_set *set,
                           const struct selection *selection, bool with_seen,
                           struct error *err);
/* Fails like evaluate() if no row is left, without predicting any. */
enum assay_status evaluation_check(const struct fingerprint *fingerprint,
                                   const struct data_set *set,
                                   const struct selection *selection,
                                   size_t *n_seen, struct error *err);
void evaluation_release(struct evaluation *evaluation);

/* A page: predicted against measured values, and the error by batch size. */
enum assay_status evaluation_plot(const struct evaluation *evaluation,
                                  const struct fingerprint *fingerprint,
                                  enum sheet_format format, struct sink *sink,
                                  struct error *err);

#endif
