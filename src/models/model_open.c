/* models/model_open.c - see model_open.h. */
#include "models/model_open.h"

#include "formats/weights/load_weights.h"

bool model_is_detector(const struct model_source *source)
{
    return !source->is_file && model_task(source->name) == TASK_DETECTION;
}

bool model_is_classifier(const struct model_source *source)
{
    return !source->is_file && model_task(source->name) == TASK_CLASSIFICATION;
}

enum assay_status model_open(const struct model_source *source,
                             struct pool *pool, struct graph **out,
                             struct error *err)
{
    if (source->is_file)
        return model_file_load(source->name, &source->file, pool, out, err);
    return model_build(source->name, &source->build, out, err);
}

enum { most_listed = 10 }; /* tensors of each kind that do not fit */

static size_t model_open_unlisted(size_t n)
{
    return n > most_listed ? n - most_listed : 0;
}

static void model_open_count_rest(const struct model_source *source,
                                  const struct weights_report *report,
                                  struct sink *sink)
{
    size_t n = model_open_unlisted(report->n_missing) +
               model_open_unlisted(report->n_unknown) +
               model_open_unlisted(report->n_unfit);

    if (n)
        sink_printf(sink,
                    "... and %zu more; 'assay weights check %s %s' lists all\n",
                    n, source->weights, source->name);
}

static enum assay_status
model_open_load_checkpoint(const struct model_source *source,
                           struct graph *graph, struct pool *pool,
                           struct sink *problems, struct error *err)
{
    const struct weights_problems listed = {problems, most_listed};
    struct weights_report report = {0};
    enum assay_status st = weights_load_file(
        graph, source->weights, pool, problems ? &listed : NULL, &report, err);

    if (st && problems)
        model_open_count_rest(source, &report, problems);
    return st;
}

enum assay_status model_load_weights(const struct model_source *source,
                                     struct graph *graph, struct pool *pool,
                                     struct sink *problems, struct error *err)
{
    return source->weights
               ? model_open_load_checkpoint(source, graph, pool, problems, err)
               : model_fill(graph, pool, source->seed, err);
}
