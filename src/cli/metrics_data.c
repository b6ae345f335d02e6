/* cli/metrics_data.c - metrics as JSON and CSV, see metrics_show.h. */
#include "cli/metrics_show.h"

#include "base/csv_text.h"
#include "base/json.h"
#include "session/model_parts.h"

#include <math.h>

static const char *const comparisons[] = {
    [ASSAY_COMPARE_NONE] = "none",
    [ASSAY_COMPARE_DIFFERENCE] = "difference",
    [ASSAY_COMPARE_RATIO] = "ratio",
    [ASSAY_COMPARE_RECIPROCAL] = "reciprocal",
};

/* ---- JSON --------------------------------------------------------------- */

static void metrics_put_metric(struct json_writer *json,
                               const struct assay_result *result)
{
    const struct assay_metric *metric = result->metric;

    json_object_begin(json);
    json_member_string(json, "key", metric->key);
    json_member_string(json, "name", metric->name);
    json_member_string(json, "description", metric->description);
    json_member_double(json, "value", result->value);
    json_member_double(json, "shown", result->shown);
    json_member_string(json, "unit", result->unit ? result->unit->name : NULL);
    json_member_string(json, "comparison", comparisons[metric->comparison]);
    json_member_string(json, "function", result->function);
    if (result->status)
        json_member_string(json, "reason", result->reason);
    json_object_end(json);
}

static void metrics_put_dataset(struct json_writer *json,
                                const struct feed *feed)
{
    const struct assay_dataset *dataset = feed_dataset(feed);

    json_key(json, "dataset");
    json_inline_object_begin(json);
    json_member_string(json, "name", dataset->name);
    json_member_string(json, "split", dataset->split);
    json_member_int(json, "samples", (int64_t)dataset->n);
    json_member_int(json, "classes", (int64_t)feed_class_count(feed));
    json_object_end(json);
}

static void metrics_put_measured(struct json_writer *json,
                                 const struct assay_measured *measured)
{
    json_key(json, "measured");
    json_object_begin(json);
    json_member_int(json, "passes", (int64_t)measured->n);
    json_member_int(json, "images", (int64_t)measured->images);
    json_member_int(json, "threads", measured->threads);
    json_member_double(json, "median_ns", measured->median_ns);
    json_member_double(json, "median_low_ns", measured->low_ns);
    json_member_double(json, "median_high_ns", measured->high_ns);
    json_member_double(json, "mean_ns", measured->mean_ns);
    json_member_double(json, "mean_low_ns", measured->mean_low_ns);
    json_member_double(json, "mean_high_ns", measured->mean_high_ns);
    json_member_double(json, "p95_ns", measured->p95_ns);
    json_member_double(json, "min_ns", measured->min_ns);
    json_member_double(json, "max_ns", measured->max_ns);
    json_object_end(json);
}

static void metrics_put_model(const struct metrics_view *view, size_t i,
                              struct json_writer *json)
{
    const struct assay_model *model = view->models[i];
    struct model_parts parts = model_parts(model);
    struct layers_view layers = metrics_layers(model);

    json_object_begin(json);
    json_member_string(json, "model", view->names[i]);
    json_member_string(json, "class", assay_model_class(model));
    json_member_string(json, "backend", assay_model_backend(model));
    json_member_string(json, "input", parts.input);
    json_member_string(json, "weights", parts.weights);
    json_member_int(json, "layers_unknown",
                    (int64_t)assay_model_totals(model)->n_unknown);
    if (view->feeds[i])
        metrics_put_dataset(json, view->feeds[i]);
    if (assay_profiler_measured(view->profilers[i]))
        metrics_put_measured(json, assay_profiler_measured(view->profilers[i]));
    json_key(json, "metrics");
    json_array_begin(json);
    for (size_t k = 0; k < view->n_keys; k++)
        metrics_put_metric(json, metrics_result(view, i, k));
    json_array_end(json);
    if (view->has_layers)
        layers_put_json(&layers, json);
    json_object_end(json);
}

static void metrics_put_enhancements(const struct metrics_view *view,
                                     struct json_writer *json)
{
    json_key(json, "enhancements");
    json_array_begin(json);
    for (size_t i = 0; i < view->n_keys; i++) {
        struct assay_enhancement found = metrics_enhancement(view, i);

        json_object_begin(json);
        json_member_string(json, "key", found.metric->key);
        json_member_string(json, "comparison",
                           comparisons[found.metric->comparison]);
        json_member_double(json, "first", found.first);
        json_member_double(json, "second", found.second);
        json_member_double(json, "value", found.value);
        json_object_end(json);
    }
    json_array_end(json);
}

void metrics_show_json(const struct metrics_view *view, struct sink *sink,
                       const struct term *term)
{
    struct json_writer json = json_writer(sink, 2);

    (void)term;
    json_object_begin(&json);
    json_key(&json, "models");
    json_array_begin(&json);
    for (size_t i = 0; i < view->n_models; i++)
        metrics_put_model(view, i, &json);
    json_array_end(&json);
    if (view->n_models == 2)
        metrics_put_enhancements(view, &json);
    json_object_end(&json);
    sink_puts(sink, "\n");
}

/* ---- CSV ---------------------------------------------------------------- */

/* As JSON writes it; empty if there is no value. */
static void metrics_put_number(struct sink *sink, double value)
{
    struct json_writer json = json_writer(sink, 0);

    sink_puts(sink, ",");
    if (!isnan(value))
        json_write_double(&json, value);
}

static void metrics_put_csv_row(const struct metrics_view *view, size_t i,
                                struct sink *sink)
{
    const struct assay_result *first = metrics_result(view, 0, i);
    const struct assay_unit *unit = first->unit;

    csv_text(sink, first->metric->key);
    sink_puts(sink, ",");
    csv_text(sink, first->metric->name);
    metrics_put_number(sink, first->value);
    if (view->n_models == 2) {
        struct assay_enhancement found = metrics_enhancement(view, i);

        metrics_put_number(sink, found.value);
        metrics_put_number(sink, found.second);
        sink_printf(sink, ",%s", comparisons[found.metric->comparison]);
    } else {
        metrics_put_number(sink, first->shown);
        sink_puts(sink, ",");
        csv_text(sink, unit ? unit->name : "");
        sink_puts(sink, ",");
        csv_text(sink, first->reason);
    }
    sink_puts(sink, "\r\n");
}

void metrics_show_csv(const struct metrics_view *view, struct sink *sink,
                      const struct term *term)
{
    (void)term;
    sink_puts(sink, view->n_models == 2
                        ? "key,name,first,enhancement,second,comparison\r\n"
                        : "key,name,value,shown,unit,reason\r\n");
    for (size_t i = 0; i < view->n_keys; i++)
        metrics_put_csv_row(view, i, sink);
}
