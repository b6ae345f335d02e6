/* models/model_open.h - opens a model, built in or from a file, and loads its
 * weights.
 *
 * SPDX-License-Identifier: MIT */
#ifndef MODELS_MODEL_OPEN_H
#define MODELS_MODEL_OPEN_H

#include "formats/model_file.h"
#include "models/models.h"

struct model_source {
    const char *name; /* the full name of a built-in model, or a file's path */
    bool is_file;
    struct model_options build; /* of a built-in model; n_images of any model */
    struct model_file_options file; /* of a file */
    const char *weights; /* a checkpoint for a built-in model; NULL: none */
    uint64_t seed;       /* for random weights */
};

/* Whether it is a built-in model for one of the two tasks. */
bool model_is_detector(const struct model_source *source);
bool model_is_classifier(const struct model_source *source);

/* Makes the graph, with the data of a file; a built-in model has none yet. The
 * caller frees *out. */
enum assay_status model_open(const struct model_source *source,
                             struct pool *pool, struct graph **out,
                             struct error *err);

/* Gives the graph of an opened model the weights that it still lacks, from the
 * checkpoint or at random. problems gets up to ten tensors of each kind that do
 * not fit, and how many more there are; it may be NULL. */
enum assay_status model_load_weights(const struct model_source *source,
                                     struct graph *graph, struct pool *pool,
                                     struct sink *problems, struct error *err);

#endif
