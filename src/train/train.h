/* train/train.h - a training, from its settings to a run file and weights.
 *
 * Opens the dataset, builds the model, finds its initial weights and has a
 * trainer make the steps. One at a time per process: there is one recorder.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TRAIN_TRAIN_H
#define TRAIN_TRAIN_H

#include "models/models.h"
#include "train/config.h"
#include "train/trainer.h"

/* What the settings come to once the dataset and the weights are known. */
struct train_plan {
    const char *model; /* its full name, or its file */
    bool is_file;
    enum model_task task;
    struct model_options build;
    struct str weights; /* "random (seed 0)", or the file */
    struct str renewed; /* modules of the file that were initialised again,
                           because the classes differ; empty: none */
    struct str dataset; /* "oxford-iiit-pet in data/oxford-iiit-pet" */
    uint64_t n_samples;
    uint64_t parameters, trainable_parameters;
    int n_threads, n_workers;
    uint64_t seed;
    uint64_t epoch_steps, n_epochs, n_steps;
    uint64_t first_step; /* steps already in the checkpoint to resume */
};

struct train_job {
    const struct train_config *config; /* already checked */
    const char *run_path;
    const char *checkpoint_path;  /* written every so often and at the end */
    const char *resume;           /* checkpoint to continue from, or NULL */
    const char *export_path;      /* weights for PyTorch, or NULL */
    const char *pictures_folder;  /* folder for images with what the model finds
                                     after the last step, or NULL */
    const char *const *recompute; /* modules, ending with NULL; or NULL */
    const char *choices_path;     /* remembered kernel choices; NULL: none */
    double tuning_seconds;
    size_t device_bytes;           /* see trainer_options */
    int n_processors;              /* threads if the settings do not say */
    const struct machine *machine; /* as it was found; NULL: unknown */
    const volatile sig_atomic_t *stop;

    /* Called before the first step, and after each; both may be NULL. */
    void (*planned)(void *context, const struct train_plan *plan);
    void (*stepped)(void *context, const struct train_step *step);
    /* Called when pictures_folder has what the model finds in the middle of a
     * training, as often as checkpoints are written; NULL: it has that only at
     * the end. */
    void (*pictured)(void *context, uint64_t step);
    void *context;
    struct sink *warnings; /* one line per skipped image; or NULL */
    struct run **run;      /* receives the run as written, for the caller to
                              free, also on failure; or NULL */
};

/* Fills the report as far as the steps got, also on failure. */
enum assay_status train_run(const struct train_job *job,
                            struct train_report *report, struct error *err);

#endif
