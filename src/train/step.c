/* train/step.c - see trainer_internal.h: one step, part by part. */
#include "train/trainer_internal.h"

#include <assay/span.h>

#include <math.h>

enum { module_text = 160 };

/* ---- data --------------------------------------------------------------- */

/* The next batch with as many images as the model has inputs; smaller ones,
 * which lost broken images, are passed over. */
static enum assay_status take_batch(struct trainer *trainer,
                                    struct batch *batch,
                                    struct train_report *report,
                                    struct error *err)
{
    const struct batch_source *source = &trainer->options.source;
    enum assay_status st;

    for (;;) {
        st = source->next(source->context, batch, err);
        report->n_skipped += batch->n_skipped;
        if (st || !batch->n_images || step_inputs_fit(trainer, batch))
            break;
        trainer->position.place = batch->after;
        batch_release(batch);
        report->n_small++;
        if (++trainer->small_in_a_row > source->epoch_batches)
            return error_set(err, ASSAY_BAD_INPUT,
                             "no batch has the %zu images that the model "
                             "takes; use a smaller batch_size",
                             trainer->n_images);
    }
    trainer->small_in_a_row = 0;
    return st;
}

static enum assay_status get_data(struct trainer *trainer, struct batch *batch,
                                  struct train_report *report,
                                  struct error *err)
{
    ASSAY_SPAN("data");
    if (!trainer->next.n_images)
        return take_batch(trainer, batch, report, err);
    *batch = trainer->next;
    trainer->next = (struct batch){0};
    return ASSAY_OK;
}

static enum assay_status copy_data(struct trainer *trainer,
                                   const struct batch *batch, struct error *err)
{
    ASSAY_SPAN("copy");
    return step_inputs_give(trainer, batch, err);
}

/* If the next batch is there, it is copied to the device during the backward
 * pass: the step that needs it does not wait for that. */
static enum assay_status send_ahead(struct trainer *trainer,
                                    struct train_report *report,
                                    struct error *err)
{
    const struct trainer_options *options = &trainer->options;
    const struct batch_source *source = &options->source;
    bool is_last =
        options->n_steps && trainer->position.step + 1 >= options->n_steps;
    enum assay_status st;

    if (is_last || !engine_can_send(trainer->engine) || !source->is_ready ||
        !source->is_ready(source->context))
        return ASSAY_OK;
    ASSAY_SPAN("copy");
    st = take_batch(trainer, &trainer->next, report, err);
    if (st || !trainer->next.n_images)
        return st;
    step_inputs_look(trainer, &trainer->next);
    return engine_send(trainer->engine, trainer->sent, err);
}

/* ---- forward and loss --------------------------------------------------- */

static enum assay_status step_forward(struct trainer *trainer,
                                      struct error *err)
{
    enum assay_status st;

    assay_begin_class("forward", graph_class(trainer->options.graph));
    st = engine_run(trainer->engine, trainer->given, trainer->made, err);
    assay_end();
    return st;
}

static bool is_scalar(const struct tensor *tensor)
{
    return tensor->dtype == DTYPE_F32 && tensor->shape.rank == 0;
}

static enum assay_status read_losses(struct trainer *trainer, struct error *err)
{
    ASSAY_SPAN("loss");
    trainer->n_parts = 0;
    trainer->loss = 0;
    for (size_t i = 0; i < trainer->n_outputs; i++) {
        const char *name;

        graph_output_at(trainer->options.graph, i, &name);
        if (!is_scalar(&trainer->made[i]))
            continue;
        trainer->part_names[trainer->n_parts] = name;
        trainer->parts[trainer->n_parts++] = *tensor_f32(&trainer->made[i]);
        trainer->loss += *tensor_f32(&trainer->made[i]);
    }
    if (!trainer->n_parts)
        return error_set(err, ASSAY_BAD_USAGE,
                         "%s has no loss; build it for training",
                         graph_name(trainer->options.graph));
    return ASSAY_OK;
}

/* ---- backward and optimizer --------------------------------------------- */

static enum assay_status backward(struct trainer *trainer, struct error *err)
{
    enum assay_status st;

    engine_scale_losses(trainer->engine,
                        loss_scale_factor(&trainer->position.scale));
    assay_begin_class("backward", graph_class(trainer->options.graph));
    st = engine_backward(trainer->engine, err);
    assay_end();
    return st;
}

/* As torch.nn.utils.clip_grad_norm_() has it. */
static double clip_factor(double norm, double limit)
{
    static const double epsilon = 1e-6;
    double factor = limit / (norm + epsilon);

    return limit > 0 && factor < 1 ? factor : 1;
}

/* From here until it ends, the weights belong to no step. */
static enum assay_status optimize(struct trainer *trainer, double rate,
                                  struct error *err)
{
    enum assay_status st;

    assay_begin_class("optimizer", graph_class(trainer->options.graph));
    st = optimizer_gradient_norm(trainer->optimizer, &trainer->gradient_norm,
                                 err);
    if (!st && isfinite(trainer->gradient_norm)) {
        trainer->is_whole = false;
        optimizer_shrink_gradients(
            trainer->optimizer,
            clip_factor(trainer->gradient_norm, trainer->options.clip_norm));
        st = optimizer_step(trainer->optimizer, rate, err);
    }
    assay_end();
    return st;
}

