/* cli/metrics_show.c - see metrics_show.h. */
#include "cli/metrics_show.h"

#include "base/json.h"
#include "base/units.h"
#include "cli/layers_show.h"
#include "session/model_parts.h"
#include "views/line.h"
#include "views/markdown.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- rows -------------------------------------------------------------- */

enum metrics_cell {
    METRICS_NAME,
    METRICS_FIRST,
    METRICS_ENHANCEMENT,
    METRICS_SECOND,
    N_METRICS_CELLS
};

enum { METRICS_TEXT = 96 };

struct metrics_row {
    char texts[N_METRICS_CELLS][METRICS_TEXT];
};

/* Whether the table has this column. */
static bool metrics_has(const struct metrics_view *view, enum metrics_cell cell)
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

/* "Param Name (resnet18)", "Value"; with two models their names are above their
 * values. */
static void metrics_title(const struct metrics_view *view,
                          struct metrics_row *row)
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

/* "Backend: oneDNN 2.6.3" */
static void metrics_backend(const struct metrics_view *view,
                            struct metrics_row *row)
{
    *row = (struct metrics_row){0};
    snprintf(row->texts[METRICS_NAME], METRICS_TEXT, "Backend: %s",
             assay_model_backend(view->models[0]));
}

static bool metrics_is_timed(const struct assay_unit *unit)
{
    return unit && (strcmp(unit->name, "ms") == 0 ||
                    strcmp(unit->name, "images/s") == 0);
}

/* Times are known to three digits at best; what is counted is exact and has
 * four decimals, or none if it is counted one by one. */
static void metrics_write_number(char *text, double value, double scale,
                                 const struct assay_unit *unit)
{
    char digits[UNITS_MAX];

    if (isnan(value))
        snprintf(text, METRICS_TEXT, "-");
    else if (metrics_is_timed(unit))
        snprintf(text, METRICS_TEXT, "%s", units_number(digits, value / scale));
    else if (unit && strcmp(unit->name, "layers") == 0)
        snprintf(text, METRICS_TEXT, "%.0f", value / scale);
    else
        snprintf(text, METRICS_TEXT, "%.4f", value / scale);
}

static void metrics_write_enhancement(char *text,
                                      const struct assay_enhancement *found,
                                      double scale)
{
    bool is_difference = found->metric->comparison == ASSAY_COMPARE_DIFFERENCE;

    if (isnan(found->value))
        snprintf(text, METRICS_TEXT, "-");
    else if (is_difference)
        snprintf(text, METRICS_TEXT, "%+.4f", found->value / scale);
    else if (metrics_is_timed(found->unit))
        snprintf(text, METRICS_TEXT, "%.2fx", found->value);
    else
        snprintf(text, METRICS_TEXT, "%.4fx", found->value);
}

static void metrics_write_name(char *text, const struct assay_metric *metric,
                               const struct assay_unit *unit)
{
    if (unit)
        snprintf(text, METRICS_TEXT, "%s (%s)", metric->name, unit->name);
    else
        snprintf(text, METRICS_TEXT, "%s", metric->name);
}

static void metrics_row(const struct metrics_view *view, size_t i,
                        struct metrics_row *row)
{
    const struct assay_result *first = metrics_result(view, 0, i);
    struct assay_enhancement found;
    double scale;

    *row = (struct metrics_row){0};
    if (view->n_models == 1) {
        metrics_write_name(row->texts[METRICS_NAME], first->metric,
                           first->unit);
        metrics_write_number(row->texts[METRICS_FIRST], first->shown, 1,
                             first->unit);
        return;
    }
    found = metrics_enhancement(view, i);
    scale = found.unit ? found.unit->scale : 1;
    metrics_write_name(row->texts[METRICS_NAME], found.metric, found.unit);
    metrics_write_number(row->texts[METRICS_FIRST], found.first, scale,
                         found.unit);
    metrics_write_number(row->texts[METRICS_SECOND], found.second, scale,
                         found.unit);
    metrics_write_enhancement(row->texts[METRICS_ENHANCEMENT], &found, scale);
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

/* ---- the table ---------------------------------------------------------- */

enum { padding = 1, least_columns = 12 };

static size_t metrics_widest(const struct metrics_view *view,
                             enum metrics_cell cell)
{
    struct metrics_row row;
    size_t columns = least_columns;

