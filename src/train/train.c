/* train/train.c - see train.h. */
#include "train/train.h"

#include "train/train_checkpoint.h"
#include "train/train_data.h"
#include "train/train_facts.h"
#include "train/train_file.h"
#include "train/train_model.h"
#include "train/train_pictures.h"

#include <inttypes.h>

struct training {
    const struct train_job *job;
    struct train_plan plan;
    struct train_data data;
    struct str weights; /* the file; empty: random */
    struct pool *pool;
    struct graph *graph;
    struct trainer *trainer;
};

/* The loader's batches and the graph's tensors are the pool's. */
static void training_close(struct training *training)
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

/* Seed and threads are those of a checkpoint that is resumed: its next step is
 * to be the one that it would have been. */
static enum assay_status plan_start(struct training *training,
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
                     "%s has made %" PRIu64 " steps already, and %" PRIu64
                     " were asked for in all; --steps N asks for more",
                     path, plan->first_step, plan->n_steps);
}

/* The dataset, and the model without its data; a file has some. */
static enum assay_status open_both(struct training *training, struct error *err)
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

static enum assay_status prepare(struct training *training, struct error *err)
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

static enum assay_status state_facts(void *context, struct run *run,
                                     struct error *err)
{
    const struct training *training = context;

    return train_facts_state(run, training->job->config, &training->plan,
                             training->data.loader, training->job->recompute,
                             err);
}

/* A short training has a step that counts, too. */
static uint64_t warm_up_of(const struct train_config *config,
                           const struct train_plan *plan)
{
    uint64_t wanted = (uint64_t)config->profile.warmup_steps;
    uint64_t most = plan->n_steps - plan->first_step - 1;

    return wanted < most ? wanted : most;
}

static unsigned full_steps_of(const struct train_config *config)
{
    int64_t wanted = config->profile.full_steps;

    return wanted < 0 ? 0 : (unsigned)wanted;
}

static enum assay_status open_trainer(struct training *training,
                                      struct error *err)
{
    const struct train_job *job = training->job;
    const struct train_config *config = job->config;
    const struct train_plan *plan = &training->plan;
    const struct trainer_options options = {
        .graph = training->graph,
        .pool = training->pool,
        .source = loader_source(training->data.loader),
        .backend = backend_best(),
        .n_threads = plan->n_threads,
        .choices_path = job->choices_path,
        .tuning_seconds = job->tuning_seconds,
        .recompute = job->recompute,
        .optimizer = optimizer_of(config),
        .schedule = schedule_of(config, plan),
        .seed = plan->seed,
        .resume = job->resume,
        .n_steps = plan->n_steps,
        .n_epochs = config->training.steps ? 0 : plan->n_epochs,
        .n_warm_up = warm_up_of(config, plan),
        .n_full = full_steps_of(config),
        .run_path = job->run_path,
        .checkpoint_path = job->checkpoint_path,
        .checkpoint_every = (uint64_t)config->training.checkpoint_every,
        .machine = job->machine,
        .stop = job->stop,
        .watch = {job->stepped, job->context},
        .facts = {state_facts, training},
    };

    return trainer_new(&options, &training->trainer, err);
}

static enum assay_status write_pictures(struct training *training,
                                        struct train_report *report,
                                        struct error *err)
{
    const struct train_pictures pictures = {
        .plan = &training->plan,
        .graph = training->graph,
        .dataset = training->data.dataset,
        .pool = training->pool,
        .choices_path = training->job->choices_path,
        .folder = training->job->pictures_folder,
    };

    return train_pictures_write(&pictures, report, err);
}

enum assay_status train_run(const struct train_job *job,
                            struct train_report *report, struct error *err)
{
    struct training training = {.job = job};
    enum assay_status st;

    *report = (struct train_report){0};
    st = prepare(&training, err);
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
        st = write_pictures(&training, report, err);
    training_close(&training);
    return st;
}
