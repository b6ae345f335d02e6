/* train/trainer_internal.h - what a trainer holds; for the files of this room.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TRAIN_TRAINER_INTERNAL_H
#define TRAIN_TRAINER_INTERNAL_H

#include "base/clock.h"
#include "detect/steady.h"
#include "record/record.h"
#include "run/run.h"
#include "train/train_checkpoint.h"
#include "train/trainer.h"

/* What an input of the model is given. */
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

struct step_output {
    bool is_loss;      /* known after the first forward pass */
    uint32_t replaces; /* a buffer of the graph, or GRAPH_NONE */
};

/* What nodes did, summed over the measured steps. */
struct step_work {
    struct cost forward, backward;
    size_t kept_bytes; /* of the last step */
};

struct trainer {
    struct trainer_options options;
    struct engine *engine;
    struct optimizer *optimizer;
    struct clock clock;

    struct step_input *inputs; /* one an input of the graph */
    struct step_output *outputs;
    size_t n_inputs, n_outputs, n_images; /* images: inputs that are */
    struct tensor *given;                 /* the inputs of the step under way */
    struct tensor *made;                  /* its outputs */
    const char **part_names;              /* of the losses */
    double *parts;
    size_t n_parts;
    double loss, gradient_norm;

    struct train_position position;
    bool is_whole;           /* the weights are those of a finished step */
    uint64_t n_run;          /* steps of this process */
    uint64_t small_in_a_row; /* batches that were passed over */

    /* Of the recording. */
    bool is_recording;
    struct run *run; /* as it was written, until it is taken */
    struct step_work *work;
    uint64_t n_measured, n_measured_images;
    int64_t measured_ns, measured_wait_ns, measured_made_ns;
    struct run *series; /* holds them until the recording has ended */
    struct steady steady;
    struct steady_sample before;
};

static inline bool trainer_is_warm(const struct trainer *trainer)
{
    return trainer->n_run >= trainer->options.n_warm_up;
}

/* ---- step_inputs.c: batches and what a model wants of them --------------- */

/* Who gets what; ASSAY_UNSUPPORTED names an input that nobody can fill. */
enum assay_status step_inputs_plan(struct trainer *trainer, struct error *err);
/* Whether the batch has an image for every input of the model. */
bool step_inputs_fit(const struct trainer *trainer, const struct batch *batch);
/* Fills trainer->given, which steps_inputs_release() empties. */
enum assay_status step_inputs_give(struct trainer *trainer,
                                   const struct batch *batch,
                                   struct error *err);
void step_inputs_release(struct trainer *trainer);

/* ---- step.c: one step ---------------------------------------------------- */

/* *is_end: the source has no more. */
enum assay_status trainer_step(struct trainer *trainer,
                               struct train_report *report, bool *is_end,
                               struct error *err);

/* ---- step_series.c: what is told of every step --------------------------- */

void step_series_begin(struct trainer *trainer);
/* Losses and rates, of every step, warm-up included. */
enum assay_status step_series_learn(struct trainer *trainer,
                                    const struct train_step *step,
                                    struct error *err);
/* What else is known of a step that was measured; counts it. */
enum assay_status step_series_put(struct trainer *trainer,
                                  const struct train_step *step,
                                  const struct batch *batch, struct error *err);

/* ---- train_annotate.c: what the recorder cannot know --------------------- */

/* Adds to the run that was recorded and saves it where it is to go. */
enum assay_status train_annotate(struct trainer *trainer,
                                 struct recorded *recorded, struct error *err);

#endif
