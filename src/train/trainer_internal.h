/* train/trainer_internal.h - the state of a trainer, and its parts.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TRAIN_TRAINER_INTERNAL_H
#define TRAIN_TRAINER_INTERNAL_H

#include "base/clock.h"
#include "observe/steady.h"
#include "record/record.h"
#include "run/run.h"
#include "train/train_checkpoint.h"
#include "train/trainer.h"

/* What an input of the model receives. */
enum input_role {
    INPUT_IMAGE,
    INPUT_BOXES,
    INPUT_LABELS,
    INPUT_COUNTS,
    INPUT_MASKS,
    INPUT_SEED
};

struct step_input {
    enum input_role role;
    size_t i; /* of images and masks */
};

struct trainer {
    struct trainer_options options;
    struct engine *engine;
    struct optimizer *optimizer;
    struct clock clock;

    struct step_input *inputs;            /* one per input of the graph */
    size_t n_inputs, n_outputs, n_images; /* n_images: inputs that are images */
    size_t n_given;                       /* images of the current step */
    struct tensor *given;                 /* the inputs of the current step */
    struct tensor *made;                  /* its outputs */
    struct batch next;                    /* taken ahead; {0}: none was */
    struct tensor *sent;                  /* of its tensors; borrowed */
    const char **part_names;              /* of the losses */
    double *parts;
    size_t n_parts;
    double loss, gradient_norm;

    struct train_position position;
    bool is_whole;           /* the weights are those of a completed step */
    uint64_t n_run;          /* steps of this process */
    uint64_t small_in_a_row; /* batches that were passed over */

    /* The recording. */
    bool is_recording;
    struct run *run; /* as written, until it is taken */
    uint64_t n_measured, n_measured_images;
    int64_t measured_ns;
    struct run *series; /* of values, until the recording ends */
    struct steady steady;
    struct steady_sample before;
};

static inline bool trainer_is_warm(const struct trainer *trainer)
{
    return trainer->n_run >= trainer->options.n_warm_up;
}

/* ---- step_inputs.c: from batches to the inputs of a model --------------- */

/* Decides what each input receives; ASSAY_BAD_USAGE if none is for images. */
enum assay_status step_inputs_plan(struct trainer *trainer, struct error *err);
/* Whether the batch has an image for every input of the model. */
bool step_inputs_fit(const struct trainer *trainer, const struct batch *batch);
/* Fills trainer->given; step_inputs_release() empties it. */
enum assay_status step_inputs_give(struct trainer *trainer,
                                   const struct batch *batch,
                                   struct error *err);
void step_inputs_release(struct trainer *trainer);
/* Fills trainer->sent with what a batch has for the step after this one. */
void step_inputs_look(struct trainer *trainer, const struct batch *batch);

/* ---- step.c: one step ---------------------------------------------------- */

/* *is_end: the source has no more batches. */
enum assay_status trainer_step(struct trainer *trainer,
                               struct train_report *report, bool *is_end,
                               struct error *err);

/* ---- step_series.c: values recorded for every step ---------------------- */

void step_series_begin(struct trainer *trainer);
/* Losses and rates, for every step, warm-up included. */
enum assay_status step_series_learn(struct trainer *trainer,
                                    const struct train_step *step,
                                    struct error *err);
/* The other values of a measured step; counts it. */
enum assay_status step_series_put(struct trainer *trainer,
                                  const struct train_step *step,
                                  const struct batch *batch, struct error *err);

/* ---- train_shortage.c -----------------------------------------------------
 */

/* After a step that failed for want of memory. */
void train_shortage_note(struct trainer *trainer, struct train_shortage *out);

/* ---- train_annotate.c: what the recorder cannot know --------------------- */

/* Adds to the recorded run and saves it to its path. */
enum assay_status train_annotate(struct trainer *trainer,
                                 struct recorded *recorded, struct error *err);

#endif
