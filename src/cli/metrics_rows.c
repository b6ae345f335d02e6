/* cli/metrics_rows.c - see metrics_rows.h. */
#include "cli/metrics_rows.h"

#include "metrics/model_parts.h"

#include <math.h>
#include <stdio.h>

bool metrics_has(const struct metrics_view *view, enum metrics_cell cell)
{
    return view->n_models == 2 || cell <= METRICS_FIRST;
}

const struct assay_result *metrics_result(const struct metrics_view *view,
                                          size_t model, size_t i)
{
    return assay_profiler_result(view->profilers[model], view->keys[model][i]);
}

struct assay_enhancement metrics_enhancement(const struct metrics_view *view,
                                             size_t i)
{
    const struct assay_result *first = metrics_result(view, 0, i);
    const struct assay_result *second = metrics_result(view, 1, i);

    return assay_enhance(first, second);
}

void metrics_title(const struct metrics_view *view, struct metrics_row *row)
{
    *row = (struct metrics_row){0};
    if (view->n_models == 1) {
        snprintf(row->texts[METRICS_NAME], METRICS_TEXT, "Param Name (%s)",
                 view->names[0]);
        snprintf(row->texts[METRICS_FIRST], METRICS_TEXT, "Value");
        return;
    }
    snprintf(row->texts[METRICS_NAME], METRICS_TEXT, "Param Name");
    snprintf(row->texts[METRICS_FIRST], METRICS_TEXT, "Value (%s)",
             view->names[0]);
    snprintf(row->texts[METRICS_ENHANCEMENT], METRICS_TEXT, "Enhancement");
    snprintf(row->texts[METRICS_SECOND], METRICS_TEXT, "Value (%s)",
             view->names[1]);
}

void metrics_backend(const struct metrics_view *view, struct metrics_row *row)
{
    *row = (struct metrics_row){0};
    snprintf(row->texts[METRICS_NAME], METRICS_TEXT, "Backend: %s",
             assay_model_backend(view->models[0]));
}

static void write_number(char *text, double value, double scale)
{
    if (isnan(value))
        snprintf(text, METRICS_TEXT, "-");
    else
        snprintf(text, METRICS_TEXT, "%.4f", value / scale);
}

static void write_enhancement(char *text, const struct assay_enhancement *found,
                              double scale)
{
    bool is_difference = found->metric->comparison == ASSAY_COMPARE_DIFFERENCE;

    if (isnan(found->value))
        snprintf(text, METRICS_TEXT, "-");
    else if (is_difference)
        snprintf(text, METRICS_TEXT, "%+.4f", found->value / scale);
    else
        snprintf(text, METRICS_TEXT, "%.4fx", found->value);
}

static void write_name(char *text, const struct assay_metric *metric,
                       const struct assay_unit *unit)
{
    if (unit)
        snprintf(text, METRICS_TEXT, "%s (%s)", metric->name, unit->name);
    else
        snprintf(text, METRICS_TEXT, "%s", metric->name);
}

void metrics_row(const struct metrics_view *view, size_t i,
                 struct metrics_row *row)
{
    const struct assay_result *first = metrics_result(view, 0, i);
    struct assay_enhancement found;
    double scale;

    *row = (struct metrics_row){0};
    if (view->n_models == 1) {
        write_name(row->texts[METRICS_NAME], first->metric, first->unit);
        write_number(row->texts[METRICS_FIRST], first->shown, 1);
        return;
    }
    found = metrics_enhancement(view, i);
    scale = found.unit ? found.unit->scale : 1;
    write_name(row->texts[METRICS_NAME], found.metric, found.unit);
    write_number(row->texts[METRICS_FIRST], found.first, scale);
    write_number(row->texts[METRICS_SECOND], found.second, scale);
    write_enhancement(row->texts[METRICS_ENHANCEMENT], &found, scale);
}

struct layers_view metrics_layers(const struct assay_model *model)
{
    struct model_parts parts = model_parts(model);

    return (struct layers_view){
        .graph = parts.graph,
        .layers = parts.layers,
        .times = parts.times,
        .input = parts.input,
        .n_unknown = (size_t)assay_model_totals(model)->n_unknown,
    };
}
