/* views/json_parts.c - see json_parts_internal.h. */
#include "views/json_parts_internal.h"

#include "base/mem.h"
#include "findings/findings.h"
#include "run/content.h"

#include <math.h>

/* ---- content ------------------------------------------------------------ */

static void json_part_write_spread(struct json_writer *json, const char *key,
                                   const struct content_spread *spread)
{
    json_key(json, key);
    if (spread->n == 0) {
        json_write_null(json);
        return;
    }
    json_inline_object_begin(json);
    json_member_double(json, "mean", spread->mean);
    json_member_double(json, "p5", spread->p5);
    json_member_double(json, "min", spread->least);
    json_member_double(json, "max", spread->most);
    json_object_end(json);
}

static void json_part_write_photo(struct json_writer *json,
                                  const struct run *run,
                                  const struct content_photo *photo)
{
    json_inline_object_begin(json);
    json_member_string(json, "photo", content_name(run, photo));
    json_member_int(json, "runs", (int64_t)photo->runs);
    json_member_double(json, "median_ms", photo->median_ns / 1e6);
    for (int term = 0; term < N_CONTENT_TERMS; term++)
        json_member_double(json, content_term_text((enum content_term)term),
                           photo->terms[term]);
    json_object_end(json);
}

static void json_content_write_fit(struct json_writer *json,
                                   const struct content_fit *fit)
{
    json_key(json, "fit");
    if (fit->n == 0) {
        json_write_null(json);
        return;
    }
    json_object_begin(json);
    json_member_int(json, "photos", (int64_t)fit->n);
    json_member_double(json, "base_ms", fit->base_ns / 1e6);
    json_key(json, "terms_ms");
    json_inline_object_begin(json);
    for (int term = 0; term < N_CONTENT_TERMS; term++)
        json_member_double(json, content_term_text((enum content_term)term),
                           fit->terms_ns[term] / 1e6);
    json_object_end(json);
    json_member_double(json, "r2", fit->r2);
    json_object_end(json);
}

static enum assay_status json_content_write_parts(struct json_writer *json,
                                                  const struct run *run,
                                                  const struct content *content)
{
    enum assay_status st = ASSAY_OK;

    json_key(json, "parts");
    json_array_begin(json);
    for (size_t i = 0; !st && i < content->n_parts; i++) {
        const struct content_part *part = &content->parts[i];
        struct str path = {0};

        st = run_scope_path(run, part->scope, &path);
        json_inline_object_begin(json);
        json_member_string(json, "path", str_text(&path));
        json_member_double(json, "median_ms", part->median_ns / 1e6);
        json_member_double(json, "min_ms", part->min_ns / 1e6);
        json_member_double(json, "max_ms", part->max_ns / 1e6);
        json_object_end(json);
        str_release(&path);
    }
    json_array_end(json);
    return st;
}

static enum assay_status json_part_write_content(struct json_writer *json,
                                                 const struct run *run,
                                                 const struct content *content)
{
    const struct content_photo *slowest = &content->photos[content->slowest];
    enum assay_status st;

    json_object_begin(json);
    json_part_write_spread(json, "proposals", &content->proposals);
    json_part_write_spread(json, "detections", &content->detections);
    json_member_string(json, "slowest_photo", content_name(run, slowest));
    json_member_double(json, "slowest_ms", slowest->median_ns / 1e6);
    json_member_string(json, "slowest_reason",
                       content->reason[0] ? content->reason : NULL);
    json_member_double(json, "p99_ms", content->p99_ns / 1e6);
    json_content_write_fit(json, &content->fit);
    st = json_content_write_parts(json, run, content);
    json_key(json, "photos");
    json_array_begin(json);
    for (size_t i = 0; i < content->n_photos; i++)
        json_part_write_photo(json, run, &content->photos[i]);
    json_array_end(json);
    json_object_end(json);
    return st;
}

enum assay_status json_content(struct json_writer *json, const struct run *run,
                               struct error *err)
{
    struct content content;
    enum assay_status st = run_content(run, &content, err);

    if (!st) {
        json_key(json, "content");
        if (content.n_photos == 0)
            json_write_null(json);
        else if (json_part_write_content(json, run, &content))
            st = error_nomem(err, RUN_MAX_DEPTH, "the path of a scope");
    }
    content_release(&content);
    return st;
}

static void json_content_write_series(struct json_writer *json,
                                      const struct series *series)
{
    bool is_by_step = series_is_by_step(series); /* steps count from 1 */

    json_object_begin(json);
    json_member_string(json, "name", series->name);
    json_member_string(json, "unit", series->unit);
    json_key(json, is_by_step ? "steps" : "iterations");
    json_inline_array_begin(json);
    for (size_t i = 0; i < series->n_points; i++)
        json_write_uint(json,
                        (uint64_t)series->points[i].iteration + is_by_step);
    json_array_end(json);
    json_key(json, "values");
    json_inline_array_begin(json);
    for (size_t i = 0; i < series->n_points; i++) {
        const char *label = series_label(series, &series->points[i]);

        if (label)
            json_write_string(json, label);
        else
            json_write_double(json, series->points[i].value);
    }
    json_array_end(json);
    json_object_end(json);
}

