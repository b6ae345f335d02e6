/* predict/predictor.h - all ways to predict one target of one stage.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREDICT_PREDICTOR_H
#define PREDICT_PREDICTOR_H

#include "predict/curve.h"
#include "predict/doubt.h"
#include "predict/forest.h"
#include "predict/physical.h"

enum method {
    METHOD_PHYSICAL, /* the physical model */
    METHOD_FOREST,   /* extremely randomised trees on the features */
    METHOD_HYBRID,   /* the physical model, half corrected by a forest */
    METHOD_CURVE,    /* curves of the network itself */
    METHOD_BLEND,    /* the mean of curves, physical model and forest */
    N_METHODS
};

extern const char *const method_names[]; /* ends with NULL */

/* Curves and blends only work for networks that were trained on. */
bool method_is_for_all(enum method method);

/* A network with enough levels to be fitted by itself. */
struct family {
    const char *network; /* borrowed from a description */
    struct curve curves[N_CURVE_AXES];
    struct physical physical;
    struct batch_bias bias[N_CURVE_AXES + 1]; /* that of the physical model
                                                 last */
    /* Its levels and their multiply-adds, in ascending order of the level. */
    double *levels, *macs;
    size_t n_levels;
};

/* Start from {0}. */
struct predictor {
    enum target target;
    enum stage stage;
    struct physical physical; /* of all networks */
    struct doubt doubt;       /* about it */
    struct forest *forest, *correction;
    double least, most; /* of the values: forests cannot predict beyond them */
    double most_macs;   /* of a row's batch: nor beyond this */
    struct family *families;
    size_t n_families;
};

void predictor_release(struct predictor *predictor);

struct predictor_options {
    uint64_t seed;
    size_t n_trees; /* per forest; 0: the default */
    int n_threads;
    bool needs_correction, needs_families; /* what is left out cannot be
                                              predicted with */
    bool needs_doubt;
};

/* The points' descriptions must outlive it. A network with fewer than two
 * levels is not a family. */
enum assay_status predictor_fit(struct predictor *predictor,
                                const struct data_points *points,
                                const struct predictor_options *options,
                                struct error *err);
/* Only what follows from rows and parameters, for a predictor whose parameters
 * are known: the forests and the doubt. */
enum assay_status predictor_grow(struct predictor *predictor,
                                 const struct data_points *points,
                                 const struct predictor_options *options,
                                 struct error *err);

/* Adds a family whose parameters are known, with its levels; *out is NULL if
 * the points have no such network or it is already there. predictor->families
 * must have room for one per network. */
enum assay_status predictor_add_family(struct predictor *predictor,
                                       const struct data_points *points,
                                       const char *network, struct family **out,
                                       struct error *err);

/* By name; NULL if it was not trained on. */
const struct family *predictor_family(const struct predictor *predictor,
                                      const char *network);
/* The level of a network of the family: its own, or what its multiply-adds
 * suggest. */
double family_level(const struct family *family,
                    const struct description *description);
/* The distance to the nearest level that was trained on, times three outside of
 * their range. */
double family_distance(const struct family *family, double level);

/* The deviation to expect for a network that was not trained on, as a
 * logarithm; NAN: unknown. */
double predictor_doubt(const struct predictor *predictor,
                       const struct description *description, double batch);

/* Milliseconds or MB. family NULL: a network that was not trained on. */
double predictor_predict(const struct predictor *predictor, enum method method,
                         const struct family *family,
                         const struct description *description, double batch);

#endif
