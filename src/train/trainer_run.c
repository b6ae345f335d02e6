/* train/trainer_run.c - see trainer.h: steps, checkpoints and their
 * recording. */
#include "train/trainer_internal.h"

/* Kernels are chosen by measuring in the first step only, and checkpoints carry
 * the choices: a later step has the same kernels whether or not the training
 * was resumed before it. */
static void settle_choices(struct trainer *trainer)
{
    struct backend *backend = engine_backend(trainer->engine);

    if (backend->class->settle)
        backend->class->settle(backend);
}

static enum assay_status note_choices(struct trainer *trainer,
                                      struct error *err)
{
    const struct backend *backend = engine_backend(trainer->engine);
    struct sink sink = sink_to_str(&trainer->position.choices);

    str_clear(&trainer->position.choices);
    if (backend->class->choices)
        backend->class->choices(backend, &sink);
    return sink_status(&sink, err);
}

static enum assay_status trainer_run_save(struct trainer *trainer,
                                          struct train_report *report,
                                          struct error *err)
{
    const struct trainer_options *options = &trainer->options;
    enum assay_status st;

    if (!options->checkpoint_path)
        return ASSAY_OK;
    assay_begin("checkpoint");
    st = engine_store_parameters(trainer->engine, err);
    if (!st)
        st = note_choices(trainer, err);
    if (!st)
        st = train_checkpoint_save(options->checkpoint_path, options->graph,
                                   trainer->optimizer, &trainer->position, err);
    assay_end();
    if (!st) {
        report->has_checkpoint = true;
        report->saved_step = trainer->position.step;
    }
    return st;
}

static bool is_stopped_early(const struct trainer *trainer)
{
    return trainer->options.stop && *trainer->options.stop;
}

static bool is_done(const struct trainer *trainer)
{
    const struct trainer_options *options = &trainer->options;

    return (options->n_steps && trainer->position.step >= options->n_steps) ||
           (options->n_epochs &&
            trainer->position.place.epoch >= options->n_epochs);
}

static bool is_save_due(const struct trainer *trainer)
{
    uint64_t every = trainer->options.checkpoint_every;

    return every && trainer->position.step % every == 0 && !is_done(trainer) &&
           !is_stopped_early(trainer);
}

static enum assay_status make_steps(struct trainer *trainer,
                                    struct train_report *report,
                                    struct error *err)
{
    const struct batch_source *source = &trainer->options.source;
    enum assay_status st =
        source->begin(source->context, trainer->position.place, err);
    bool is_end = false;

    if (trainer->options.resume)
        settle_choices(trainer);
    while (!st && !is_end && !is_done(trainer) && !is_stopped_early(trainer)) {
        st = trainer_step(trainer, report, &is_end, err);
        if (!st && trainer->n_run == 1)
            settle_choices(trainer);
        if (!st && !is_end && is_save_due(trainer)) {
            st = trainer_run_save(trainer, report, err);
            if (!st && trainer->options.watch.saved)
                trainer->options.watch.saved(trainer->options.watch.context,
                                             trainer->position.step);
        }
    }
    report->is_stopped = !st && is_stopped_early(trainer) && !is_done(trainer);
    return st;
}

/* Keeps the weights, in the graph and in the checkpoint, unless the optimizer
 * was interrupted in the middle of them. Reports the first failure. */
static enum assay_status trainer_run_leave(struct trainer *trainer,
                                           enum assay_status st,
                                           struct train_report *report,
                                           struct error *err)
{
    struct error saving = {0};
    enum assay_status saved = ASSAY_OK;

    report->last_step = trainer->position.step;
    if (trainer->n_run && trainer->is_whole)
        saved = engine_store_parameters(trainer->engine, &saving);
    if (!saved && trainer->n_run && trainer->is_whole)
        saved = trainer_run_save(trainer, report, &saving);
    if (!st && saved)
        st = error_set(err, saved, "%s", saving.text);
    return st;
}

static enum assay_status start_recording(struct trainer *trainer,
                                         struct error *err)
{
    const struct trainer_options *options = &trainer->options;
    struct assay_options recording = {
        .warm_up = (unsigned)options->n_warm_up,
        .keep_first = options->n_full,
        .program = "training",
    };
    enum assay_status st;

    if (!options->run_path)
        return ASSAY_OK;
    st = record_start(options->run_path, &recording, err);
    if (st)
        return st;
    trainer->is_recording = true;
    assay_thread("main");
    pool_report(engine_pool(trainer->engine), true);
    if (engine_pool(trainer->engine) != options->pool)
        pool_report(options->pool, false);
    return ASSAY_OK;
}

static enum assay_status stop_recording(struct trainer *trainer,
                                        enum assay_status st,
                                        struct train_report *report,
                                        struct error *err)
{
    struct recorded recorded = {0};
    struct error stopping = {0};
    enum assay_status stopped;

    if (!trainer->is_recording)
        return st;
    trainer->is_recording = false;
    stopped = record_stop_run(&recorded, &stopping);
    if (!stopped && trainer->n_measured) {
        stopped = train_annotate(trainer, &recorded, &stopping);
        report->has_run = !stopped;
        if (!stopped)
            trainer->run = recorded_take_run(&recorded);
    }
    recorded_release(&recorded);
    if (!st && stopped)
        st = error_set(err, stopped, "%s", stopping.text);
    return st;
}

enum assay_status trainer_run(struct trainer *trainer,
                              struct train_report *report, struct error *err)
{
    enum assay_status st;

    *report = (struct train_report){0};
    st = start_recording(trainer, err);
    if (st)
        return st;
    st = make_steps(trainer, report, err);
    if (engine_pool(trainer->engine) != trainer->options.pool)
        report->device_peak_bytes =
            pool_usage(engine_pool(trainer->engine)).held_peak_bytes;
    st = trainer_run_leave(trainer, st, report, err);
    return stop_recording(trainer, st, report, err);
}

struct run *trainer_take_run(struct trainer *trainer)
{
    struct run *run = trainer->run;

    trainer->run = NULL;
    return run;
}
