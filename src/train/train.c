/* train/train.c - see train.h. */
#include "train/train_internal.h"

#include "train/train_checkpoint.h"

#include <inttypes.h>
#include <stdio.h>

/* The pool goes last: it owns the loader's batches and the graph's tensors. */
static void training_close(struct train_parts *training)
{
    trainer_free(training->trainer);
    train_data_close(&training->data);
    graph_free(training->graph);
    pool_free(training->pool);
    str_release(&training->weights);
    str_release(&training->plan.weights);
    str_release(&training->plan.renewed);
    str_release(&training->plan.dataset);
}

/* A resumed training keeps the seed and threads of its checkpoint, so that its
 * next step is the one it would have been. */
static enum assay_status plan_start(struct train_parts *training,
                                    struct error *err)
{
    const struct train_job *job = training->job;
    struct train_plan *plan = &training->plan;
    struct train_position past = {0};
    enum assay_status st;

    plan->is_file = train_file_is(job->config->model.name);
    plan->model = plan->is_file ? job->config->model.name
                                : model_full_name(job->config->model.name);
    plan->task = plan->is_file ? TASK_CLASSIFICATION : model_task(plan->model);
    plan->seed = (uint64_t)job->config->training.seed;
    plan->n_threads = (int)job->config->training.threads;
    if (!plan->n_threads)
        plan->n_threads = job->n_processors;
    if (!job->resume)
        return ASSAY_OK;
    st = train_checkpoint_look(job->resume, &past, err);
    if (!st) {
        plan->seed = past.seed;
        plan->n_threads = past.n_threads;
        plan->first_step = past.step;
    }
    train_position_release(&past);
    return st;
}

static enum assay_status check_resumed(const struct train_plan *plan,
                                       const char *path, struct error *err)
{
    if (plan->first_step < plan->n_steps)
        return ASSAY_OK;
    return error_set(err, ASSAY_BAD_USAGE,
                     "%s has already made %" PRIu64
                     " steps, and the total asked for is %" PRIu64
                     "; ask for more with --steps N",
                     path, plan->first_step, plan->n_steps);
}

/* Opens the dataset and the model; only a model from a file has data yet. */
static enum assay_status open_both(struct train_parts *training,
                                   struct error *err)
{
    const struct train_config *config = training->job->config;
    struct train_plan *plan = &training->plan;
    enum assay_status st = train_data_open(&training->data, config, plan, err);

    if (!st)
        st = train_model_plan(config,
                              train_data_classes(&training->data, config, plan),
                              plan, &training->weights, err);
    if (!st)
        st = pool_new(&training->pool, err);
    if (!st && plan->is_file)
        st = train_file_read(config, plan, training->pool, &training->graph,
                             err);
    return st;
}

static enum assay_status train_prepare(struct train_parts *training,
                                       struct error *err)
{
    const struct train_job *job = training->job;
    const struct train_config *config = job->config;
    struct train_plan *plan = &training->plan;
    enum assay_status st = plan_start(training, err);

    training->data.warnings = job->warnings;
    if (!st)
        st = open_both(training, err);
    if (!st)
        st = train_data_start(&training->data, config, training->pool, plan,
                              err);
    if (!st && job->resume)
        st = check_resumed(plan, job->resume, err);
    if (!st)
        st = train_model_build(plan, &training->graph, err);
    if (!st && !job->resume) /* else they come with the checkpoint */
        st =
            train_model_fill(plan, str_text(&training->weights), training->pool,
                             job->warnings, training->graph, err);
    return st;
}

static struct optimizer_options optimizer_of(const struct train_config *config)
{
    return (struct optimizer_options){
        .kind = config->optimizer.name == TRAIN_ADAMW ? OPTIMIZER_ADAMW
                                                      : OPTIMIZER_SGD,
        .weight_decay = config->optimizer.weight_decay,
        .momentum = config->optimizer.momentum,
        .is_nesterov = config->optimizer.nesterov,
        .beta1 = config->optimizer.beta1,
        .beta2 = config->optimizer.beta2,
        .eps = config->optimizer.epsilon,
    };
}

static struct schedule schedule_of(const struct train_config *config,
                                   const struct train_plan *plan)
{
    return (struct schedule){
        .learning_rate = config->optimizer.learning_rate,
        .warmup_steps = (uint64_t)config->optimizer.warmup_steps,
        .warmup_factor = config->optimizer.warmup_factor,
        .gamma = config->optimizer.step_gamma,
        .every = (uint64_t)config->optimizer.step_epochs * plan->epoch_steps,
    };
}

/* ---- facts of the run ---------------------------------------------------- */

static enum assay_status
state_plan(struct run *run, const struct train_plan *plan, struct error *err)
{
    enum assay_status st =
        run_fact_set(run, "model.weights", str_text(&plan->weights), err);

    if (!st && plan->renewed.n)
        st = run_fact_set(run, "training.renewed", plan->renewed.text, err);
    if (!st)
        st = run_fact_printf(run, err, "input.note", "%" PRIu64 " images of %s",
                             plan->n_samples, str_text(&plan->dataset));
    return st;
}

static enum assay_status state_loader(struct run *run,
                                      const struct train_parts *training,
                                      struct error *err)
{
    struct loader_pace pace = loader_pace(training->data.loader);
    struct loader_counts counts = loader_counts(training->data.loader);
    enum assay_status st = run_fact_printf(run, err, "loader.workers", "%d",
                                           training->plan.n_workers);

