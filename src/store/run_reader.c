/* store/run_reader.c - the public interface to a run; see assay/run.h. */
#include "base/mem.h"
#include "store/store.h"

#include <assay/run.h>
#include <string.h>

struct assay_run {
    struct run *run;
    char **paths; /* one per scope, NULL until it is asked for */
};

enum assay_status assay_run_open(const char *path, struct assay_run **out,
                                 struct assay_error *error)
{
    struct assay_run *run = mem_zalloc(sizeof *run);
    struct error err = {0};
    enum assay_status st;

    *out = NULL;
    if (!run)
        return error_export(
            &err, error_nomem(&err, sizeof *run, "reading a run"), error);
    if (!path || !path[0])
        st = error_set(&err, ASSAY_BAD_USAGE,
                       "reading a run needs the path of its file");
    else
        st = store_load(path, &run->run, &err);
    if (!st) {
        run->paths = mem_array(run_scope_count(run->run), sizeof *run->paths);
        if (!run->paths)
            st = error_nomem(&err, run_scope_count(run->run), "reading a run");
    }
    if (st)
        assay_run_close(run);
    else
        *out = run;
    return error_export(&err, st, error);
}

void assay_run_close(struct assay_run *run)
{
    if (!run)
        return;
    for (size_t i = 0; run->paths && i < run_scope_count(run->run); i++)
        mem_free(run->paths[i]);
    mem_free(run->paths);
    run_free(run->run);
    mem_free(run);
}

int64_t assay_run_duration_ns(const struct assay_run *run)
{
    return run_duration_ns(run->run);
}

void assay_run_health_of(const struct assay_run *run,
                         struct assay_run_health *out)
{
    const struct run_health *health = run_health_of(run->run);

    *out = (struct assay_run_health){.lost_spans = health->lost_spans,
                                     .unbalanced_ends = health->unbalanced_ends,
                                     .open_at_end = health->open_at_end,
                                     .too_deep = health->too_deep,
                                     .warm_up = health->warm_up,
                                     .is_incomplete = health->is_incomplete};
}

/* ---- facts -------------------------------------------------------------- */

const char *assay_run_fact(const struct assay_run *run, const char *key)
{
    return key ? run_fact(run->run, key) : NULL;
}

size_t assay_run_fact_count(const struct assay_run *run)
{
    return run_fact_count(run->run);
}

int assay_run_fact_at(const struct assay_run *run, size_t i, const char **key,
                      const char **value)
{
    if (i >= run_fact_count(run->run))
        return 0;
    run_fact_at(run->run, i, key, value);
    return 1;
}

/* ---- names -------------------------------------------------------------- */

size_t assay_run_scope_count(const struct assay_run *run)
{
    return run_scope_count(run->run);
}

int assay_run_scope_at(const struct assay_run *run, uint32_t scope,
                       struct assay_run_scope *out)
{
    const struct scope *found;

    if (scope >= run_scope_count(run->run))
        return 0;
    found = run_scope(run->run, scope);
    *out = (struct assay_run_scope){.parent = found->parent,
                                    .depth = found->depth,
                                    .first_child = found->first_child,
                                    .next_sibling = found->next_sibling,
                                    .name = found->name,
                                    .class_name = found->class_name};
    return 1;
}

const char *assay_run_path(struct assay_run *run, uint32_t scope)
{
    struct str path = {0};

    if (scope >= run_scope_count(run->run))
        return "";
    if (!run->paths[scope] && !run_scope_path(run->run, scope, &path))
        run->paths[scope] = mem_strdup(str_text(&path));
    str_release(&path);
    return run->paths[scope];
}

uint32_t assay_run_find(struct assay_run *run, const char *path)
{
    for (uint32_t i = 0; path && i < run_scope_count(run->run); i++) {
        const char *own = assay_run_path(run, i);

        if (own && strcmp(own, path) == 0)
            return i;
    }
    return ASSAY_RUN_NONE;
}

size_t assay_run_phase_count(const struct assay_run *run)
{
    return run_phase_count(run->run);
}

const char *assay_run_phase(const struct assay_run *run, uint32_t phase)
{
    return phase < run_phase_count(run->run) ? run_phase_name(run->run, phase)
                                             : "";
}

size_t assay_run_lane_count(const struct assay_run *run)
{
    return run_thread_count(run->run);
}

