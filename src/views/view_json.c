/* views/view_json.c - everything on the screen, with more digits.
 *
 * docs/show.md lists the members. The tree is a flat array in the order of the
 * screen: a row names its parent by index, so readers need not nest. */
#include "run/device_balance.h"
#include "views/columns_internal.h"
#include "views/fields_internal.h"
#include "views/json_parts_internal.h"
#include "views/ranking_internal.h"
#include "views/stages.h"
#include "views/summary_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { INDENT = 2 };

static void view_json_write_facts(struct json_writer *json,
                                  const struct run *run, const char *prefix)
{
    size_t n = strlen(prefix);

    for (size_t i = 0; i < run_fact_count(run); i++) {
        const char *key, *value;

        run_fact_at(run, i, &key, &value);
        if (strncmp(key, prefix, n) == 0)
            json_member_string(json, key + n, value);
    }
}

static void view_json_write_run(struct json_writer *json, const struct run *run,
                                const char *source)
{
    const struct scope *root = run_scope(run, RUN_ROOT);

    json_key(json, "run");
    json_object_begin(json);
    json_member_string(json, "name", root->name);
    json_member_string(json, "class", root->class_name);
    json_member_string(json, "source", source);
    json_member_string(json, "program", run_fact(run, "program.name"));
    json_member_string(json, "command", run_fact(run, "program.command"));
    json_member_string(json, "started", run_fact(run, "time.started"));
    json_member_string(json, "version", run_fact(run, "assay.version"));
    json_member_double(json, "duration_ms", (double)run_duration_ns(run) / 1e6);
    json_object_end(json);
    json_key(json, "facts");
    json_object_begin(json);
    view_json_write_facts(json, run, "");
    json_object_end(json);
    json_key(json, "machine");
    json_object_begin(json);
    view_json_write_facts(json, run, "machine.");
    json_object_end(json);
}

static void view_json_write_threads(struct json_writer *json,
                                    const struct run *run)
{
    json_key(json, "threads");
    json_array_begin(json);
    for (uint32_t i = 0; i < run_thread_count(run); i++) {
        const struct run_thread *thread = run_thread(run, i);

        json_inline_object_begin(json);
        json_member_string(json, "name", thread->name);
        json_member_string(json, "kind", thread_kind_text(thread->kind));
        json_object_end(json);
    }
    json_array_end(json);
}

static enum assay_status view_json_write_latency(struct json_writer *json,
                                                 const struct run *run,
                                                 struct error *err)
{
    struct scope_stats stats = scope_stats_unknown();
    enum assay_status st = ASSAY_OK;

    json_key(json, "runs");
    json_object_begin(json);
    json_member_int(json, "warm_up", (int64_t)run_health_of(run)->warm_up);
    json_member_int(json, "measured", (int64_t)run_iteration_count(run));
    json_member_int(json, "counted", (int64_t)run_counted(run).n);
    json_member_int(json, "disturbed", (int64_t)run_counted(run).n_disturbed);
    if (run_step_of(run, 0))
        json_member_int(json, "first_step", (int64_t)run_step_of(run, 0));
    json_member_string(json, "stopped", run_fact(run, "runs.stopped"));
    json_member_double(json, "precision_goal",
                       run_fact_number(run, "runs.precision_goal"));
    json_object_end(json);
    if (run_has_iterations(run))
        st = run_scope_stats(run, RUN_ROOT, RUN_ANY, &stats, err);
    json_key(json, "latency");
    json_object_begin(json);
    json_member_double(json, "mean_ms", stats.mean_ns / 1e6);
    json_member_double(json, "mean_low_ms", stats.mean_low_ns / 1e6);
    json_member_double(json, "mean_high_ms", stats.mean_high_ns / 1e6);
    json_member_double(json, "median_ms", stats.median_ns / 1e6);
    json_member_double(json, "median_low_ms", stats.median_low_ns / 1e6);
    json_member_double(json, "median_high_ms", stats.median_high_ns / 1e6);
    json_member_double(json, "sd_ms", stats.sd_ns / 1e6);
    json_member_double(json, "p5_ms", stats.p5_ns / 1e6);
    json_member_double(json, "p95_ms", stats.p95_ns / 1e6);
    json_member_double(json, "p99_ms", stats.p99_ns / 1e6);
    json_member_double(json, "min_ms", stats.min_ns / 1e6);
    json_member_double(json, "max_ms", stats.max_ns / 1e6);
    json_member_double(json, "per_second", 1e9 / stats.mean_ns);
    json_member_double(json, "images_per_second",
                       run_images_each(run) * 1e9 / stats.mean_ns);
    json_object_end(json);
    return st;
}

