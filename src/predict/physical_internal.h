/* predict/physical_internal.h - shared by the two physical models.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREDICT_PHYSICAL_INTERNAL_H
#define PREDICT_PHYSICAL_INTERNAL_H

#include "predict/physical.h"

/* Which devices have a parameter: those that compute channels in lanes keep
 * different things in memory. */
enum devices { ON_ALL, IN_LANES, NOT_IN_LANES };

/* What is expected of a parameter before anything is measured: its logarithm is
 * normally distributed around that of `centre`. */
struct prior {
    const char *name, *unit;
    double centre, deviation;
    enum devices of;
};

/* How much narrower priors are around a model of the same device. */
static const double about_share = 0.5;

/* What is known of one target on one kind of device. */
struct physical_class {
    const struct prior *priors;
    size_t n_parameters, n_fitted; /* the others, at the end, are facts */
    /* A parameter that fingerprints of earlier versions lack, of which there is
     * then next to nothing; 0: none. */
    size_t lacked;
    enum assay_status (*fit)(struct physical *physical,
                             const struct data_points *points,
                             double n_effective, const struct physical *about,
                             struct error *err);
    double (*predict)(const struct physical *physical,
                      const struct description *description, double batch);
    double (*demand)(const struct physical *physical,
                     const struct description *description, double batch);
    double (*limit)(const struct physical *physical); /* NULL: none */
    /* Of a parameter's prior, in logarithms; and of a row that is predicted
     * well. */
    double (*prior_deviation)(const struct physical *physical, size_t i);
    double (*row_deviation)(void);
    const struct memory_law *memory; /* NULL: of a latency */
};

extern const struct physical_class latency_class, memory_class;
extern const struct physical_class gpu_latency_class, gpu_memory_class;
const struct physical_class *physical_class(const struct physical *physical);

/* ---- latency_fit.c ------------------------------------------------------- */

enum { LATENCY_MAX_SCALES = 4 };

/* How latencies depend on parameters. Scales are factors that several
 * parameters share: the speed of the device, of its launches. They are found
 * from the rows alone, before the priors around them count. */
struct latency_law {
    size_t n_fitted, n_scales;
    /* What is known of each scale in advance; NULL: very little. */
    const struct prior *scale_priors;
    /* Ratios of the scales to one another, to start from: n_starts times
     * n_scales. The best of what they lead to counts. */
    const double *ratios;
    size_t n_starts;
    bool (*is_scaled)(size_t parameter, size_t scale);
    struct prior (*prior)(const void *context, size_t i);
    /* Logarithms of prediction over value, for all points. */
    void (*miss)(const void *context, const double *log_value, double *out);
    const void *context;
};

enum assay_status latency_law_fit(const struct latency_law *law,
                                  const struct data_points *points,
                                  double n_effective,
                                  const struct physical *about,
                                  double *log_value, struct error *err);
double latency_row_deviation(void);

/* ---- memory_fit.c -------------------------------------------------------- */

/* The memory that is needed is a sum of terms, each times a parameter; three
 * more follow: what is used lies between a floor and a ceiling, and runs fail
 * above a limit. */
struct memory_law {
    size_t n_terms;
    /* In MB. */
    void (*terms)(const struct physical *physical,
                  const struct description *description, double batch,
                  double *out);
    struct prior (*prior)(const struct physical *physical, size_t i);
    /* Whether a term is the same for all networks: its prior is then relative
     * to the smallest value that was measured. */
    bool (*is_constant)(size_t i);
};

/* For the table of a class that has such a law. */
double memory_law_demand(const struct physical *physical,
                         const struct description *description, double batch);
double memory_law_predict(const struct physical *physical,
                          const struct description *description, double batch);
double memory_law_limit(const struct physical *physical);
double memory_law_deviation(const struct physical *physical, size_t i);
enum assay_status memory_law_fit(struct physical *physical,
                                 const struct data_points *points,
                                 double n_effective,
                                 const struct physical *about,
                                 struct error *err);
double memory_row_deviation(void);

/* ---- shared -------------------------------------------------------------- */

/* Elements per image, and how many layers they are of.
 *
 * Libraries of GPUs add the bias in a kernel of its own, and sum its gradient
 * in another. Where branches begin, the gradients of all readers of a map are
 * added: a convolution that does not read what the one before it wrote reads a
 * map that others read too, except for one reader per concatenation. Additions
 * of residual networks are counted as such. */
struct branches {
    double biased, n_biased; /* outputs of convolutions with a bias */
    double forked, n_forked; /* inputs that another branch reads too */
};

struct branches branches_of(const struct description *description);

/* Rows are handled in tiles of 32, 64 or 128; smaller tiles are less
 * efficient. */
double tiled(double width);

/* A width in channels, rounded up to whole lanes; the channels of an image are
 * not rounded. */
double widened(double channels, double lane);
double widened_input(const struct conv_row *conv, bool is_first, double lane);

/* The larger (smaller) of two positive numbers, with the corner rounded. */
double soft_max(double a, double b, double sharpness);
double soft_min(double a, double b, double sharpness);

/* One weight per point, for the residuals of logarithms: the points of a
 * network count as n_effective rows of that deviation. The caller frees it;
 * NULL if out of memory. */
double *point_weights(const struct data_points *points, double n_effective,
                      double deviation);

/* ---- levenberg.c: least squares by Levenberg and Marquardt --------------- */

enum { LEVENBERG_MAX_PARAMETERS = 32 };

struct least_squares {
    size_t n_parameters, n_residuals;
    /* Writes n_residuals finite numbers for a vector of parameters. */
    void (*residuals)(const void *context, const double *parameters,
                      double *out);
    const void *context;
    int max_iterations; /* 0: 100 */
};

/* Moves the parameters to a local minimum of the sum of squares, which goes to
 * *cost (may be NULL). Derivatives are differences. */
enum assay_status least_squares_solve(const struct least_squares *problem,
                                      double *parameters, double *cost,
                                      struct error *err);

/* r for small r, growing like a root beyond c: its square is a smooth version
 * of Huber's loss, so that outliers pull less. */
double least_squares_huber(double r, double c);

#endif