const char *assay_run_lane(const struct assay_run *run, uint32_t lane,
                           enum assay_lane_kind *kind)
{
    const struct run_thread *thread;

    if (lane >= run_thread_count(run->run))
        return "";
    thread = run_thread(run->run, lane);
    if (kind)
        *kind = thread->kind == THREAD_DEVICE ? ASSAY_LANE_DEVICE
                                              : ASSAY_LANE_THREAD;
    return thread->name;
}

/* ---- statistics --------------------------------------------------------- */

/* RUN_ANY for NULL; false if there is no such phase. */
static bool reader_find_phase(const struct run *run, const char *name,
                              uint32_t *phase)
{
    *phase = RUN_ANY;
    for (uint32_t i = 0; name && i < run_phase_count(run); i++) {
        if (strcmp(run_phase_name(run, i), name) == 0)
            *phase = i;
    }
    return !name || *phase != RUN_ANY;
}

static struct assay_run_stats reader_stats(const struct scope_stats *stats)
{
    return (struct assay_run_stats){.calls = stats->calls,
                                    .n = stats->n,
                                    .calls_each = stats->calls_each,
                                    .total_ns = stats->total_ns,
                                    .self_ns = stats->self_ns,
                                    .mean_ns = stats->mean_ns,
                                    .sd_ns = stats->sd_ns,
                                    .mean_self_ns = stats->mean_self_ns,
                                    .median_ns = stats->median_ns,
                                    .median_low_ns = stats->median_low_ns,
                                    .median_high_ns = stats->median_high_ns,
                                    .p5_ns = stats->p5_ns,
                                    .p95_ns = stats->p95_ns,
                                    .p99_ns = stats->p99_ns,
                                    .min_ns = stats->min_ns,
                                    .max_ns = stats->max_ns,
                                    .bytes = stats->bytes,
                                    .peak_bytes = stats->peak_bytes,
                                    .is_outside = stats->is_outside};
}

enum assay_status assay_run_stats_of(const struct assay_run *run,
                                     uint32_t scope, const char *phase,
                                     enum assay_lane_kind side,
                                     struct assay_run_stats *out,
                                     struct assay_error *error)
{
    struct scope_stats stats = scope_stats_unknown();
    struct error err = {0};
    enum assay_status st;
    uint32_t id;

    if (scope >= run_scope_count(run->run))
        st = error_set(&err, ASSAY_NOT_FOUND, "the run has no scope %u", scope);
    else if (!reader_find_phase(run->run, phase, &id))
        st = error_set(&err, ASSAY_NOT_FOUND, "the run has no phase '%s'",
                       phase);
    else if (side == ASSAY_LANE_DEVICE)
        st = run_scope_device_stats(run->run, scope, id, &stats, &err);
    else
        st = run_scope_stats(run->run, scope, id, &stats, &err);
    if (!st)
        *out = reader_stats(&stats);
    return error_export(&err, st, error);
}

int assay_run_work_of(const struct assay_run *run, uint32_t scope,
                      struct assay_run_work *out)
{
    struct scope_work work = scope_work_unknown();
    struct scope_text text = {"", ""};

    if (scope >= run_scope_count(run->run) ||
        (!run_work(run->run, scope) && !run_text(run->run, scope)))
        return 0;
    if (run_work(run->run, scope))
        work = *run_work(run->run, scope);
    if (run_text(run->run, scope))
        text = *run_text(run->run, scope);
    *out = (struct assay_run_work){.macs = work.macs,
                                   .flops = work.flops,
                                   .bytes_read = work.read_bytes,
                                   .bytes_written = work.write_bytes,
                                   .parameters = work.parameters,
                                   .done_flops = work.done_flops,
                                   .done_bytes = work.done_bytes,
                                   .kept_bytes = work.kept_bytes,
                                   .done_by = work.done_by,
                                   .shapes = text.shapes,
                                   .kernel = text.kernel};
    return 1;
}

/* ---- iterations and samples --------------------------------------------- */

uint64_t assay_run_iteration_total(const struct assay_run *run)
{
    return run_iteration_count(run->run);
}

size_t assay_run_iteration_count(const struct assay_run *run)
{
    return run_iterations_kept(run->run);
}

int assay_run_iteration_at(const struct assay_run *run, size_t i,
                           struct assay_run_iteration *out)
{
    const struct iteration *iteration;

