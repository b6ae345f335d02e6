/* train/trainer.c - see trainer.h. */
#include "train/trainer_internal.h"

#include "base/mem.h"
#include "formats/weights/load_weights.h"

#include <string.h>

/* ---- weights ------------------------------------------------------------ */

static bool is_going_to_change(const struct value *value)
{
    return (value->kind == VALUE_PARAMETER && !value->is_frozen) ||
           value->kind == VALUE_BUFFER;
}

/* Gives changing weights memory of the pool that nobody shares: a backend may
 * read the file they were mapped from again, and would get the old state. */
static enum assay_status own_weight(struct trainer *trainer, uint32_t i,
                                    struct error *err)
{
    struct graph *graph = trainer->options.graph;
    const struct value *value = graph_value(graph, i);
    struct tensor copy;
    enum assay_status st;

    if (!is_going_to_change(value) || !value->data.buffer)
        return ASSAY_OK;
    if (buffer_pool_bytes(value->data.buffer) &&
        buffer_references(value->data.buffer) == 1) {
        buffer_set_owner(value->data.buffer, OWNER_WEIGHTS);
        return ASSAY_OK;
    }
    st = tensor_copy(trainer->options.pool, &value->data, &copy, err);
    return st ? st : graph_set_data(graph, i, copy, err);
}

static enum assay_status own_weights(struct trainer *trainer, struct error *err)
{
    size_t n = graph_value_count(trainer->options.graph);
    uint32_t owner = pool_set_owner(trainer->options.pool, OWNER_WEIGHTS);
    enum assay_status st = ASSAY_OK;

    for (uint32_t i = 0; !st && i < n; i++)
        st = own_weight(trainer, i, err);
    pool_set_owner(trainer->options.pool, owner);
    return st;
}

/* ---- resuming ----------------------------------------------------------- */

static enum assay_status check_past(const struct trainer *trainer,
                                    const struct train_position *past,
                                    struct error *err)
{
    const struct trainer_options *options = &trainer->options;
    const char *model = graph_name(options->graph);

    if (strcmp(str_text(&past->model), model) != 0)
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s is a checkpoint of %s, not of %s", options->resume,
                         str_text(&past->model), model);
    if (past->optimizer != options->optimizer.kind)
        return error_set(
            err, ASSAY_BAD_INPUT,
            "%s was trained with %s, not with %s; set optimizer.name to it",
            options->resume, optimizer_kind_name(past->optimizer),
            optimizer_kind_name(options->optimizer.kind));
    if (past->n_threads != options->n_threads)
        return error_set(err, ASSAY_BAD_USAGE,
                         "%s was made with %d threads, not with %d; with "
                         "another number the steps would differ",
                         options->resume, past->n_threads, options->n_threads);
    if (past->seed != options->seed)
        return error_set(err, ASSAY_BAD_USAGE,
                         "%s was made with seed %llu; use the same",
                         options->resume, (unsigned long long)past->seed);
    return ASSAY_OK;
}

static enum assay_status resume_weights(struct trainer *trainer,
                                        struct error *err)
{
    const struct trainer_options *options = &trainer->options;
    struct train_position past;
    enum assay_status st;

    st = train_checkpoint_look(options->resume, &past, err);
    if (st)
        return st;
    st = check_past(trainer, &past, err);
    if (!st)
        st = weights_load_file(options->graph, options->resume, options->pool,
                               NULL, NULL, err);
    if (st) {
        train_position_release(&past);
        return st;
    }
    train_position_release(&trainer->position);
    trainer->position = past;
    return ASSAY_OK;
}

/* ---- making ------------------------------------------------------------- */

static enum assay_status plan_outputs(struct trainer *trainer,
                                      struct error *err)
{
    const struct graph *graph = trainer->options.graph;
    size_t n = graph_output_count(graph);

    trainer->n_outputs = n;
    trainer->made = mem_array(n, sizeof *trainer->made);
    trainer->parts = mem_array(n, sizeof *trainer->parts);
    trainer->part_names = mem_array(n, sizeof *trainer->part_names);
    if (!trainer->made || !trainer->parts || !trainer->part_names)
        return error_nomem(err, n * sizeof *trainer->made,
                           "the outputs of a model");
    return ASSAY_OK;
}