static const char *view_json_steadiness_text(enum steadiness steadiness)
{
    switch (steadiness) {
    case STEADY:
        return "steady";
    case STEADY_TOO_FEW:
        return "too few";
    case STEADY_DRIFTING:
        return "drifting";
    case STEADY_OUTLIERS:
        return "outliers";
    case STEADY_NOISY:
        return "noisy";
    }
    return NULL;
}

static enum assay_status view_json_write_steadiness(struct json_writer *json,
                                                    const struct run *run,
                                                    struct error *err)
{
    struct verdict verdict;
    enum assay_status st;

    json_key(json, "steady");
    if (!run_has_iterations(run)) {
        json_write_null(json);
        return ASSAY_OK;
    }
    st = run_verdict(run, &verdict, err);
    if (st)
        return st;
    json_object_begin(json);
    json_member_string(json, "verdict",
                       view_json_steadiness_text(verdict.steadiness));
    json_member_string(json, "text", verdict.text);
    json_member_double(json, "drift", verdict.drift);
    json_member_int(json, "outliers", (int64_t)verdict.n_outliers);
    json_member_double(json, "median_width", verdict.median_width);
    json_member_double(json, "noise", verdict.noise);
    st = json_outliers(json, run, err);
    json_object_end(json);
    return st;
}

static void view_json_write_load(struct json_writer *json,
                                 const struct run *run)
{
    struct run_load load;

    run_load(run, &load);
    json_key(json, "load");
    if (isnan(load.others) && isnan(load.wait_ns)) {
        json_write_null(json);
        return;
    }
    json_object_begin(json);
    json_member_bool(json, "is_disturbed", load.is_disturbed);
    json_member_double(json, "processors", load.processors);
    json_member_double(json, "others", load.others);
    json_member_double(json, "stolen", load.stolen);
    json_member_double(json, "throttled", load.throttled);
    json_member_double(json, "wait_ms", load.wait_ns / 1e6);
    json_object_end(json);
}

static void view_json_write_health(struct json_writer *json,
                                   const struct run *run)
{
    const struct run_health *health = run_health_of(run);

    json_key(json, "health");
    json_object_begin(json);
    json_member_bool(json, "is_incomplete", health->is_incomplete);
    json_member_int(json, "lost_spans", (int64_t)health->lost_spans);
    json_member_int(json, "unbalanced_ends", (int64_t)health->unbalanced_ends);
    json_member_int(json, "open_at_end", (int64_t)health->open_at_end);
    json_member_int(json, "too_deep", (int64_t)health->too_deep);
    json_object_end(json);
}

static void view_json_write_counters(struct json_writer *json,
                                     const struct run *run)
{
    json_key(json, "counters");
    json_array_begin(json);
    for (uint32_t i = 0; i < run_counters(run); i++) {
        const struct counter *counter = run_counter(run, i);

        json_inline_object_begin(json);
        json_member_string(json, "name", counter->name);
        json_member_string(json, "unit", counter->unit);
        json_member_int(json, "n", (int64_t)counter->n);
        json_member_double(json, "mean", counter->n ? counter->mean : NAN);
        json_member_double(json, "min", counter->n ? counter->min : NAN);
        json_member_double(json, "max", counter->n ? counter->max : NAN);
        json_member_double(json, "last", counter->n ? counter->last : NAN);
        json_object_end(json);
    }
    json_array_end(json);
}

static void view_json_write_stages(struct json_writer *json,
                                   const struct rows *rows)
{
    struct stages stages;

    json_key(json, "stages");
    if (!stages_find(rows, &stages)) {
        json_write_null(json);
        return;
    }
    json_object_begin(json);
    for (enum stage i = 0; i < N_STAGES; i++) {
        char key[32];

        snprintf(key, sizeof key, "%s_ms", stage_name(i));
        json_member_double(json, key, stages.ns[i] / 1e6);
    }
    json_member_double(json, "residual_ms", stages.residual_ns / 1e6);
    json_member_double(json, "iteration_ms", stages.whole_ns / 1e6);
    json_object_end(json);
}