    if (!st)
        st = run_fact_printf(run, err, "loader.wanted_workers", "%zu",
                             loader_wanted_workers(&pace));
    if (!st)
        st = run_fact_printf(run, err, "loader.stall_share", "%.6f",
                             loader_stall_share(&pace));
    if (!st)
        st = run_fact_printf(run, err, "loader.image_ns", "%" PRId64,
                             loader_image_ns(&pace));
    if (!st)
        st = run_fact_printf(run, err, "loader.skipped", "%zu",
                             counts.n_skipped);
    return st;
}

static enum assay_status state_settings(struct run *run,
                                        const struct train_config *config,
                                        struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (const struct config_key *key = config_keys; !st && key->section;
         key++) {
        char name[64], value[CONFIG_VALUE_MAX];

        snprintf(name, sizeof name, "config.%s.%s", key->section, key->name);
        if (config_value_text(config, key, value))
            st = run_fact_set(run, name, value, err);
    }
    return st;
}

/* "backbone.body.layer1, backbone.body.layer2" */
static enum assay_status
state_recompute(struct run *run, const char *const *modules, struct error *err)
{
    struct str text = {0};
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && modules && modules[i]; i++)
        st = str_printf(&text, "%s%s", i ? ", " : "", modules[i]);
    if (st)
        st = error_nomem(err, text.n, "the modules to recompute");
    else if (text.n)
        st = run_fact_set(run, "training.recompute", text.text, err);
    str_release(&text);
    return st;
}

static enum assay_status train_facts_state(void *context, struct run *run,
                                           struct error *err)
{
    const struct train_parts *training = context;
    enum assay_status st = state_plan(run, &training->plan, err);

    if (!st)
        st = state_loader(run, training, err);
    if (!st)
        st = state_recompute(run, training->job->recompute, err);
    if (!st)
        st = state_settings(run, training->job->config, err);
    return st;
}

/* ---- the training -------------------------------------------------------- */

/* Leaves at least one measured step, even in a short training. */
static uint64_t warm_up_of(const struct train_config *config,
                           const struct train_plan *plan)
{
    uint64_t wanted = (uint64_t)config->profile.warmup_steps;
    uint64_t most = plan->n_steps - plan->first_step - 1;

    return wanted < most ? wanted : most;
}

static void train_job_stepped(void *context, const struct train_step *step)
{
    const struct train_job *job = ((struct train_parts *)context)->job;

    if (job->stepped)
        job->stepped(job->context, step);
}

/* A training does not fail because a picture does. */
static void train_job_saved(void *context, uint64_t step)
{
    struct train_parts *training = context;
    const struct train_job *job = training->job;
    struct train_report drawn = {0};
    struct error err = {0};
    enum assay_status st;

    assay_begin("pictures");
    st = train_pictures_write(training, &drawn, &err);
    assay_end();
    if (!st && drawn.n_pictures)
        job->pictured(job->context, step);
    else if (st && job->warnings)
        sink_printf(job->warnings,
                    "assay: no pictures of step %" PRIu64 ": %s\n", step,
                    err.text);
}

static enum assay_status open_trainer(struct train_parts *training,
                                      struct error *err)
{
    const struct train_job *job = training->job;
    const struct train_config *config = job->config;
    const struct train_plan *plan = &training->plan;
    struct trainer_options options = {
        .graph = training->graph,
        .pool = training->pool,
        .source = loader_source(training->data.loader),
        .n_threads = plan->n_threads,
        .choices_path = job->choices_path,
        .tuning_seconds = job->tuning_seconds,
        .recompute = job->recompute,
        .optimizer = optimizer_of(config),
        .clip_norm = config->optimizer.clip_norm,
        .schedule = schedule_of(config, plan),
        .precision = (enum precision)config->training.precision,
        .seed = plan->seed,
        .resume = job->resume,
        .n_steps = plan->n_steps,
        .n_epochs = config->training.steps ? 0 : plan->n_epochs,
        .n_warm_up = warm_up_of(config, plan),
        .n_full = config->profile.full_steps < 0
                      ? 0
                      : (unsigned)config->profile.full_steps,
        .run_path = job->run_path,
        .checkpoint_path = job->checkpoint_path,
        .checkpoint_every = (uint64_t)config->training.checkpoint_every,
        .device_bytes = job->device_bytes,
        .machine = job->machine,
        .stop = job->stop,
        .watch = {.stepped = train_job_stepped,
                  .saved = job->pictured && job->pictures_folder
                               ? train_job_saved
                               : NULL,
                  .context = training},
        .facts = {train_facts_state, training},
    };

    enum assay_status st = train_device(config, &options.device, err);

    return st ? st : trainer_new(&options, &training->trainer, err);
}

enum assay_status train_run(const struct train_job *job,
                            struct train_report *report, struct error *err)
{
    struct train_parts training = {.job = job};
    enum assay_status st;

    *report = (struct train_report){0};
    st = train_prepare(&training, err);
    if (!st)
        st = open_trainer(&training, err);
    if (!st && job->planned)
        job->planned(job->context, &training.plan);
    if (!st)
        st = trainer_run(training.trainer, report, err);
    if (training.trainer && job->run)
        *job->run = trainer_take_run(training.trainer);
    if (!st && job->export_path)
        st = trainer_export(training.trainer, job->export_path, err);
    if (!st && job->pictures_folder && report->n_steps)
        st = train_pictures_write(&training, report, err);
    training_close(&training);
    return st;
}
