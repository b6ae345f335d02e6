/* metrics/metric_job.c - runs a function: fetches what it needs and keeps what
 * it returns. */
#include "metrics/profiler_internal.h"

#include "base/mem.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- its input ---------------------------------------------------------- */

static const char *set_value(const struct assay_profiler *profiler,
                             const char *name)
{
    for (size_t i = 0; i < profiler->n_arguments; i++) {
        if (strcmp(profiler->arguments[i].name, name) == 0)
            return profiler->arguments[i].value;
    }
    for (size_t i = 0; i < 2; i++) {
        const struct argument_value *own = &profiler->own_arguments[i];

        if (own->name && strcmp(own->name, name) == 0)
            return own->value;
    }
    return NULL;
}

static enum assay_status find_arguments(const struct assay_profiler *profiler,
                                        struct metric_job *job)
{
    const struct assay_metric_function *function = job->registered->function;

    job->arguments =
        mem_array(function->n_arguments + 1, sizeof *job->arguments);
    if (!job->arguments)
        return error_nomem(&job->err, sizeof *job->arguments,
                           "the arguments of a metric");
    for (size_t i = 0; i < function->n_arguments; i++) {
        const struct assay_argument *argument = &function->arguments[i];
        const char *value = set_value(profiler, argument->name);

        job->arguments[i] = value ? value : argument->value;
        if (!job->arguments[i])
            return error_set(&job->err, ASSAY_BAD_USAGE,
                             "'%s' needs the argument '%s' (--set %s=...)",
                             function->name, argument->name, argument->name);
    }
    return ASSAY_OK;
}

static enum assay_status fetch_needs(struct assay_profiler *profiler,
                                     unsigned needs, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    if (needs & ASSAY_NEEDS_DATASET && !profiler->dataset)
        return error_set(err, ASSAY_BAD_USAGE,
                         "no dataset was given (--dataset NAME --data PATH)");
    if (needs & ASSAY_NEEDS_WEIGHTS)
        st = model_weights(profiler->model, err);
    if (!st && needs & ASSAY_NEEDS_RUN)
        st = profiler_measure(profiler, err);
    return st;
}

static void job_fill_input(const struct assay_profiler *profiler,
                           struct metric_job *job)
{
    const struct assay_model *model = profiler->model;
    unsigned needs = job->registered->function->needs;
    bool has_weights = needs & ASSAY_NEEDS_WEIGHTS;
    bool has_run = needs & ASSAY_NEEDS_RUN;

    job->input = (struct assay_metric_input){
        .model = assay_model_name(model),
        .class_name = assay_model_class(model),
        .totals = &model->totals,
        .parameters =
            has_weights ? model->parameters : profiler->bare_parameters,
        .n_parameters = model->n_parameters,
        .layers = has_run ? model->public_layers : profiler->bare_layers,
        .n_layers = model->layers.n,
        .measured = has_run ? &profiler->measured : NULL,
        .evaluated = needs & ASSAY_NEEDS_DATASET ? &job->evaluated : NULL,
        .arguments = job->arguments,
    };
}

/* ---- its steps ---------------------------------------------------------- */

/* Adds the name of the function to its failure. */
static enum assay_status take_error(struct metric_job *job,
                                    enum assay_status st,
                                    struct assay_error *error)
{
    error->text[sizeof error->text - 1] = '\0';
    if (!st)
        return ASSAY_OK;
    return error_set(&job->err, st, "'%s': %s", job->registered->function->name,
                     error->text[0] ? error->text : assay_status_text(st));
}

static enum assay_status job_prepare(struct assay_profiler *profiler,
                                     struct metric_job *job)
{
    const struct assay_metric_function *function = job->registered->function;
    enum assay_status st = find_arguments(profiler, job);

    job->values = mem_array(function->n_metrics, sizeof *job->values);
    if (!st && !job->values)
        st = error_nomem(&job->err, function->n_metrics * sizeof *job->values,
                         "the values of a metric");
    if (!st)
        st = fetch_needs(profiler, function->needs, &job->err);
    if (!st)
        job_fill_input(profiler, job);
    return st;
}

static enum assay_status job_begin(const struct assay_profiler *profiler,
                                   struct metric_job *job)
{
    const struct assay_metric_function *function = job->registered->function;
    struct assay_error error = {0};

    if (job->registered->is_foreign)
        return metric_child_start(&job->child, function, &job->input,
                                  profiler->options.plugin_seconds, &job->err);
    if (!function->begin)
        return ASSAY_OK;
    return take_error(
        job, function->begin(function->context, &job->input, &error), &error);
}

