/* predict/fingerprint.h - how a device runs networks, learned from
 * measurements.
 *
 * Contains the rows it was made from and their networks, so that the file is
 * all that a prediction needs. docs/fingerprint.md describes the format.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREDICT_FINGERPRINT_H
#define PREDICT_FINGERPRINT_H

#include "base/sink.h"
#include "predict/calibration.h"
#include "predict/features.h"
#include "predict/selection.h"

enum { FINGERPRINT_VERSION = 5, FINGERPRINT_OLDEST = 4 };

struct fingerprint;

struct fingerprint_options {
    const char *device; /* its name, or NULL */
    /* Whose rows to learn from. FRAMEWORK_UNKNOWN: the only one there is, and
     * several are refused; N_FRAMEWORKS: all together. */
    enum framework framework;
    enum method method; /* N_METHODS: choose the best on rows held back */
    uint64_t seed;      /* of the forests */
    int n_threads;
};

/* Learns from the selected rows. Refuses too few of them: fewer than 8 values
 * of both targets, or a single batch size. */
enum assay_status fingerprint_fit(const struct data_set *set,
                                  const struct selection *selection,
                                  const struct fingerprint_options *options,
                                  struct fingerprint **out, struct error *err);
void fingerprint_free(struct fingerprint *fingerprint); /* accepts NULL */
/* Checks the rows as fingerprint_fit() does, but learns nothing: *out knows its
 * rows (fingerprint_has(), fingerprint_saw()), but cannot predict. */
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
/* The same for a text; messages call it by name. */
enum assay_status fingerprint_read_text(const char *name, const char *text,
                                        int n_threads, struct fingerprint **out,
                                        struct error *err);

/* ---- what it knows ------------------------------------------------------- */

const char *fingerprint_device(const struct fingerprint *fingerprint); /* "" */
double fingerprint_capacity_mb(const struct fingerprint *fingerprint); /* NAN */
/* Whose costs it predicts; N_FRAMEWORKS: of several together. */
enum framework fingerprint_framework(const struct fingerprint *fingerprint);
/* "", "assay", "torch" or "mixed". */
const char *fingerprint_framework_name(const struct fingerprint *fingerprint);
/* Whether it may be compared with rows of that framework: not if both are
 * known and differ. */
bool fingerprint_judges(const struct fingerprint *fingerprint,
                        enum framework framework);
bool fingerprint_has(const struct fingerprint *fingerprint, enum stage stage,
                     enum target target);
/* The rows it was made from. */
const struct data_set *fingerprint_data(const struct fingerprint *fingerprint);
/* The rows of that stage that have the target. */
size_t fingerprint_row_count(const struct fingerprint *fingerprint,
                             enum stage stage, enum target target);
const struct calibration *
fingerprint_calibration(const struct fingerprint *fingerprint, enum stage stage,
                        enum target target, enum sight sight);
/* The physical model of all networks. */
const struct physical *
fingerprint_physical(const struct fingerprint *fingerprint, enum stage stage,
                     enum target target);
/* The smallest and the largest batch of a run that passed. */
void fingerprint_batches(const struct fingerprint *fingerprint,
                         enum stage stage, double *least, double *most);
/* Whether rows of this network at this level were trained on. */
bool fingerprint_saw(const struct fingerprint *fingerprint,
                     const struct description *description);

/* ---- predicting ---------------------------------------------------------- */

struct estimate {
    double value;     /* ms per step; MB */
    double low, high; /* a 90 % interval; NAN: unknown */
    double demand;    /* MB without a limit on the device; only of memory */
    enum method method;
    enum sight sight;
};

/* The fingerprint must have the target. ASSAY_BAD_INPUT if it makes no finite
 * prediction. */
enum assay_status fingerprint_predict(const struct fingerprint *fingerprint,
                                      enum stage stage, enum target target,
                                      const struct description *description,
                                      double batch, struct estimate *out,
                                      struct error *err);

/* ASSAY_UNSUPPORTED if the network lies outside of what was seen; the message
 * says in which feature, and how far. */
enum assay_status fingerprint_check(const struct fingerprint *fingerprint,
                                    enum stage stage,
                                    const struct description *description,
                                    struct error *err);

enum fit { FIT_YES, FIT_MAYBE, FIT_NO };

/* How much memory a network may use on a device with so much (NAN: the one that
 * was measured): the limit at which runs failed there, less what this device
 * has less. NAN: unknown. */
double fingerprint_usable_mb(const struct fingerprint *fingerprint,
                             enum stage stage, double memory_mb);
/* For an estimate of memory; FIT_MAYBE if the limit is inside the interval. */
enum fit estimate_fits(const struct estimate *estimate, double usable_mb);

#endif
