/* metrics/metrics_table.c - see metrics_table.h. */
#include "metrics/metrics_table.h"

#include "base/mem.h"
#include "base/units.h"
#include "metrics/profiler_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct assay_result *
table_result(const struct metrics_table *table, size_t model, size_t i)
{
    return assay_profiler_result(table->profilers[model],
                                 table->keys[model][i]);
}

/* Whether the table has this column. */
bool metrics_table_has(const struct metrics_table *table,
                       enum metrics_cell cell)
{
    return table->n_models == 2 || cell <= METRICS_FIRST;
}

/* "Param Name (resnet18)", "Value"; with two models their names are above their
 * values. */
void metrics_table_title(const struct metrics_table *table,
                         struct metrics_row *row)
{
    *row = (struct metrics_row){0};
    if (table->n_models == 1) {
        snprintf(row->texts[METRICS_NAME], METRICS_TEXT, "Param Name (%s)",
                 table->names[0]);
        snprintf(row->texts[METRICS_FIRST], METRICS_TEXT, "Value");
        return;
    }
    snprintf(row->texts[METRICS_NAME], METRICS_TEXT, "Param Name");
    snprintf(row->texts[METRICS_FIRST], METRICS_TEXT, "Value (%s)",
             table->names[0]);
    snprintf(row->texts[METRICS_ENHANCEMENT], METRICS_TEXT, "Enhancement");
    snprintf(row->texts[METRICS_SECOND], METRICS_TEXT, "Value (%s)",
             table->names[1]);
}

/* "Backend: oneDNN 2.6.3" */
void metrics_table_backend(const struct metrics_table *table,
                           struct metrics_row *row)
{
    *row = (struct metrics_row){0};
    snprintf(row->texts[METRICS_NAME], METRICS_TEXT, "Backend: %s",
             table->backend);
}

static bool table_is_timed(const struct assay_unit *unit)
{
    return unit && (strcmp(unit->name, "ms") == 0 ||
                    strcmp(unit->name, "images/s") == 0);
}

/* Times are known to three digits at best; what is counted is exact and has
 * four decimals, or none if it is counted one by one. */
static void table_write_number(char *text, double value, double scale,
                               const struct assay_unit *unit)
{
    char digits[UNITS_MAX];

    if (isnan(value))
        snprintf(text, METRICS_TEXT, "-");
    else if (table_is_timed(unit))
        snprintf(text, METRICS_TEXT, "%s", units_number(digits, value / scale));
    else if (unit && strcmp(unit->name, "layers") == 0)
        snprintf(text, METRICS_TEXT, "%.0f", value / scale);
    else
        snprintf(text, METRICS_TEXT, "%.4f", value / scale);
}

static void table_write_enhancement(char *text,
                                    const struct assay_enhancement *found,
                                    double scale)
{
    bool is_difference = found->metric->comparison == ASSAY_COMPARE_DIFFERENCE;

    if (isnan(found->value))
        snprintf(text, METRICS_TEXT, "-");
    else if (is_difference)
        snprintf(text, METRICS_TEXT, "%+.4f", found->value / scale);
    else if (table_is_timed(found->unit))
        snprintf(text, METRICS_TEXT, "%.2fx", found->value);
    else
        snprintf(text, METRICS_TEXT, "%.4fx", found->value);
}

static void table_write_name(char *text, const struct assay_metric *metric,
                             const struct assay_unit *unit)
{
    if (unit)
        snprintf(text, METRICS_TEXT, "%s (%s)", metric->name, unit->name);
    else
        snprintf(text, METRICS_TEXT, "%s", metric->name);
}

void metrics_table_row(const struct metrics_table *table, size_t i,
                       struct metrics_row *row)
{
    const struct assay_result *first = table_result(table, 0, i);
    struct assay_enhancement found;
    double scale;

    *row = (struct metrics_row){0};
    if (table->n_models == 1) {
        table_write_name(row->texts[METRICS_NAME], first->metric, first->unit);
        table_write_number(row->texts[METRICS_FIRST], first->shown, 1,
                           first->unit);
        return;
    }
    found = assay_enhance(first, table_result(table, 1, i));
    scale = found.unit ? found.unit->scale : 1;
    table_write_name(row->texts[METRICS_NAME], found.metric, found.unit);
    table_write_number(row->texts[METRICS_FIRST], found.first, scale,
                       found.unit);
    table_write_number(row->texts[METRICS_SECOND], found.second, scale,
                       found.unit);
    table_write_enhancement(row->texts[METRICS_ENHANCEMENT], &found, scale);
}

/* ---- the table ---------------------------------------------------------- */

enum { padding = 1, least_columns = 12 };

static size_t table_widest(const struct metrics_table *table,
                           enum metrics_cell cell)
{
    struct metrics_row row;
    size_t columns = least_columns;

    for (size_t i = 0; i < table->n_keys + 2; i++) {
        size_t n;

        if (i == table->n_keys)
            metrics_table_title(table, &row);
        else if (i > table->n_keys)
            metrics_table_backend(table, &row);
        else
            metrics_table_row(table, i, &row);
        n = text_columns(row.texts[cell]);
        columns = n > columns ? n : columns;
    }
    return columns;
}

