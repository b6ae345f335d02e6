/* views/view_memory.c - who owned the memory at its peak. */
#include "base/mem.h"
#include "base/units.h"
#include "views/line.h"
#include "views/summary_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { BYTES_COLUMNS = 11, SHARE_COLUMNS = 9, DEFAULT_ROWS = 20 };

struct ledger_table {
    const struct summary *summary;
    size_t name;  /* columns of an owner's name */
    double whole; /* bytes of all rows */
};

static void memory_put_row(const struct ledger_table *table, const char *name,
                           double bytes)
{
    const struct term *term = &table->summary->options->term;
    struct sink *sink = table->summary->sink;
    char text[UNITS_MAX], share[UNITS_MAX];

    snprintf(text, sizeof text, "%.1f", bytes / 0x1p20);
    units_percent(share, bytes / table->whole, 0);
    text_fit(sink, term, name, table->name, ALIGN_LEFT);
    text_fit(sink, term, text, BYTES_COLUMNS, ALIGN_RIGHT);
    text_fit(sink, term, share, SHARE_COLUMNS, ALIGN_RIGHT);
    sink_puts(sink, "\n");
}

static void memory_view_put_strong(const struct ledger_table *table,
                                   const char *name, double bytes)
{
    const struct term *term = &table->summary->options->term;

    sink_puts(table->summary->sink, term_style(term, STYLE_BOLD));
    memory_put_row(table, name, bytes);
    sink_puts(table->summary->sink, term_style(term, STYLE_NONE));
}

static int memory_by_size(const void *left, const void *right)
{
    const struct ledger_row *a = *(const struct ledger_row *const *)left;
    const struct ledger_row *b = *(const struct ledger_row *const *)right;

    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    return (a->scope > b->scope) - (a->scope < b->scope);
}

/* "  backbone.fpn", "  as loaded", "  backbone.fpn, gathered" */
static enum assay_status memory_view_owner_name(const struct run *run,
                                                const struct ledger_row *row,
                                                struct str *name)
{
    enum assay_status st;

    str_clear(name);
    st = str_append(name, "  ");
    if (!st && row->scope != RUN_NONE)
        st = run_scope_path_below(run, run_model_scope(run), row->scope, name);
    if (!st && row->scope != RUN_NONE && row->what[0])
        st = str_append(name, ", ");
    return st ? st : str_append(name, row->what);
}

/* The rows of a kind, the largest first. */
static size_t memory_choose(const struct run *run, enum ledger_kind kind,
                            const struct ledger_row **rows)
{
    size_t n = 0;

    for (size_t i = 0; i < run_ledger_count(run); i++) {
        if (run_ledger(run, i)->kind == kind)
            rows[n++] = run_ledger(run, i);
    }
    if (n)
        qsort(rows, n, sizeof *rows, memory_by_size);
    return n;
}

static enum assay_status memory_view_put_kind(const struct ledger_table *table,
                                              enum ledger_kind kind,
                                              const struct ledger_row **rows)
{
    const struct summary *summary = table->summary;
    const struct view_options *options = summary->options;
    size_t limit = options->limit ? options->limit : DEFAULT_ROWS;
    size_t n = memory_choose(summary->run, kind, rows);
    struct str name = {0};
    enum assay_status st = ASSAY_OK;
    double hidden = 0;

    if (n == 0)
        return ASSAY_OK;
    memory_view_put_strong(table, ledger_kind_text(kind),
                           (double)run_ledger_sum(summary->run, kind));
    for (size_t i = 0; !st && i < n; i++) {
        if (i >= limit && !options->all) {
            hidden += (double)rows[i]->bytes;
            continue;
        }
        st = memory_view_owner_name(summary->run, rows[i], &name);
        if (!st)
            memory_put_row(table, str_text(&name), (double)rows[i]->bytes);
    }
    if (!st && hidden > 0)
        st = str_printf(&name, " and %zu smaller ones (--limit, --all)",
                        n - limit);
    if (!st && hidden > 0)
        memory_put_row(table, str_text(&name), hidden);
    str_release(&name);
    return st;
}

static enum assay_status
memory_view_put_ledger(const struct ledger_table *table, struct error *err)
{
    const struct run *run = table->summary->run;
    double untouched = run_fact_number(run, "memory.untouched_bytes");
    size_t n = run_ledger_count(run);
    const struct ledger_row **rows = mem_array(n, sizeof *rows);
    enum assay_status st = rows ? ASSAY_OK : ASSAY_NOMEM;

    for (int kind = 0; !st && kind < LEDGER_OUTSIDE; kind++)
        st = memory_view_put_kind(table, (enum ledger_kind)kind, rows);
    if (!st) {
        memory_view_put_strong(table, "= the peak of the pool",
                               (double)run_memory_of(run)->peak_bytes);
        st = memory_view_put_kind(table, LEDGER_OUTSIDE, rows);
    }
    if (!st && untouched > 0)
        memory_put_row(table, "taken from the system but never touched",
                       -untouched);
    if (!st && run_ledger_sum(run, LEDGER_OUTSIDE))
        memory_view_put_strong(table, "= the peak of the process",
                               table->whole);
    mem_free(rows);
    return st ? error_nomem(err, n * sizeof *rows, "a ledger") : ASSAY_OK;
}

static void memory_put_head(const struct ledger_table *table)
{
    const struct term *term = &table->summary->options->term;
    struct sink *sink = table->summary->sink;

    sink_puts(sink, "\n");
    sink_puts(sink, term_style(term, STYLE_BOLD));
    text_fit(sink, term, "owner", table->name, ALIGN_LEFT);
    text_fit(sink, term, "MiB", BYTES_COLUMNS, ALIGN_RIGHT);
    text_fit(sink, term, "share", SHARE_COLUMNS, ALIGN_RIGHT);
    sink_puts(sink, term_style(term, STYLE_NONE));
    sink_puts(sink, "\n");
}

/* What the process held, without what was never touched. */
static double memory_view_whole_bytes(const struct run *run)
{
    double untouched = run_fact_number(run, "memory.untouched_bytes");

    return (double)(run_memory_of(run)->peak_bytes +
                    run_ledger_sum(run, LEDGER_OUTSIDE)) -
           (isnan(untouched) ? 0 : untouched);
}

enum assay_status view_memory(const struct run *run,
                              const struct view_options *options,
                              struct sink *sink, struct error *err)
{
    struct summary summary = {.run = run, .options = options, .sink = sink};
    struct ledger_table table = {.summary = &summary};
    size_t width = (size_t)options->term.width;
    enum assay_status st;

    if (run_memory_of(run)->peak_bytes == RUN_UNKNOWN) {
        sink_puts(sink, "memory   - unknown: the program reported no memory\n");
        return sink_status(sink, err);
    }
    st = summary_memory(&summary, err);
    if (!st && run_ledger_count(run) == 0)
        sink_puts(sink,
                  "owners   - unknown: only runs of models by this version "
                  "have them\n");
    else if (!st) {
        table.name = width > 90 ? 70 : width > 50 ? width - 20 : 30;
        table.whole = memory_view_whole_bytes(run);
        memory_put_head(&table);
        st = memory_view_put_ledger(&table, err);
    }
    return st ? st : sink_status(sink, err);
}