static void view_json_write_balance(struct json_writer *json,
                                    const struct run *run,
                                    const struct rows *rows)
{
    struct balance balance;

    json_key(json, "balance");
    if (!balance_find(rows, &balance)) {
        json_write_null(json);
        return;
    }
    json_object_begin(json);
    json_member_double(json, "ops_ms", balance.ops_ns / 1e6);
    json_member_double(json, "gaps_ms", balance.gaps_ns / 1e6);
    if (balance.results_ns > 0)
        json_member_double(json, "results_ms", balance.results_ns / 1e6);
    json_member_double(json, "residual_ms", balance.residual_ns / 1e6);
    json_member_double(json, "model_ms", balance.model_ns / 1e6);
    json_member_double(json, "recording_cost_share",
                       run_fact_number(run, "recording.cost_share"));
    json_member_double(json, "recording_cost_low",
                       run_fact_number(run, "recording.cost_low"));
    json_member_double(json, "recording_cost_high",
                       run_fact_number(run, "recording.cost_high"));
    json_object_end(json);
}

/* Replaces *path with the path of a scope. */
static enum assay_status view_json_put_path(const struct run *run,
                                            uint32_t scope, struct str *path,
                                            struct error *err)
{
    str_clear(path);
    return run_scope_path(run, scope, path)
               ? error_nomem(err, RUN_MAX_DEPTH, "the path of a scope")
               : ASSAY_OK;
}

static enum assay_status view_json_write_row(struct json_writer *json,
                                             const struct run *run,
                                             const struct rows *rows, size_t at,
                                             struct str *path,
                                             struct error *err)
{
    const struct row *row = &rows->items[at];
    struct scope_stats stats;
    enum assay_status st =
        run_scope_stats(run, row->scope, RUN_ANY, &stats, err);

    if (st)
        return st;
    if (!row->is_called)
        stats = scope_stats_unknown();
    st = view_json_put_path(run, row->scope, path, err);
    if (st)
        return st;
    json_inline_object_begin(json);
    json_member_string(json, "path", str_text(path));
    json_member_string(json, "name", row->name);
    json_member_string(json, "class", row->class_name);
    json_key(json, "parent");
    if (at == 0)
        json_write_null(json);
    else
        json_write_uint(json, row->parent);
    json_member_bool(json, "is_outside", row->is_outside);
    for (enum field i = 0; i < N_FIELDS; i++)
        json_member_double(json, field_name(i),
                           field_value(i, rows, row, &stats));
    if (row_is_fused(row))
        st = view_json_put_path(run, row->work.done_by, path, err);
    json_member_string(json, "done_by",
                       row_is_fused(row) ? str_text(path) : NULL);
    json_member_string(json, "bound",
                       row->bound.kind == BOUND_UNKNOWN ? NULL
                                                        : column_bound(row));
    json_object_end(json);
    return st;
}

void json_peaks(struct json_writer *json, const struct peaks *peaks)
{
    json_key(json, "peaks");
    json_object_begin(json);
    json_member_double(json, "gflops", peaks->gflops);
    json_member_double(json, "gbs", peaks_gbs(peaks, INFINITY));
    json_member_double(json, "launch_us", peaks->launch_ns / 1e3);
    json_member_bool(json, "is_raised", peaks->is_raised);
    json_key(json, "caches");
    json_array_begin(json);
    for (size_t i = 0; i < peaks->n_caches; i++) {
        json_inline_object_begin(json);
        json_member_int(json, "level", peaks->caches[i].level);
        json_member_double(json, "bytes", peaks->caches[i].bytes);
        json_member_double(json, "gbs", peaks->caches[i].gbs);
        json_object_end(json);
    }
    json_array_end(json);
    json_object_end(json);
}

static enum assay_status view_json_write_tree(struct json_writer *json,
                                              const struct run *run,
                                              const struct rows *rows,
                                              struct error *err)
{
    struct str path = {0};
    enum assay_status st = ASSAY_OK;

    json_member_bool(json, "threads_add_up", rows->adds_up);
    json_member_double(json, "macs_cover", rows->macs_cover);
    json_peaks(json, &rows->peaks);
    json_key(json, "tree");
    json_array_begin(json);
    for (size_t i = 0; !st && i < rows->n; i++)
        st = view_json_write_row(json, run, rows, i, &path, err);
    json_array_end(json);
    str_release(&path);
    return st;
}

/* Left out where no device did anything. */
static enum assay_status view_json_write_device(struct json_writer *json,
                                                const struct run *run,
                                                struct error *err)
{
    struct device_balance balance;
    bool is_known;
    enum assay_status st = run_device_balance(run, &balance, &is_known, err);

