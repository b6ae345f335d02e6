/* train/trainer.h - the steps of a training, recorded.
 *
 * A step takes a batch, runs the model forward and backward and updates its
 * parameters. Its spans are the parts of an iteration: "data" (waiting for the
 * batch), "copy" (its tensors become the model's inputs), "forward", "loss"
 * (reading the losses), "backward" and "optimizer". The three large ones
 * contain the modules; the rest of the time is shown as other.
 *
 * Everything random in a step follows from the seed and the number of the step,
 * so that a training resumed from a checkpoint makes the same next step as one
 * that never stopped. One at a time per process: there is one recorder.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TRAIN_TRAINER_H
#define TRAIN_TRAINER_H

#include "base/sink.h"
#include "data/batch.h"
#include "engine/optimizer.h"
#include "machine/machine.h"
#include "run/run.h"
#include "train/schedule.h"

#include <signal.h>

/* A step that has ended well. Valid during the call that reports it. */
struct train_step {
    uint64_t step, n_steps;   /* from 1; n_steps 0: until the data ends */
    uint64_t epoch, n_epochs; /* from 1; n_epochs 0: unknown */
    size_t n_images;          /* of this step */
    double loss;              /* the sum of its parts */
    const char *const *part_names;
    const double *parts;
    size_t n_parts;
    double learning_rate;
    double gradient_norm; /* of all parameters together */
    int64_t duration_ns;
    int64_t wait_ns; /* part of it spent waiting for data */
    bool is_warm_up; /* not part of the statistics */
    bool is_skipped; /* its gradients were not finite: the scale of the losses
                        was halved, the weights are those of before */
};

struct train_watch {
    void (*stepped)(void *context, const struct train_step *step);
    /* After a checkpoint in the middle of a training, when the graph has the
     * weights of that step; may be NULL. */
    void (*saved)(void *context, uint64_t step);
    void *context;
};

/* Lets the caller add what it knows of a training to its run. */
struct train_facts {
    enum assay_status (*state)(void *context, struct run *run,
                               struct error *err);
    void *context;
};

struct trainer_options {
    /* The model, with its weights. Outputs that are float32 scalars are losses;
     * outputs with the name of a buffer replace it. Inputs that are not named
     * "boxes", "labels", "counts", "masks_I" or "seed" are images. Both outlive
     * the trainer. */
    struct graph *graph;
    struct pool *pool;
    struct batch_source source;

    const struct device *device; /* NULL: device_portable */
    enum precision precision;    /* of a GPU */
    double loss_scale; /* to begin with, a power of two; 0: LOSS_SCALE_FIRST in
                          fp16, none in others */
    size_t device_bytes; /* of its memory that may be taken; 0: all. Means
                            nothing on the host */
    int n_threads;
    const char *choices_path; /* remembered kernel choices; NULL: none */
    double tuning_seconds;
    const char *const *recompute; /* see engine.h */

    struct optimizer_options optimizer; /* its threads and detail are ignored:
                                           the engine's are used */
    double clip_norm; /* gradients are shrunk so that their norm is not above
                         this; 0: never */
    struct schedule schedule;
    uint64_t seed;
    uint64_t n_steps;  /* at most, including resumed ones; 0: until the source
                          ends */
    uint64_t n_epochs; /* for reporting; 0: unknown */

    const char *resume;   /* checkpoint to continue from, or NULL. Must have the
                             same model, optimizer, seed and number of threads:
                             see train_checkpoint.h */
    uint64_t n_warm_up;   /* steps before measuring starts */
    unsigned n_full;      /* steps after these to record in full; 0: the first,
                             the slowest, a median one and the last */
    const char *run_path; /* NULL: do not record */
    const char *checkpoint_path;
    uint64_t checkpoint_every; /* steps; 0: at the end only */

    const struct machine *machine; /* as it was found; NULL: unknown */
    /* Not 0: end after the current step. NULL: never. */
    const volatile sig_atomic_t *stop;
    struct train_watch watch;
    struct train_facts facts;
};

struct trainer;

/* Copies weights that are mapped from a file, because they will change. The
 * texts of the options outlive the trainer. */
enum assay_status trainer_new(const struct trainer_options *options,
                              struct trainer **out, struct error *err);
void trainer_free(struct trainer *trainer); /* accepts NULL */

/* What a step needed of a device's memory until it found no more. */
struct train_shortage {
    /* When most was live. Activations with their gradients, and the rest. */
    size_t weights_bytes, activations_bytes, gradients_bytes, optimizer_bytes;
    int64_t batch;         /* images of the step; 0: there was no shortage */
    int64_t fitting_batch; /* the most that could fit; 0: not even one */
};

struct train_report {
    uint64_t n_steps;   /* made by this run, warm-up included */
    uint64_t last_step; /* including resumed ones, from 1 */
    bool is_stopped;    /* by options.stop, before the last step */
    double first_loss, last_loss;
    uint64_t n_skipped;  /* images that could not be used */
    uint64_t n_unscaled; /* steps skipped to find a scale of the losses */
    uint64_t n_small; /* batches that were passed over, because they had fewer
                         images than the model has inputs */
    bool has_checkpoint, has_run; /* was written */
    uint64_t saved_step;          /* the one in the checkpoint */
    uint64_t n_pictures, n_boxes; /* see train_job.pictures_folder */
    size_t device_peak_bytes; /* most that was taken from a device; 0: none */
    struct train_shortage shortage;
};

/* Makes the steps; writes the checkpoint and the run at the end, also if it was
 * stopped. A loss or gradient that is not finite (with a scale of the losses:
 * however small it is made) is ASSAY_BAD_INPUT, and the
 * message names the step and the module; the checkpoint is then that of the
 * step before, and the run holds what was recorded. */
enum assay_status trainer_run(struct trainer *trainer,
                              struct train_report *report, struct error *err);

/* The run as trainer_run() wrote it, even if the file was replaced since; NULL
 * if it wrote none. The caller frees it. */
struct run *trainer_take_run(struct trainer *trainer);

/* Writes the current weights and buffers, for torch.load(). */
enum assay_status trainer_export(const struct trainer *trainer,
                                 const char *path, struct error *err);

#endif
