/* views/plot_memory.c - live bytes over an iteration, and who owned them at the
 * peak. */
#include "views/plot_memory_internal.h"

#include "base/mem.h"
#include "base/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_owners = 12 };

static const double mebibyte = 1 << 20;

static const struct counter *memory_plot_live_bytes(const struct run *run)
{
    for (uint32_t i = 0; i < run_counters(run); i++) {
        const struct counter *counter = run_counter(run, i);

        if (strcmp(counter->name, RUN_LIVE_BYTES) == 0 && counter->n_points > 1)
            return counter;
    }
    return NULL;
}

static size_t plot_memory_find_peak(const struct counter *counter)
{
    size_t peak = 0;

    for (size_t i = 1; i < counter->n_points; i++) {
        if (counter->points[i].value > counter->points[peak].value)
            peak = i;
    }
    return peak;
}

static enum assay_status plot_memory_draw_curve(struct plot *plot,
                                                struct area area,
                                                const struct counter *counter,
                                                struct error *err)
{
    size_t peak = plot_memory_find_peak(counter);
    int64_t first_ns = counter->points[0].time_ns;
    int64_t last_ns = counter->points[counter->n_points - 1].time_ns;
    struct memory_curve curve = {
        .live = counter,
        .area = area,
        .across = {.high = fmax((double)(last_ns - first_ns) / 1e6, 1e-3)},
        .up = {.high = counter->points[peak].value * 1.1 / mebibyte}};
    char words[64], bytes[UNITS_MAX];
    enum assay_status st;

    plot_axis_below(plot, area, &curve.across, "ms since the iteration began");
    plot_axis_left(plot, area, &curve.up, "MiB live");
    st = memory_plot_draw_layers(plot, &curve, err);
    snprintf(words, sizeof words, "peak %s",
             units_bytes(bytes, counter->points[peak].value));
    plot_mark(
        plot, area,
        axis_place(&curve.across,
                   (double)(counter->points[peak].time_ns - first_ns) / 1e6),
        plot_accent_ink, words);
    return st;
}

/* ---- the ledger -------------------------------------------------------- */

static int memory_plot_by_bytes(const void *a, const void *b)
{
    int64_t left = (*(const struct ledger_row *const *)a)->bytes;
    int64_t right = (*(const struct ledger_row *const *)b)->bytes;

    return left < right ? 1 : left > right ? -1 : 0;
}

static void memory_plot_name_owner(const struct run *run,
                                   const struct ledger_row *row,
                                   struct str *name)
{
    /* Without memory the name is shorter. */
    (void)str_append(name, ledger_kind_text(row->kind));
    if (row->what[0])
        (void)str_printf(name, " (%s)", row->what);
    if (row->scope != RUN_NONE) {
        (void)str_append(name, " ");
        (void)run_scope_path(run, row->scope, name);
    }
}

static void memory_plot_draw_owner(struct plot *plot, struct area line,
                                   const struct ledger_row *row, double most)
{
    struct area bar = {line.x, line.y + 12, line.width, 4};
    struct str name = {0};
    char bytes[UNITS_MAX];

    memory_plot_name_owner(plot->run, row, &name);
    sheet_text_in(plot->sheet,
                  (struct area){line.x, line.y, line.width - 62, 12}, 8,
                  plot_ink, str_text(&name));
    sheet_text(plot->sheet, (struct spot){line.x + line.width, line.y + 9},
               SHEET_RIGHT, 8, plot_ink,
               units_bytes(bytes, (double)row->bytes));
    sheet_rectangle(plot->sheet, bar, plot_grid_ink);
    bar.width *= (double)row->bytes / most;
    sheet_rectangle(plot->sheet, bar,
                    memory_plot_ink(ledger_kind_text(row->kind)));
    str_release(&name);
}

static enum assay_status
memory_plot_draw_ledger(struct plot *plot, struct area area, struct error *err)
{
    size_t n = run_ledger_count(plot->run);
    const struct ledger_row **rows = mem_array(n, sizeof *rows);

    if (!rows)
        return error_nomem(err, n * sizeof *rows, "a plot");
    for (size_t i = 0; i < n; i++)
        rows[i] = run_ledger(plot->run, i);
    qsort(rows, n, sizeof *rows, memory_plot_by_bytes);
    sheet_bold(plot->sheet, (struct spot){area.x, area.y + 9}, SHEET_LEFT,
               PLOT_TEXT, plot_ink, "who owned it at the peak");
    for (size_t i = 0; i < n && i < most_owners && rows[i]->bytes > 0; i++)
        memory_plot_draw_owner(
            plot,
            (struct area){area.x, area.y + 20 + (double)i * 24, area.width, 20},
            rows[i], fmax((double)rows[0]->bytes, 1));
    mem_free(rows);
    return ASSAY_OK;
}

enum assay_status plot_memory(struct plot *plot, struct error *err)
{
    const struct counter *counter = memory_plot_live_bytes(plot->run);
    struct area curve;
    enum assay_status st;

    if (!counter)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "the run has no memory over time (counter %s): record "
                         "it with assay run, or use --kind icicle",
                         RUN_LIVE_BYTES);
    plot_head(plot, "Memory over one iteration");
    curve = plot->area;
    curve.x += 50;
    curve.width -= 60;
    curve.height -= memory_plot_has_layers(plot->run) ? 54 : 36;
    if (run_ledger_count(plot->run) == 0)
        return plot_memory_draw_curve(plot, curve, counter, err);
    curve.width -= 250;
    st = plot_memory_draw_curve(plot, curve, counter, err);
    if (!st)
        st = memory_plot_draw_ledger(plot,
                                     (struct area){curve.x + curve.width + 24,
                                                   curve.y, 226, curve.height},
                                     err);
    return st;
}