/* ---- numbers that are not finite ---------------------------------------- */

/* Runs the step again to find the module. */
static enum assay_status tell_not_finite(struct trainer *trainer,
                                         struct error *err)
{
    char module[module_text] = "";
    struct error ignored = {0};
    const char *what = isfinite(trainer->loss) ? "a gradient" : "the loss";
    enum assay_status st = engine_find_not_finite(
        trainer->engine, trainer->given, module, sizeof module, &ignored);

    if (st)
        module[0] = 0;
    return error_set(err, ASSAY_BAD_INPUT,
                     "step %llu: %s is not finite%s%s; lower the learning "
                     "rate, or look at the data of this step",
                     (unsigned long long)trainer->position.step + 1, what,
                     module[0] ? ", first in " : "", module);
}

/* ---- the whole ---------------------------------------------------------- */

static void release_made(struct trainer *trainer)
{
    for (size_t i = 0; i < trainer->n_outputs; i++)
        tensor_release(&trainer->made[i]);
}

/* Stops before changing anything if the loss is not finite. */
static enum assay_status step_run_parts(struct trainer *trainer,
                                        const struct batch *batch, double rate,
                                        struct train_report *report,
                                        struct error *err)
{
    enum assay_status st = copy_data(trainer, batch, err);

    trainer->gradient_norm = NAN;
    if (!st)
        st = step_forward(trainer, err);
    if (!st)
        st = read_losses(trainer, err);
    if (st || !isfinite(trainer->loss))
        return st;
    st = send_ahead(trainer, report, err);
    if (!st)
        st = backward(trainer, err);
    if (!st)
        st = optimize(trainer, rate, err);
    if (!st && isfinite(trainer->gradient_norm))
        st = engine_renew(trainer->engine, trainer->made, err);
    if (!st)
        st = engine_finish(trainer->engine, err);
    trainer->is_whole = trainer->is_whole || !st;
    return st;
}

static enum assay_status
end_step(struct trainer *trainer, const struct batch *batch, double rate,
         int64_t duration_ns, struct train_report *report, struct error *err)
{
    const struct trainer_options *options = &trainer->options;
    bool is_warm_up = !trainer_is_warm(trainer);
    struct train_step step = {
        .step = trainer->position.step + 1,
        .n_steps = options->n_steps,
        .epoch = batch->first.epoch + 1,
        .n_epochs = options->n_epochs,
        .n_images = batch->n_images,
        .loss = trainer->loss,
        .part_names = trainer->part_names,
        .parts = trainer->parts,
        .n_parts = trainer->n_parts,
        .learning_rate = rate,
        .gradient_norm = trainer->gradient_norm,
        .duration_ns = duration_ns,
        .wait_ns = batch->wait_ns,
        .is_warm_up = is_warm_up,
        .is_skipped = !isfinite(trainer->gradient_norm),
    };
    enum assay_status st = step_series_learn(trainer, &step, err);

    trainer->position.step++;
    trainer->position.place = batch->after;
    if (!trainer->n_run++)
        report->first_loss = trainer->loss;
    report->last_loss = trainer->loss;
    report->n_steps = trainer->n_run;
    report->n_unscaled = trainer->position.scale.n_skipped;
    if (!st && !is_warm_up)
        st = step_series_put(trainer, &step, batch, err);
    if (options->watch.stepped)
        options->watch.stepped(options->watch.context, &step);
    return st;
}

enum assay_status trainer_step(struct trainer *trainer,
                               struct train_report *report, bool *is_end,
                               struct error *err)
{
    double rate =
        schedule_rate(&trainer->options.schedule, trainer->position.step);
    int64_t began_ns, duration_ns;
    struct batch batch = {0};
    enum assay_status st;

    if (trainer->n_run == trainer->options.n_warm_up)
        pool_reset_peak(trainer->options.pool);
    step_series_begin(trainer);
    assay_iteration_begin();
    began_ns = clock_now(&trainer->clock);
    st = get_data(trainer, &batch, report, err);
    *is_end = !st && !batch.n_images;
    trainer->n_given = batch.n_images;
    if (!st && !*is_end)
        st = step_run_parts(trainer, &batch, rate, report, err);
    if (st == ASSAY_NOMEM && batch.n_images)
        train_shortage_note(trainer, &report->shortage);
    if (st && batch.n_images)
        error_context(err, "step %llu",
                      (unsigned long long)trainer->position.step + 1);
    release_made(trainer);
    duration_ns = clock_now(&trainer->clock) - began_ns;
    if (!st && !*is_end &&
        !loss_scale_learn(&trainer->position.scale,
                          isfinite(trainer->gradient_norm)))
        st = tell_not_finite(trainer, err);
    if (!st && !*is_end) /* else it is no iteration: those before it are kept */
        assay_iteration_end();
    step_inputs_release(trainer);
    if (!st && !*is_end)
        st = end_step(trainer, &batch, rate, duration_ns, report, err);
    batch_release(&batch);
    return st;
}