void json_series(struct json_writer *json, const struct run *run)
{
    json_key(json, "series");
    json_array_begin(json);
    for (uint32_t i = 0; i < run_series_count(run); i++)
        json_content_write_series(json, run_series(run, i));
    json_array_end(json);
}

enum assay_status json_outliers(struct json_writer *json, const struct run *run,
                                struct error *err)
{
    struct outlier *outliers;
    size_t n;
    enum assay_status st = run_outliers(run, &outliers, &n, err);

    if (st)
        return st;
    json_key(json, "slow_iterations");
    json_array_begin(json);
    for (size_t i = 0; i < n; i++) {
        json_inline_object_begin(json);
        json_member_int(json, "iteration", outliers[i].iteration);
        json_member_double(json, "ms", (double)outliers[i].duration_ns / 1e6);
        json_member_string(json, "cause",
                           outlier_cause_text(outliers[i].cause));
        json_object_end(json);
    }
    json_array_end(json);
    mem_free(outliers);
    return ASSAY_OK;
}

/* ---- memory ------------------------------------------------------------- */

static enum assay_status json_part_write_owner(struct json_writer *json,
                                               const struct run *run,
                                               const struct ledger_row *row)
{
    struct str path = {0};
    enum assay_status st = ASSAY_OK;

    if (row->scope != RUN_NONE)
        st = run_scope_path(run, row->scope, &path);
    json_inline_object_begin(json);
    json_member_string(json, "kind", ledger_kind_text(row->kind));
    json_member_string(json, "scope",
                       row->scope == RUN_NONE ? NULL : str_text(&path));
    json_member_string(json, "what", row->what);
    json_member_int(json, "bytes", row->bytes);
    json_object_end(json);
    str_release(&path);
    return st;
}

static enum assay_status json_part_write_ledger(struct json_writer *json,
                                                const struct run *run)
{
    enum assay_status st = ASSAY_OK;

    json_key(json, "ledger");
    json_array_begin(json);
    for (size_t i = 0; !st && i < run_ledger_count(run); i++)
        st = json_part_write_owner(json, run, run_ledger(run, i));
    json_array_end(json);
    return st;
}

enum assay_status json_memory(struct json_writer *json, const struct run *run,
                              struct error *err)
{
    const struct run_memory *memory = run_memory_of(run);
    struct str path = {0};
    enum assay_status st = ASSAY_OK;

    json_key(json, "memory");
    if (memory->peak_bytes == RUN_UNKNOWN) {
        json_write_null(json);
        return ASSAY_OK;
    }
    json_object_begin(json);
    json_member_int(json, "peak_bytes", memory->peak_bytes);
    json_member_double(json, "peak_at_ms", (double)memory->peak_ns / 1e6);
    if (memory->peak_scope < run_scope_count(run)) {
        st = run_scope_path(run, memory->peak_scope, &path);
        json_member_string(json, "peak_scope", str_text(&path));
    }
    json_member_double(json, "process_peak_bytes",
                       run_fact_number(run, "memory.process_peak_bytes"));
    json_member_double(json, "untouched_bytes",
                       run_fact_number(run, "memory.untouched_bytes"));
    if (!st)
        st = json_part_write_ledger(json, run);
    json_object_end(json);
    str_release(&path);
    return st ? error_nomem(err, RUN_MAX_DEPTH, "the path of a scope")
              : ASSAY_OK;
}

/* ---- findings ----------------------------------------------------------- */

enum assay_status json_findings(struct json_writer *json, const struct run *run,
                                struct error *err)
{
    struct finding_list list;
    enum assay_status st = findings_find(run, &list, err);

    if (st)
        return st;
    json_key(json, "findings");
    json_array_begin(json);
    for (size_t i = 0; i < list.n; i++) {
        const struct finding *finding = &list.items[i];

        json_object_begin(json);
        json_member_string(json, "rule", finding->rule);
        json_member_double(json, "saved_ms", finding->saved_ns / 1e6);
        json_member_double(json, "saved_low_ms", finding->low_ns / 1e6);
        json_member_double(json, "saved_high_ms", finding->high_ns / 1e6);
        json_member_string(json, "text", finding->text);
        json_member_string(json, "help",
                           finding->help[0] ? finding->help : NULL);
        json_object_end(json);
    }
    json_array_end(json);
    return ASSAY_OK;
}
