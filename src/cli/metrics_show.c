/* cli/metrics_show.c - see metrics_show.h. */
#include "cli/metrics_show.h"

#include "base/json.h"
#include "base/units.h"
#include "cli/layers_show.h"
#include "metrics/metrics_table.h"
#include "session/model_parts.h"
#include "views/line.h"
#include "views/markdown.h"
#include "views/model_title.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- rows -------------------------------------------------------------- */

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

static struct metrics_table metrics_table_of(const struct metrics_view *view)
{
    return (struct metrics_table){
        .profilers = {view->profilers[0], view->profilers[1]},
        .names = {view->names[0], view->names[1]},
        .backend = assay_model_backend(view->models[0]),
        .n_models = view->n_models,
        .keys = {view->keys[0], view->keys[1]},
        .n_keys = view->n_keys,
    };
}

struct layers_view metrics_layers(const struct assay_model *model)
{
    struct model_parts parts = model_parts(model);

    return (struct layers_view){
        .file = model_file_title(parts.weights),
        .graph = parts.graph,
        .layers = parts.layers,
        .times = parts.times,
        .input = parts.input,
        .n_unknown = (size_t)assay_model_totals(model)->n_unknown,
    };
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
    line_word(&line, "mean %s ms", units_number(mean, measured->mean_ns / 1e6));
    if (!isnan(measured->mean_low_ns))
        line_word(&line, "[%s, %s]",
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
    if (!model_file_title(parts.weights)) /* a file has its own */
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
        {"memory_footprint", "footprint: parameters (not with "
                             "include_weights=no), input, and outputs of "
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
    struct metrics_table table = metrics_table_of(view);

    metrics_table_write(&table, sink, term);
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

static void metrics_put_cells(const struct metrics_table *table,
                              struct sink *sink, const struct term *term,
                              const struct metrics_row *row)
{
    for (enum metrics_cell cell = 0; cell < N_METRICS_CELLS; cell++) {
        if (!metrics_table_has(table, cell))
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
    struct metrics_table table = metrics_table_of(view);
    struct metrics_row row;

    metrics_table_title(&table, &row);
    metrics_put_cells(&table, sink, term, &row);
    for (enum metrics_cell cell = 0; cell < N_METRICS_CELLS; cell++) {
        if (metrics_table_has(&table, cell))
            sink_puts(sink, cell ? "|---:" : "|---");
    }
    sink_puts(sink, "|\n");
    metrics_table_backend(&table, &row);
    metrics_put_cells(&table, sink, term, &row);
    for (size_t i = 0; i < view->n_keys; i++) {
        metrics_table_row(&table, i, &row);
        metrics_put_cells(&table, sink, term, &row);
    }
    for (size_t i = 0; view->has_layers && i < view->n_models; i++) {
        struct layers_view layers = metrics_layers(view->models[i]);

        sink_puts(sink, "\n");
        layers_show_markdown(&layers, sink, term);
    }
}