    for (size_t i = 0; i < view->n_keys + 2; i++) {
        size_t n;

        if (i == view->n_keys)
            metrics_title(view, &row);
        else if (i > view->n_keys)
            metrics_backend(view, &row);
        else
            metrics_row(view, i, &row);
        n = text_columns(row.texts[cell]);
        columns = n > columns ? n : columns;
    }
    return columns;
}

static void metrics_show_put_line(const struct metrics_view *view,
                                  struct sink *sink, const size_t *columns,
                                  const char *joint)
{
    for (enum metrics_cell cell = 0; cell < N_METRICS_CELLS; cell++) {
        if (!metrics_has(view, cell))
            continue;
        sink_puts(sink, cell ? joint : "+");
        sink_repeat(sink, "-", columns[cell] + 2 * padding);
    }
    sink_puts(sink, "+\n");
}

static void metrics_show_put_row(const struct metrics_view *view,
                                 struct sink *sink, const struct term *term,
                                 const size_t *columns,
                                 const struct metrics_row *row)
{
    for (enum metrics_cell cell = 0; cell < N_METRICS_CELLS; cell++) {
        if (!metrics_has(view, cell))
            continue;
        sink_puts(sink, "| ");
        text_fit(sink, term, row->texts[cell], columns[cell], ALIGN_RIGHT);
        sink_puts(sink, " ");
    }
    sink_puts(sink, "|\n");
}

/* Centred over all columns. */
static void metrics_put_heading(const struct metrics_view *view,
                                struct sink *sink, const size_t *columns)
{
    const char *title =
        view->n_models == 1 ? "Model Metrics" : "Comparison of Models";
    size_t width = 0, left;

    for (enum metrics_cell cell = 0; cell < N_METRICS_CELLS; cell++)
        width += metrics_has(view, cell) ? columns[cell] + 2 * padding + 1 : 0;
    width -= 1 + strlen(title);
    left = width / 2;
    metrics_show_put_line(view, sink, columns, "-");
    sink_puts(sink, "|");
    sink_repeat(sink, " ", left);
    sink_puts(sink, title);
    sink_repeat(sink, " ", width - left);
    sink_puts(sink, "|\n");
}

static void metrics_put_table(const struct metrics_view *view,
                              struct sink *sink, const struct term *term)
{
    size_t columns[N_METRICS_CELLS];
    struct metrics_row row;

    for (enum metrics_cell cell = 0; cell < N_METRICS_CELLS; cell++)
        columns[cell] = metrics_widest(view, cell);
    metrics_put_heading(view, sink, columns);
    metrics_show_put_line(view, sink, columns, "+");
    metrics_title(view, &row);
    metrics_show_put_row(view, sink, term, columns, &row);
    metrics_backend(view, &row);
    metrics_show_put_row(view, sink, term, columns, &row);
    metrics_show_put_line(view, sink, columns, "+");
    for (size_t i = 0; i < view->n_keys; i++) {
        metrics_row(view, i, &row);
        metrics_show_put_row(view, sink, term, columns, &row);
    }
    metrics_show_put_line(view, sink, columns, "+");
}

/* ---- below the table ---------------------------------------------------- */

static const char *metrics_reason_of(const struct metrics_view *view,
                                     size_t model, size_t i)
{
    const struct assay_result *result = metrics_result(view, model, i);

    return result->status ? result->reason : NULL;
}

static bool metrics_has_reason_after(const struct metrics_view *view,
                                     size_t model, size_t i, const char *reason)
{
    for (size_t k = i + 1; k < view->n_keys; k++) {
        const char *later = metrics_reason_of(view, model, k);

        if (later && strcmp(later, reason) == 0)
            return true;
    }
    return false;
}

/* One line per reason, with all keys that it applies to. */
static void metrics_put_reasons(const struct metrics_view *view, size_t model,
                                struct sink *sink, const struct term *term)
{
    struct line line;

    for (size_t i = 0; i < view->n_keys; i++) {
        const char *reason = metrics_reason_of(view, model, i);
        bool is_done = !reason;

        for (size_t k = 0; !is_done && k < i; k++) {
            const char *earlier = metrics_reason_of(view, model, k);

            is_done = earlier && strcmp(earlier, reason) == 0;
        }
        if (is_done)
            continue;
        line = line_begin(sink, term, "no value");
        for (size_t k = i; k < view->n_keys; k++) {
            const char *later = metrics_reason_of(view, model, k);

            if (later && strcmp(later, reason) == 0)
                line_word(
                    &line, "%s%s", metrics_result(view, model, k)->metric->key,
                    metrics_has_reason_after(view, model, k, reason) ? ","
                                                                     : ":");
        }
        line_words(&line, reason);
        line_end(&line);
    }
}

static void metrics_show_put_measured(const struct assay_profiler *profiler,
                                      struct sink *sink,
                                      const struct term *term)
{
    const struct assay_measured *measured = assay_profiler_measured(profiler);
    struct line line = line_begin(sink, term, "measured");
    char mean[UNITS_MAX], low[UNITS_MAX], high[UNITS_MAX];

    if (!measured)
        return;
    line_word(&line, "%" PRIu64 " pass%s of %" PRIu64 " image%s,", measured->n,
              measured->n == 1 ? "" : "es", measured->images,
              measured->images == 1 ? "" : "s");
    line_word(&line, "%d thread%s,", measured->threads,
              measured->threads == 1 ? "" : "s");
    units_number(mean, measured->mean_ns / 1e6);
    if (isnan(measured->mean_low_ns))
        line_word(&line, "mean %s ms", mean);
    else
        line_word(&line, "mean %s ms [%s, %s]", mean,
                  units_number(low, measured->mean_low_ns / 1e6),
                  units_number(high, measured->mean_high_ns / 1e6));
    line_end(&line);
}

static void metrics_show_put_dataset(const struct feed *feed, struct sink *sink)
{
    const struct assay_dataset *dataset;

    if (!feed)
        return;
    dataset = feed_dataset(feed);
    sink_printf(sink, "data     %s, %s: %zu images, %zu classes\n",
                dataset->name, dataset->split, dataset->n,
                feed_class_count(feed));
}

static void metrics_put_facts(const struct metrics_view *view, size_t i,
                              struct sink *sink, const struct term *term)
{
    struct model_parts parts = model_parts(view->models[i]);
    uint64_t n_unknown = assay_model_totals(view->models[i])->n_unknown;
    struct line line = line_begin(sink, term, "model");

