/* train/train_internal.h - the parts of a training.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TRAIN_TRAIN_INTERNAL_H
#define TRAIN_TRAIN_INTERNAL_H

#include "data/loader.h"
#include "train/train.h"
#include "vision/recipe.h"

struct train_data {
    struct dataset *dataset;
    struct loader *loader;
    struct recipe recipe; /* for classifiers */
    struct sample_fit fit;
    struct sink *warnings;
};

struct train_parts {
    const struct train_job *job;
    struct train_plan plan;
    struct train_data data;
    struct str weights; /* the file; empty: random */
    struct pool *pool;
    struct graph *graph;
    struct trainer *trainer;
};

/* ---- train_data.c ------------------------------------------------------- */

/* Opens the dataset of the settings and describes it in the plan. Start from
 * {0}; the caller closes it, also on failure. */
enum assay_status train_data_open(struct train_data *data,
                                  const struct train_config *config,
                                  struct train_plan *plan, struct error *err);
void train_data_close(struct train_data *data);

/* Classes of a model for this dataset: includes the background for a detector,
 * and all of COCO's numbers for COCO. */
int64_t train_data_classes(const struct train_data *data,
                           const struct train_config *config,
                           const struct train_plan *plan);

/* Starts the workers and fills in the plan's steps. The plan must already hold
 * the model's options. */
enum assay_status train_data_start(struct train_data *data,
                                   const struct train_config *config,
                                   struct pool *pool, struct train_plan *plan,
                                   struct error *err);

/* ---- train_model.c ------------------------------------------------------ */

/* Plans which weights to start from, and how to build the model for so many
 * classes. *path is empty for random weights. */
enum assay_status train_model_plan(const struct train_config *config,
                                   int64_t n_classes, struct train_plan *plan,
                                   struct str *path, struct error *err);

/* Builds the model, without data; the caller owns it. For a model from a file,
 * *out is its graph, which is changed for training. */
enum assay_status train_model_build(struct train_plan *plan, struct graph **out,
                                    struct error *err);

/* Loads the weights of the file; what it lacks is random. */
enum assay_status train_model_fill(struct train_plan *plan, const char *path,
                                   struct pool *pool, struct sink *warnings,
                                   struct graph *graph, struct error *err);

/* ---- train_file.c ------------------------------------------------------- */

/* Whether the name of a model is a file name. */
bool train_file_is(const char *name);

/* Reads the file plan->model, with its own weights unless the settings ask for
 * others. Its number of classes and image size go into plan->build.
 * ASSAY_UNSUPPORTED if it is not a classifier. */
enum assay_status train_file_read(const struct train_config *config,
                                  struct train_plan *plan, struct pool *pool,
                                  struct graph **out, struct error *err);

/* Fails if the dataset has more labels than the model has classes. */
enum assay_status train_file_check_classes(const struct train_plan *plan,
                                           int64_t n_labels, struct error *err);

/* ---- train_pictures.c --------------------------------------------------- */

/* Writes NAME_targets.jpg for the first few images into the job's folder for
 * pictures, with the surest boxes of each, and reports the number of both. Does
 * nothing for a classifier. */
enum assay_status train_pictures_write(const struct train_parts *training,
                                       struct train_report *report,
                                       struct error *err);

#endif
