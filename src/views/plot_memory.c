/* views/plot_memory.c - live bytes over an iteration, and who owned them at the
 * peak. */
#include "base/mem.h"
#include "base/units.h"
#include "views/plot_internal.h"

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

/* Memory stays constant until it changes: a staircase. */
static struct spot *memory_plot_staircase(const struct counter *counter,
                                          const struct axis *across,
                                          const struct axis *up, size_t *n)
{
    int64_t first_ns = counter->points[0].time_ns;
    struct spot *spots = mem_array(2 * counter->n_points + 2, sizeof *spots);

    *n = 0;
    for (size_t i = 0; spots && i < counter->n_points; i++) {
        double ms = (double)(counter->points[i].time_ns - first_ns) / 1e6;
        struct spot spot = {
            axis_place(across, ms),
            axis_place(up, counter->points[i].value / mebibyte)};

        if (i > 0) {
            spots[*n] = (struct spot){spot.x, spots[*n - 1].y};
            (*n)++;
        }
        spots[(*n)++] = spot;
    }
    return spots;
}

static enum assay_status memory_plot_draw_stairs(struct plot *plot,
                                                 const struct counter *counter,
                                                 const struct axis *across,
                                                 const struct axis *up,
                                                 struct error *err)
{
    struct ink fill = plot_main_ink;
    size_t n;
    struct spot *spots = memory_plot_staircase(counter, across, up, &n);

    if (!spots)
        return error_nomem(err, counter->n_points * sizeof *spots, "a plot");
    sheet_path(plot->sheet, spots, n, plot_main_ink, 1.2);
    spots[n] = (struct spot){spots[n - 1].x, up->from};
    spots[n + 1] = (struct spot){spots[0].x, up->from};
    fill.alpha = 0.18;
    sheet_polygon(plot->sheet, spots, n + 2, fill);
    mem_free(spots);
    return ASSAY_OK;
}

static enum assay_status plot_memory_draw_curve(struct plot *plot,
                                                struct area area,
                                                const struct counter *counter,
                                                struct error *err)
{
    size_t peak = plot_memory_find_peak(counter);
    int64_t first_ns = counter->points[0].time_ns;
    int64_t last_ns = counter->points[counter->n_points - 1].time_ns;
    struct axis across = {.high =
                              fmax((double)(last_ns - first_ns) / 1e6, 1e-3)};
    struct axis up = {.high = counter->points[peak].value * 1.1 / mebibyte};
    char words[64], bytes[UNITS_MAX];
    enum assay_status st;

    plot_axis_below(plot, area, &across, "ms since the iteration began");
    plot_axis_left(plot, area, &up, "MiB live");
    st = memory_plot_draw_stairs(plot, counter, &across, &up, err);
    snprintf(words, sizeof words, "peak %s",
             units_bytes(bytes, counter->points[peak].value));
    plot_mark(
        plot, area,
        axis_place(&across,
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
    sheet_rectangle(plot->sheet, bar, plot_main_ink);
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
    curve.height -= 36;
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
