/* train/train.h - a training, from its settings to a run file and weights.
 *
 * Opens the dataset, builds the model, finds its first weights, records the
 * steps and leaves what was asked for. Stands on trainer.h, which has the
 * steps. One at a time in a process: there is one recorder.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TRAIN_TRAIN_H
#define TRAIN_TRAIN_H

#include "base/sink.h"
#include "machine/machine.h"
#include "models/models.h"
#include "train/config.h"

#include <signal.h>

/* What the settings come to once dataset and weights are known. */
struct train_plan {
    const char *model;  /* its full name */
    struct str weights; /* "random (seed 0)", or the file */
    struct str renewed; /* modules of the file that were made anew, for
                           other classes: "roi_heads.box_predictor" */
    struct str dataset; /* "oxford-iiit-pet in data/oxford-iiit-pet" */
    uint64_t n_samples;
    struct model_options build;
    int64_t trainable_layers; /* of a detector's backbone; -1: not one */
    uint64_t parameters, trainable_parameters;
    int n_threads, n_workers;
    uint64_t epoch_steps, n_steps;
    uint64_t first_step; /* more than 0 where a checkpoint is resumed */
};

/* A step that has ended. */
struct train_step {
    uint64_t step, n_steps;   /* from 1 */
    uint64_t epoch, n_epochs; /* from 1 */
    size_t n_images;          /* of this step */
    double loss;              /* the sum of its parts */
    const char *const *part_names;
    const double *parts;
    size_t n_parts;
    double learning_rate;
    int64_t duration_ns;
    int64_t wait_ns; /* of it, for the data */
};

/* Told as it happens, on the thread that trains. Each may be NULL. */
struct train_watch {
    void (*planned)(void *context, const struct train_plan *plan);
    void (*stepped)(void *context, const struct train_step *step);
    void *context;
};

struct train_job {
    const struct train_config *config; /* checked */
    const char *run_path;
    const char *checkpoint_path;  /* written every so often and at the end */
    const char *resume;           /* a checkpoint to go on from; or NULL */
    const char *export_path;      /* weights for PyTorch; or NULL */
    const char *const *recompute; /* modules, NULL at the end; or NULL */
    const char *choices_path;     /* remembered kernel choices; NULL: none */
    double tuning_seconds;
    struct machine_options machine; /* no backend: not looked at */

    /* Not 0: end after the step under way. NULL: never. */
    const volatile sig_atomic_t *stop;
    struct train_watch watch;
    struct sink *warnings; /* a line each: images that were skipped */
};

struct train_result {
    uint64_t n_steps; /* of this process */
    bool is_stopped;  /* by job.stop, before the last step */
    double first_loss, last_loss;
    uint64_t n_skipped;    /* images that could not be used */
    struct str checkpoint; /* the file; empty: none was written */
};

/* On failure the last good checkpoint and run are left where steps were made;
 * the result says which. Released by the caller in any case. */
enum assay_status train_run(const struct train_job *job,
                            struct train_result *result, struct error *err);
void train_result_release(struct train_result *result);

#endif
