/* views/report_trend.c - the trend of a folder's runs in the HTML report. */
#include "views/report_data_internal.h"

static void report_write_point(struct json_writer *json,
                               const struct trend_point *point)
{
    const struct trend_verdict *verdict = &point->verdict;

    json_object_begin(json);
    json_member_string(json, "name", point->name);
    json_member_string(json, "model", point->model);
    json_member_string(json, "started", point->started);
    json_member_string(json, "commit", *point->commit ? point->commit : NULL);
    json_member_int(json, "iterations", (int64_t)point->n_iterations);
    json_key(json, "mean_ms");
    report_number(json, point->mean_ns / 1e6);
    json_key(json, "p95_ms");
    report_number(json, point->p95_ns / 1e6);
    json_member_double(json, "peak_bytes", point->peak_bytes);
    json_member_string(json, "base", point->base);
    json_member_string(json, "result",
                       verdict->is_judged ? trend_word(verdict) : NULL);
    json_key(json, "ratio");
    report_number(json, verdict->ratio);
    json_member_bool(json, "is_beyond_noise", verdict->is_beyond_noise);
    json_member_string(json, "text", *verdict->text ? verdict->text : NULL);
    json_object_end(json);
}

void report_write_trend(struct json_writer *json, const struct trend *trend)
{
    json_key(json, "trend");
    json_object_begin(json);
    json_key(json, "above");
    report_number(json, trend->above);
    json_member_string(json, "base", trend->base);
    json_member_bool(json, "is_served", trend->is_served);
    report_column(json, "points");
    for (size_t i = 0; i < trend->n; i++)
        report_write_point(json, &trend->points[i]);
    json_array_end(json);
    json_object_end(json);
}
