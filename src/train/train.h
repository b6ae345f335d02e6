/* train/train.h - a training, from its settings to a run file and weights.
 *
 * Opens the dataset, builds the model, finds its first weights and lets a
 * trainer make the steps. One at a time in a process: there is one recorder.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TRAIN_TRAIN_H
#define TRAIN_TRAIN_H

#include "models/models.h"
#include "train/config.h"
#include "train/trainer.h"

/* What the settings come to once dataset and weights are known. */
struct train_plan {
    const char *model; /* its full name, or its file */
    bool is_file;
    enum model_task task;
    struct model_options build;
    struct str weights; /* "random (seed 0)", or the file */
    struct str renewed; /* modules of the file that were made anew, for other
                           classes; empty: none */
    struct str dataset; /* "oxford-iiit-pet in data/oxford-iiit-pet" */
    uint64_t n_samples;
    uint64_t parameters, trainable_parameters;
    int n_threads, n_workers;
    uint64_t seed;
    uint64_t epoch_steps, n_epochs, n_steps;
    uint64_t first_step; /* those of the checkpoint that is resumed */
};

struct train_job {
    const struct train_config *config; /* checked */
    const char *run_path;
    const char *checkpoint_path;  /* written every so often and at the end */
    const char *resume;           /* a checkpoint to go on from; or NULL */
    const char *export_path;      /* weights for PyTorch; or NULL */
    const char *pictures_folder;  /* images with what the model finds after the
                                     last step; or NULL */
    const char *const *recompute; /* modules, NULL at the end; or NULL */
    const char *choices_path;     /* remembered kernel choices; NULL: none */
    double tuning_seconds;
    int n_processors;              /* threads where the settings say none */
    const struct machine *machine; /* as it was looked at; NULL: unknown */
    const volatile sig_atomic_t *stop;

    /* Told before the first step, and of each; both may be NULL. */
    void (*planned)(void *context, const struct train_plan *plan);
    void (*stepped)(void *context, const struct train_step *step);
    void *context;
    struct sink *warnings; /* a line each: images that were skipped; or NULL */
    struct run **run;      /* gets the run as it was written, for the caller to
                              free, also on failure; or NULL */
};

/* The report is filled as far as the steps came, also on failure. */
enum assay_status train_run(const struct train_job *job,
                            struct train_report *report, struct error *err);

#endif