static void table_put_line(const struct metrics_table *table, struct sink *sink,
                           const size_t *columns, const char *joint)
{
    for (enum metrics_cell cell = 0; cell < N_METRICS_CELLS; cell++) {
        if (!metrics_table_has(table, cell))
            continue;
        sink_puts(sink, cell ? joint : "+");
        sink_repeat(sink, "-", columns[cell] + 2 * padding);
    }
    sink_puts(sink, "+\n");
}

static void table_put_row(const struct metrics_table *table, struct sink *sink,
                          const struct term *term, const size_t *columns,
                          const struct metrics_row *row)
{
    for (enum metrics_cell cell = 0; cell < N_METRICS_CELLS; cell++) {
        if (!metrics_table_has(table, cell))
            continue;
        sink_puts(sink, "| ");
        text_fit(sink, term, row->texts[cell], columns[cell], ALIGN_RIGHT);
        sink_puts(sink, " ");
    }
    sink_puts(sink, "|\n");
}

/* Centred over all columns. */
static void table_put_heading(const struct metrics_table *table,
                              struct sink *sink, const size_t *columns)
{
    const char *title =
        table->n_models == 1 ? "Model Metrics" : "Comparison of Models";
    size_t width = 0, left;

    for (enum metrics_cell cell = 0; cell < N_METRICS_CELLS; cell++)
        width += metrics_table_has(table, cell)
                     ? columns[cell] + 2 * padding + 1
                     : 0;
    width -= 1 + strlen(title);
    left = width / 2;
    table_put_line(table, sink, columns, "-");
    sink_puts(sink, "|");
    sink_repeat(sink, " ", left);
    sink_puts(sink, title);
    sink_repeat(sink, " ", width - left);
    sink_puts(sink, "|\n");
}

void metrics_table_write(const struct metrics_table *table, struct sink *sink,
                         const struct term *term)
{
    size_t columns[N_METRICS_CELLS];
    struct metrics_row row;

    for (enum metrics_cell cell = 0; cell < N_METRICS_CELLS; cell++)
        columns[cell] = table_widest(table, cell);
    table_put_heading(table, sink, columns);
    table_put_line(table, sink, columns, "+");
    metrics_table_title(table, &row);
    table_put_row(table, sink, term, columns, &row);
    metrics_table_backend(table, &row);
    table_put_row(table, sink, term, columns, &row);
    table_put_line(table, sink, columns, "+");
    for (size_t i = 0; i < table->n_keys; i++) {
        metrics_table_row(table, i, &row);
        table_put_row(table, sink, term, columns, &row);
    }
    table_put_line(table, sink, columns, "+");
}

/* ---- the report of the public interface ---------------------------------- */

/* The metrics of the first profiler that the second one has too. */
static size_t report_choose(const struct assay_profiler *const profilers[2],
                            size_t n_models, size_t *keys[2])
{
    size_t n = 0;

    for (size_t i = 0; i < assay_profiler_count(profilers[0]); i++) {
        const char *key = assay_profiler_metric(profilers[0], i)->key;
        size_t twin =
            n_models == 2 ? registry_find(&profilers[1]->registry, key) : i;

        if (twin == SIZE_MAX)
            continue;
        keys[0][n] = i;
        keys[1][n++] = twin;
    }
    return n;
}

static enum assay_status
report_write(const struct assay_profiler *const profilers[2], size_t n_models,
             struct str *text, struct error *err)
{
    size_t n = assay_profiler_count(profilers[0]);
    size_t *keys[2] = {mem_array(n + 1, sizeof *keys[0]),
                       mem_array(n + 1, sizeof *keys[1])};
    struct metrics_table table = {.n_models = n_models};
    struct term term = term_plain(0);
    struct sink sink = sink_to_str(text);
    enum assay_status st = ASSAY_OK;

    if (!keys[0] || !keys[1])
        st = error_nomem(err, n * sizeof *keys[0], "a report");
    for (size_t i = 0; !st && i < n_models; i++) {
        table.profilers[i] = profilers[i];
        table.names[i] = assay_profiler_name(profilers[i]);
        table.keys[i] = keys[i];
    }
    if (!st) {
        table.backend = assay_model_backend(profilers[0]->model);
        table.n_keys = report_choose(profilers, n_models, keys);
        metrics_table_write(&table, &sink, &term);
        st = sink_status(&sink, err);
    }
    mem_free(keys[0]);
    mem_free(keys[1]);
    return st;
}

/* Cuts the text into lines. */
static void report_tell(struct str *text,
                        void (*tell)(void *context, const char *line),
                        void *context)
{
    char *rest = text->text, *line;

    while (rest && *rest && (line = strsep(&rest, "\n")))
        tell(context, line);
}

enum assay_status
assay_profiler_report(struct assay_profiler *profiler,
                      struct assay_profiler *other,
                      void (*tell)(void *context, const char *line),
                      void *context, struct assay_error *error)
{
    const struct assay_profiler *const profilers[2] = {profiler, other};
    struct str text = {0};
    struct error err = {0};
    enum assay_status st = assay_profiler_compute_all(profiler, 0, error);

    if (!st && other)
        st = assay_profiler_compute_all(other, 0, error);
    if (st)
        return st;
    st = report_write(profilers, other ? 2 : 1, &text, &err);
    if (!st)
        report_tell(&text, tell, context);
    str_release(&text);
    return error_export(&err, st, error);
}