    line_item(&line, view->names[i]);
    line_printf(&line, "input %s", parts.input);
    line_printf(&line, "weights %s", parts.weights);
    line_end(&line);
    metrics_show_put_dataset(view->feeds[i], sink);
    metrics_show_put_measured(view->profilers[i], sink, term);
    line = line_begin(sink, term, "note");
    if (n_unknown) {
        line_word(&line, "%" PRIu64, n_unknown);
        line_words(&line, "layers depend on what is found; their work is not "
                          "included above");
    }
    line_end(&line);
    metrics_put_reasons(view, i, sink, term);
}

static bool metrics_shows(const struct metrics_view *view, const char *key)
{
    for (size_t i = 0; i < view->n_keys; i++) {
        if (strcmp(metrics_result(view, 0, i)->metric->key, key) == 0)
            return true;
    }
    return false;
}

/* How numbers are counted that would be misread otherwise. */
static void metrics_put_conventions(const struct metrics_view *view,
                                    struct sink *sink, const struct term *term)
{
    static const struct {
        const char *key, *text;
    } conventions[] = {
        {"complexity", "complexity: multiply-adds per image, two per element "
                       "for a batch norm's scale and shift"},
        {"memory_footprint", "footprint: parameters, input, and outputs of "
                             "modules with parameters; an estimate"},
    };

    for (size_t i = 0; i < sizeof conventions / sizeof *conventions; i++) {
        struct line line = line_begin(sink, term, "counted");

        if (metrics_shows(view, conventions[i].key))
            line_words(&line, conventions[i].text);
        line_end(&line);
    }
}

static void metrics_put_notes(const struct metrics_view *view,
                              struct sink *sink, const struct term *term)
{
    sink_puts(sink, "\nnotes\n");
    for (size_t i = 0; i < view->n_keys; i++) {
        const struct assay_metric *metric = metrics_result(view, 0, i)->metric;
        struct line line = line_begin(sink, term, "*");

        line_words(&line, metric->name);
        line_word(&line, "[%s]:", metric->key);
        line_words(&line, metric->description);
        line_end(&line);
    }
}

void metrics_show_table(const struct metrics_view *view, struct sink *sink,
                        const struct term *term)
{
    metrics_put_table(view, sink, term);
    for (size_t i = 0; i < view->n_models; i++)
        metrics_put_facts(view, i, sink, term);
    metrics_put_conventions(view, sink, term);
    if (view->has_notes)
        metrics_put_notes(view, sink, term);
    for (size_t i = 0; view->has_layers && i < view->n_models; i++) {
        struct layers_view layers = metrics_layers(view->models[i]);

        sink_puts(sink, "\n");
        layers_show_table(&layers, sink, term);
    }
}

/* ---- Markdown ----------------------------------------------------------- */

static void metrics_put_cells(const struct metrics_view *view,
                              struct sink *sink, const struct term *term,
                              const struct metrics_row *row)
{
    for (enum metrics_cell cell = 0; cell < N_METRICS_CELLS; cell++) {
        if (!metrics_has(view, cell))
            continue;
        sink_puts(sink, "| ");
        markdown_text(sink, term, row->texts[cell]);
        sink_puts(sink, " ");
    }
    sink_puts(sink, "|\n");
}

void metrics_show_markdown(const struct metrics_view *view, struct sink *sink,
                           const struct term *term)
{
    struct metrics_row row;

    metrics_title(view, &row);
    metrics_put_cells(view, sink, term, &row);
    for (enum metrics_cell cell = 0; cell < N_METRICS_CELLS; cell++) {
        if (metrics_has(view, cell))
            sink_puts(sink, cell ? "|---:" : "|---");
    }
    sink_puts(sink, "|\n");
    metrics_backend(view, &row);
    metrics_put_cells(view, sink, term, &row);
    for (size_t i = 0; i < view->n_keys; i++) {
        metrics_row(view, i, &row);
        metrics_put_cells(view, sink, term, &row);
    }
    for (size_t i = 0; view->has_layers && i < view->n_models; i++) {
        struct layers_view layers = metrics_layers(view->models[i]);

        sink_puts(sink, "\n");
        layers_show_markdown(&layers, sink, term);
    }
}
