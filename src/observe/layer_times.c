/* observe/layer_times.c - see layer_times.h. */
#include "observe/layer_times.h"

#include "base/mem.h"
#include "run/run.h"

#include <math.h>

/* The scope of the run for a scope of the graph. */
static enum assay_status layer_times_find_scope(const struct run *run,
                                                const struct graph *graph,
                                                uint32_t scope, uint32_t *place,
                                                struct error *err)
{
    enum { most = 64 };
    uint32_t chain[most];
    size_t n = 0;
    enum assay_status st =
        run_scope_find(run, RUN_ROOT, "model", graph_class(graph), place, err);

    for (; scope != GRAPH_NONE && n < most;
         scope = graph_scope(graph, scope)->parent)
        chain[n++] = scope;
    while (!st && n-- > 0 && *place != RUN_NONE) {
        const struct graph_scope *module = graph_scope(graph, chain[n]);

        st = run_scope_find(run, *place, module->name, module->class_name,
                            place, err);
    }
    return st;
}

static enum assay_status read_time(const struct run *run,
                                   const struct graph *graph,
                                   const struct layer *layer,
                                   struct layer_time *time, struct error *err)
{
    const struct scope_work *work;
    struct scope_stats stats;
    uint32_t place;
    enum assay_status st =
        layer_times_find_scope(run, graph, layer->scope, &place, err);

    *time = (struct layer_time){.ns = NAN};
    if (!st && layer->op_name[0] && place != RUN_NONE)
        st = run_scope_find(run, place, layer->op_name, layer->class_name,
                            &place, err);
    if (st || place == RUN_NONE)
        return st;
    work = run_work(run, place);
    if (work && work->done_by != RUN_NONE)
        time->done_by = run_scope(run, work->done_by)->name;
    st = run_scope_stats(run, place, RUN_NONE, &stats, err);
    if (!st && stats.calls)
        time->ns = stats.mean_ns;
    return st;
}

enum assay_status layer_times_read(const struct run *run,
                                   const struct graph *graph,
                                   const struct layers *layers,
                                   struct layer_time **out, struct error *err)
{
    struct layer_time *times = mem_array(layers->n, sizeof *times);
    enum assay_status st = ASSAY_OK;

    *out = NULL;
    if (!times)
        return error_nomem(err, layers->n * sizeof *times,
                           "the times of layers");
    for (size_t i = 0; !st && i < layers->n; i++)
        st = read_time(run, graph, &layers->items[i], &times[i], err);
    if (st)
        mem_free(times);
    else
        *out = times;
    return st;
}