    if (st || !is_known)
        return st;
    json_key(json, "device");
    json_object_begin(json);
    json_member_string(json, "timed_by", run_fact(run, "device.timed_by"));
    json_member_int(json, "iteration", balance.iteration);
    json_member_double(json, "kernels_ms", balance.kernels_ns / 1e6);
    json_member_double(json, "copies_ms", balance.copies_ns / 1e6);
    json_member_double(json, "idle_ms", balance.idle_ns / 1e6);
    json_member_double(json, "span_ms", balance.span_ns / 1e6);
    json_key(json, "idle_for");
    json_object_begin(json);
    for (enum idle_reason i = 0; i < N_IDLE_REASONS; i++) {
        char key[32];

        snprintf(key, sizeof key, "%s_ms", idle_reason_text(i));
        json_member_double(json, key, balance.reasons_ns[i] / 1e6);
    }
    json_object_end(json);
    json_object_end(json);
    return ASSAY_OK;
}

enum assay_status json_head(struct json_writer *json, const struct run *run,
                            const struct rows *rows, const char *source,
                            struct error *err)
{
    enum assay_status st;

    view_json_write_run(json, run, source);
    view_json_write_threads(json, run);
    st = view_json_write_latency(json, run, err);
    if (st)
        return st;
    view_json_write_stages(json, rows);
    view_json_write_balance(json, run, rows);
    st = view_json_write_device(json, run, err);
    if (!st)
        st = view_json_write_steadiness(json, run, err);
    if (!st)
        view_json_write_load(json, run);
    if (!st)
        st = json_memory(json, run, err);
    if (!st)
        st = json_content(json, run, err);
    if (!st)
        st = json_findings(json, run, err);
    if (!st)
        view_json_write_health(json, run);
    return st;
}

static void view_json_write_object(struct json_writer *json,
                                   const struct found_object *object)
{
    json_object_begin(json);
    json_member_int(json, "label", object->label);
    json_member_string(json, "name", object->name);
    json_key(json, "score");
    json_write_rounded(json, object->score, 6);
    if (object->has_box) {
        json_key(json, "box");
        json_array_begin(json);
        for (size_t i = 0; i < 4; i++)
            json_write_rounded(json, object->box[i], 6);
        json_array_end(json);
    }
    json_object_end(json);
}

static void view_json_write_photo(struct sink *sink,
                                  const struct found_photo *photo)
{
    struct json_writer json = json_writer(sink, 0);

    json_object_begin(&json);
    json_member_string(&json, "photograph", photo->photograph);
    json_key(&json, "items");
    json_array_begin(&json);
    for (size_t i = 0; i < photo->n; i++)
        view_json_write_object(&json, &photo->objects[i]);
    json_array_end(&json);
    json_object_end(&json);
}

/* One line per photograph:
 * {"photograph":"a.jpg","items":[{"label":17,"name":"cat",...}]} */
static enum assay_status view_json_write_found(struct json_writer *json,
                                               const struct run *run,
                                               struct error *err)
{
    struct str line = {0};
    struct sink sink = sink_to_str(&line);

    if (!run_found_count(run))
        return ASSAY_OK;
    json_key(json, "found");
    json_array_begin(json);
    for (size_t i = 0; i < run_found_count(run); i++) {
        str_clear(&line);
        view_json_write_photo(&sink, run_found(run, i));
        json_write_raw(json, str_text(&line));
    }
    json_array_end(json);
    str_release(&line);
    return sink_status(&sink, err);
}

enum assay_status view_json(const struct run *run,
                            const struct view_options *options,
                            struct sink *sink, struct error *err)
{
    struct json_writer json = json_writer(sink, INDENT);
    struct rows rows = {0};
    enum assay_status st = rows_build(run, &rows, err);

    if (st)
        goto done;
    json_object_begin(&json);
    st = json_head(&json, run, &rows, options->source, err);
    if (st)
        goto done;
    st = view_json_write_found(&json, run, err);
    if (st)
        goto done;
    view_json_write_counters(&json, run);
    json_series(&json, run);
    st = view_json_write_tree(&json, run, &rows, err);
    if (st)
        goto done;
    json_object_end(&json);
    sink_puts(sink, "\n");
    st = sink_status(sink, err);
done:
    rows_release(&rows);
    return st;
}