void metric_job_sample(struct metric_job *job,
                       const struct assay_sample *sample)
{
    const struct assay_metric_function *function = job->registered->function;
    struct assay_error error = {0};

    if (job->st)
        return;
    if (job->registered->is_foreign)
        metric_child_sample(&job->child, sample);
    else if (function->sample)
        job->st = take_error(
            job, function->sample(function->context, sample, &error), &error);
}

static enum assay_status job_finish(struct metric_job *job)
{
    const struct assay_metric_function *function = job->registered->function;
    struct assay_error error = {0};

    if (job->registered->is_foreign)
        return metric_child_finish(&job->child, function, job->input.evaluated,
                                   job->values, &job->err);
    return take_error(
        job,
        function->compute(function->context, &job->input, job->values, &error),
        &error);
}

/* ---- its results -------------------------------------------------------- */

static const struct assay_unit *choose_unit(const struct assay_metric *metric,
                                            double value)
{
    const struct assay_unit *unit = metric->units;

    if (!unit || !unit->name)
        return NULL;
    while (fabs(value) < unit->from && unit[1].name)
        unit++;
    return unit;
}

static void job_keep(struct kept_result *kept, const struct registry_key *key,
                     const struct metric_job *job)
{
    double value = job->st ? NAN : job->values[key->at];
    struct assay_result *result = &kept->result;

    kept->is_there = true;
    kept->function = job->function;
    kept->reason[0] = '\0';
    *result = (struct assay_result){
        .metric = key->metric,
        .function = job->registered->function->name,
        .status = job->st,
        .reason = kept->reason,
        .value = value,
        .shown = value,
        .unit = choose_unit(key->metric, value),
    };
    if (job->st)
        snprintf(kept->reason, sizeof kept->reason, "%s", job->err.text);
    if (!job->st && !isfinite(value)) {
        result->status = ASSAY_BAD_INPUT;
        result->value = result->shown = NAN;
        snprintf(kept->reason, sizeof kept->reason,
                 "'%s' returned a value that is not a number",
                 result->function);
    }
    if (result->unit)
        result->shown = result->value / result->unit->scale;
}

/* A key may have gone to another function. */
static void keep_all(struct assay_profiler *profiler,
                     const struct metric_job *job)
{
    for (size_t i = 0; i < profiler->registry.n_keys; i++) {
        if (profiler->registry.keys[i].function == job->function)
            job_keep(profiler->results[i], &profiler->registry.keys[i], job);
    }
}

static void job_release(struct metric_job *job)
{
    metric_child_stop(&job->child);
    mem_free(job->arguments);
    mem_free(job->values);
}

static void run_all(struct assay_profiler *profiler, struct metric_job *jobs,
                    size_t n)
{
    struct assay_evaluated evaluated = {0};
    struct error err = {0};
    bool has_samples = false;
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; i < n; i++) {
        jobs[i].st = job_prepare(profiler, &jobs[i]);
        if (!jobs[i].st)
            jobs[i].st = job_begin(profiler, &jobs[i]);
        has_samples = has_samples || (!jobs[i].st && jobs[i].input.evaluated);
    }
    if (has_samples)
        st = evaluation_run(profiler, jobs, n, &evaluated, &err);
    for (size_t i = 0; i < n; i++) {
        jobs[i].evaluated = evaluated;
        if (!jobs[i].st && st)
            jobs[i].st = error_set(&jobs[i].err, st, "%s", err.text);
        if (!jobs[i].st)
            jobs[i].st = job_finish(&jobs[i]);
    }
}

enum assay_status profiler_run(struct assay_profiler *profiler,
                               const size_t *functions, size_t n,
                               struct error *err)
{
    struct metric_job *jobs = mem_array(n, sizeof *jobs);
    enum assay_status st = ASSAY_OK;

    if (!jobs)
        return error_nomem(err, n * sizeof *jobs, "metrics");
    for (size_t i = 0; i < n; i++) {
        jobs[i].function = functions[i];
        jobs[i].registered = &profiler->registry.functions[functions[i]];
    }
    run_all(profiler, jobs, n);
    for (size_t i = 0; i < n; i++) {
        if (jobs[i].st == ASSAY_NOMEM && !st)
            st = error_set(err, ASSAY_NOMEM, "%s", jobs[i].err.text);
        keep_all(profiler, &jobs[i]);
        job_release(&jobs[i]);
    }
    mem_free(jobs);
    return st;
}