/* Unless the checkpoint has one, by the precision. */
static void settle_scale(struct trainer *trainer)
{
    const struct backend *backend = engine_backend(trainer->engine);
    struct loss_scale *scale = &trainer->position.scale;
    bool is_half = backend->class->precision &&
                   backend->class->precision(backend) == PRECISION_FP16;
    double first = trainer->options.loss_scale;

    if (!(first > 0) && !is_half)
        *scale = (struct loss_scale){0};
    else if (!(scale->factor > 0))
        scale->factor = first > 0 ? first : LOSS_SCALE_FIRST;
}

static enum assay_status make_engine(struct trainer *trainer, struct error *err)
{
    const struct trainer_options *options = &trainer->options;
    struct engine_options engine = {
        .device = options->device,
        .backend_options = {.n_threads = options->n_threads,
                            .precision = options->precision,
                            .is_training = true,
                            .tuning_seconds = options->tuning_seconds,
                            .choices_path = options->choices_path,
                            .choices_text = trainer->position.choices.text},
        .detail = ENGINE_MODULES,
        .recompute = options->recompute,
    };
    enum assay_status st;

    st = engine_new(options->graph, options->pool, &engine, &trainer->engine,
                    err);
    if (!st)
        settle_scale(trainer);
    if (!st && engine_pool(trainer->engine) != options->pool)
        pool_set_limit(engine_pool(trainer->engine), options->device_bytes);
    if (!st)
        st = optimizer_new(trainer->engine, &options->optimizer,
                           &trainer->optimizer, err);
    if (!st && options->resume)
        st = train_checkpoint_restore(options->resume, options->graph,
                                      options->pool, trainer->optimizer, err);
    return st;
}

static enum assay_status make_trainer(struct trainer *trainer,
                                      struct error *err)
{
    const struct trainer_options *options = &trainer->options;
    enum assay_status st = ASSAY_OK;

    if (!options->n_steps && !options->n_epochs)
        return error_set(err, ASSAY_BAD_USAGE,
                         "a training needs a number of steps or of epochs");
    trainer->position = (struct train_position){
        .seed = options->seed,
        .n_threads = options->n_threads,
        .optimizer = options->optimizer.kind,
    };
    if (str_append(&trainer->position.model, graph_name(options->graph)))
        st = error_nomem(err, sizeof *trainer, "a trainer");
    if (!st && options->resume)
        st = resume_weights(trainer, err);
    if (!st)
        st = own_weights(trainer, err);
    if (!st)
        st = step_inputs_plan(trainer, err);
    if (!st)
        st = plan_outputs(trainer, err);
    if (!st)
        st = make_engine(trainer, err);
    if (!st)
        st = run_new(&trainer->series, err);
    return st;
}

enum assay_status trainer_new(const struct trainer_options *options,
                              struct trainer **out, struct error *err)
{
    struct trainer *trainer = mem_zalloc(sizeof *trainer);
    enum assay_status st;

    *out = NULL;
    if (!trainer)
        return error_nomem(err, sizeof *trainer, "a trainer");
    trainer->options = *options;
    trainer->clock = clock_real();
    trainer->is_whole = true;
    steady_open(&trainer->steady);
    st = make_trainer(trainer, err);
    if (st) {
        trainer_free(trainer);
        return st;
    }
    *out = trainer;
    return ASSAY_OK;
}

void trainer_free(struct trainer *trainer)
{
    if (!trainer)
        return;
    optimizer_free(trainer->optimizer);
    engine_free(trainer->engine);
    batch_release(&trainer->next);
    steady_close(&trainer->steady);
    run_free(trainer->series);
    train_position_release(&trainer->position);
    run_free(trainer->run);
    mem_free(trainer->inputs);
    mem_free(trainer->given);
    mem_free(trainer->sent);
    mem_free(trainer->made);
    mem_free(trainer->parts);
    mem_free(trainer->part_names);
    mem_free(trainer);
}

enum assay_status trainer_export(const struct trainer *trainer,
                                 const char *path, struct error *err)
{
    return train_checkpoint_export(path, trainer->options.graph, err);
}