    if (i >= run_iterations_kept(run->run))
        return 0;
    iteration = run_iteration(run->run, i);
    *out = (struct assay_run_iteration){.index = iteration->index,
                                        .lane = iteration->thread,
                                        .start_ns = iteration->start_ns,
                                        .duration_ns = iteration->duration_ns};
    return 1;
}

size_t assay_run_sample_count(const struct assay_run *run)
{
    return run_kept_count(run->run);
}

int assay_run_sample_at(const struct assay_run *run, size_t i,
                        struct assay_run_sample *out)
{
    const struct sample *sample;

    if (i >= run_kept_count(run->run))
        return 0;
    sample = run_kept(run->run, i);
    *out = (struct assay_run_sample){.scope = sample->scope,
                                     .phase = sample->phase,
                                     .lane = sample->thread,
                                     .iteration = sample->iteration,
                                     .start_ns = sample->start_ns,
                                     .duration_ns = sample->duration_ns,
                                     .self_ns = sample->self_ns,
                                     .bytes = sample->bytes,
                                     .peak_bytes = sample->peak_bytes,
                                     .queued_ns = sample->queued_ns};
    return 1;
}

/* ---- series and counters ------------------------------------------------ */

size_t assay_run_series_count(const struct assay_run *run)
{
    return run_series_count(run->run);
}

int assay_run_series_at(const struct assay_run *run, uint32_t series,
                        struct assay_run_series *out)
{
    const struct series *found;

    if (series >= run_series_count(run->run))
        return 0;
    found = run_series(run->run, series);
    *out = (struct assay_run_series){.name = found->name,
                                     .unit = found->unit,
                                     .n_points = found->n_points,
                                     .n_labels = found->n_labels};
    return 1;
}

int assay_run_series_point(const struct assay_run *run, uint32_t series,
                           size_t i, uint32_t *iteration, double *value,
                           const char **label)
{
    const struct series *found;

    if (series >= run_series_count(run->run) ||
        i >= run_series(run->run, series)->n_points)
        return 0;
    found = run_series(run->run, series);
    if (iteration)
        *iteration = found->points[i].iteration;
    if (value)
        *value = found->points[i].value;
    if (label)
        *label = series_label(found, &found->points[i]);
    return 1;
}

size_t assay_run_counter_count(const struct assay_run *run)
{
    return run_counters(run->run);
}

int assay_run_counter_at(const struct assay_run *run, uint32_t counter,
                         struct assay_run_counter *out)
{
    const struct counter *found;

    if (counter >= run_counters(run->run))
        return 0;
    found = run_counter(run->run, counter);
    *out = (struct assay_run_counter){.name = found->name,
                                      .unit = found->unit,
                                      .n = found->n,
                                      .mean = found->mean,
                                      .min = found->min,
                                      .max = found->max,
                                      .last = found->last,
                                      .n_points = found->n_points};
    return 1;
}

int assay_run_counter_point(const struct assay_run *run, uint32_t counter,
                            size_t i, int64_t *time_ns, double *value)
{
    const struct counter *found;

    if (counter >= run_counters(run->run) ||
        i >= run_counter(run->run, counter)->n_points)
        return 0;
    found = run_counter(run->run, counter);
    if (time_ns)
        *time_ns = found->points[i].time_ns;
    if (value)
        *value = found->points[i].value;
    return 1;
}

/* ---- memory ------------------------------------------------------------- */

int64_t assay_run_peak_bytes(const struct assay_run *run, uint32_t *scope)
{
    const struct run_memory *memory = run_memory_of(run->run);

    if (scope)
        *scope = memory->peak_scope;
    return memory->peak_bytes;
}

size_t assay_run_space_count(const struct assay_run *run)
{
    return run_space_count(run->run);
}

int assay_run_space_at(const struct assay_run *run, size_t i,
                       struct assay_run_space *out)
{
    const struct space_row *row;

    if (i >= run_space_count(run->run))
        return 0;
    row = run_space(run->run, i);
    *out = (struct assay_run_space){.space = row->space,
                                    .category = row->category,
                                    .live_bytes = row->live_bytes,
                                    .peak_bytes = row->peak_bytes,
                                    .at_peak_bytes = row->at_peak_bytes};
    return 1;
}
