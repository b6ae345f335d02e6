/* predict/fingerprint.h - what a device makes of networks, learned from what
 * was measured on it.
 *
 * Carries the rows it was made from and the networks they are of, so that the
 * file is all that a prediction needs. docs/fingerprint.md has the format.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREDICT_FINGERPRINT_H
#define PREDICT_FINGERPRINT_H

#include "base/sink.h"
#include "predict/calibration.h"
#include "predict/features.h"
#include "predict/selection.h"

enum { FINGERPRINT_VERSION = 2 };

struct fingerprint;

struct fingerprint_options {
    const char *device; /* its name; NULL: none */
    enum method method; /* N_METHODS: the best on rows held back */
    uint64_t seed;      /* of the forests */
    int n_threads;
};

/* Learns from the selected rows. Too few of them (fewer than 8 values of both
 * targets, or a single batch size) are refused. */
enum assay_status fingerprint_fit(const struct data_set *set,
                                  const struct selection *selection,
                                  const struct fingerprint_options *options,
                                  struct fingerprint **out, struct error *err);
void fingerprint_free(struct fingerprint *fingerprint); /* accepts NULL */
/* Fails as fingerprint_fit() would over rows that it refuses, and learns
 * nothing: *out knows which rows it has (fingerprint_has(),
 * fingerprint_saw()), and cannot predict. */
enum assay_status fingerprint_gather(const struct data_set *set,
                                     const struct selection *selection,
                                     const struct fingerprint_options *options,
                                     struct fingerprint **out,
                                     struct error *err);

enum assay_status fingerprint_write(const struct fingerprint *fingerprint,
                                    struct sink *sink, struct error *err);
/* ASSAY_UNSUPPORTED for a file of another version. */
enum assay_status fingerprint_read(const char *path, int n_threads,
                                   struct fingerprint **out, struct error *err);
/* The same for a text; name is what messages call it. */
enum assay_status fingerprint_read_text(const char *name, const char *text,
                                        int n_threads, struct fingerprint **out,
                                        struct error *err);

/* ---- what it knows ------------------------------------------------------- */

const char *fingerprint_device(const struct fingerprint *fingerprint); /* "" */
double fingerprint_capacity_mb(const struct fingerprint *fingerprint); /* NAN */
bool fingerprint_has(const struct fingerprint *fingerprint, enum stage stage,
                     enum target target);
/* The rows it was made from. */
const struct data_set *fingerprint_data(const struct fingerprint *fingerprint);
/* Rows of that stage that have the target. */
size_t fingerprint_row_count(const struct fingerprint *fingerprint,
                             enum stage stage, enum target target);
const struct calibration *
fingerprint_calibration(const struct fingerprint *fingerprint, enum stage stage,
                        enum target target, enum sight sight);
/* A parameter of the physical model of all networks; whether this device has
 * it, see physical_uses(). */
double fingerprint_parameter(const struct fingerprint *fingerprint,
                             enum stage stage, enum target target, size_t i);
bool fingerprint_has_parameter(const struct fingerprint *fingerprint,
                               enum stage stage, enum target target, size_t i);
/* The smallest and the largest batch of a run that passed. */
void fingerprint_batches(const struct fingerprint *fingerprint,
                         enum stage stage, double *least, double *most);
/* Whether rows of this network at this level were trained on. */
bool fingerprint_saw(const struct fingerprint *fingerprint,
                     const struct description *description);

/* ---- predicting ---------------------------------------------------------- */

struct estimate {
    double value;     /* milliseconds a step; MB */
    double low, high; /* 90 % lie between; NAN: not known */
    double demand;    /* MB, if the device had no limit; of memory */
    enum method method;
    enum sight sight;
};

/* The fingerprint must have the target. Only ASSAY_NOMEM can come back. */
enum assay_status fingerprint_predict(const struct fingerprint *fingerprint,
                                      enum stage stage, enum target target,
                                      const struct description *description,
                                      double batch, struct estimate *out,
                                      struct error *err);

/* ASSAY_UNSUPPORTED where the network lies outside of what was seen: says
 * which feature, and how far. */
enum assay_status fingerprint_check(const struct fingerprint *fingerprint,
                                    enum stage stage,
                                    const struct description *description,
                                    struct error *err);

enum fit { FIT_YES, FIT_MAYBE, FIT_NO };

/* How much a network may want on a device of that memory (NAN: the one that
 * was measured): where runs failed there, less what this one has less. NAN:
 * not known. */
double fingerprint_usable_mb(const struct fingerprint *fingerprint,
                             enum stage stage, double memory_mb);
/* Of an estimate of memory; FIT_MAYBE where the interval holds the limit. */
enum fit estimate_fits(const struct estimate *estimate, double usable_mb);

#endif
