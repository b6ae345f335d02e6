/* metrics/profiler_measure.c - a model measured for its metrics. */
#include "metrics/profiler_internal.h"

#include "run/run.h"
#include "session/profile.h"

#include <math.h>

static enum assay_status read_run(struct assay_profiler *profiler,
                                  const struct run *run, struct error *err)
{
    const struct session_options *options = &profiler->model->options;
    int64_t peak = run_memory_of(run)->peak_bytes;
    uint32_t scope = run_model_scope(run);
    struct scope_stats stats;
    enum assay_status st;

    if (scope == RUN_NONE)
        return error_set(err, ASSAY_BAD_INPUT, "the model did not run");
    st = run_scope_stats(run, scope, RUN_ANY, &stats, err);
    if (st)
        return st;
    profiler->measured = (struct assay_measured){
        .n = stats.n,
        .images = (uint64_t)options->model.build.n_images,
        .threads = options->n_threads,
        .median_ns = stats.median_ns,
        .low_ns = stats.median_low_ns,
        .high_ns = stats.median_high_ns,
        .mean_ns = stats.mean_ns,
        .mean_low_ns = stats.mean_low_ns,
        .mean_high_ns = stats.mean_high_ns,
        .p95_ns = stats.p95_ns,
        .min_ns = stats.min_ns,
        .max_ns = stats.max_ns,
        .peak_bytes = peak == RUN_UNKNOWN ? NAN : (double)peak,
    };
    return ASSAY_OK;
}

/* Hands the times, and the run that holds their texts, over to the model. */
static enum assay_status read_layers(struct assay_model *model,
                                     struct run **run, struct error *err)
{
    struct layer_time *times = NULL;
    enum assay_status st =
        layer_times_read(*run, model->graph, &model->layers, &times, err);

    if (st)
        return st;
    for (size_t i = 0; i < model->layers.n; i++)
        model->public_layers[i].mean_ns = times[i].ns;
    model_forget_times(model);
    model->times = times;
    model->run = *run;
    *run = NULL;
    return ASSAY_OK;
}

/* How long to measure unless the user says. */
static void set_pace(const struct assay_profiler *profiler,
                     struct profile_options *job)
{
    static const uint64_t at_least = 10;
    static const double goal = 0.02, seconds = 5;
    uint64_t wanted = profiler->options.iterations;
    uint64_t batch = (uint64_t)job->session.model.build.n_images;

    job->n_images = (wanted ? wanted : at_least) * batch;
    job->precision_goal = wanted ? 0 : goal;
    job->time_limit = seconds;
    job->stop = profiler->options.stop;
}

enum assay_status profiler_measure(struct assay_profiler *profiler,
                                   struct error *err)
{
    struct assay_model *model = profiler->model;
    struct profile_options job = {.session = model->options, .n_warm_up = 1};
    struct str lines = {0};
    struct sink warnings = sink_to_str(&lines);
    struct run *run = NULL;
    enum assay_status st;

    if (profiler->is_measured)
        return ASSAY_OK;
    if (!model->may_fill)
        return error_set(err, ASSAY_BAD_USAGE,
                         "%s was loaded without weights, so it cannot be run",
                         graph_name(model->graph));
    job.session.warnings = &warnings;
    job.session.model.file.problems = &warnings;
    set_pace(profiler, &job);
    st = profile_model(&job, &run, err);
    if (st)
        model_tell(model, &lines);
    if (!st)
        st = read_run(profiler, run, err);
    if (!st)
        st = read_layers(model, &run, err);
    profiler->is_measured = !st;
    run_free(run);
    str_release(&lines);
    return st;
}
