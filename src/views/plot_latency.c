/* views/plot_latency.c - how long the iterations took: how often, and in order.
 */
#include "base/units.h"
#include "views/plot_internal.h"

#include <math.h>
#include <stdio.h>

enum { most_bins = 40 };

struct bins {
    double low, width; /* ms */
    size_t counts[most_bins];
    size_t n, most;
};

static double latency_duration_ms(const struct run *run, size_t i)
{
    return (double)run_iteration(run, i)->duration_ns / 1e6;
}

/* The rule of Freedman and Diaconis needs the quartiles; the square root of n
 * suits a hundred iterations as well as ten thousand. */
static void plot_latency_count_bins(const struct run *run, struct bins *bins)
{
    size_t n = run_iterations_kept(run);
    double low = INFINITY, high = 0;

    for (size_t i = 0; i < n; i++) {
        low = fmin(low, latency_duration_ms(run, i));
        high = fmax(high, latency_duration_ms(run, i));
    }
    bins->n = (size_t)fmin(fmax(ceil(sqrt((double)n) * 1.5), 6), most_bins);
    if (!(high > low))
        high = low + fmax(low * 0.01, 1e-6);
    bins->low = low;
    bins->width = (high - low) / (double)bins->n;
    for (size_t i = 0; i < n; i++) {
        double at = (latency_duration_ms(run, i) - low) / bins->width;
        size_t bin = (size_t)fmin(at, (double)bins->n - 1);

        bins->counts[bin]++;
        if (bins->counts[bin] > bins->most)
            bins->most = bins->counts[bin];
    }
}

static void latency_draw_bins(struct plot *plot, struct area area,
                              const struct bins *bins,
                              const struct axis *across)
{
    struct axis up = {.low = 0, .high = (double)bins->most * 1.12};

    plot_axis_left(plot, area, &up, "iterations");
    for (size_t i = 0; i < bins->n; i++) {
        double from = bins->low + (double)i * bins->width;
        double x = axis_place(across, from);
        double y = axis_place(&up, (double)bins->counts[i]);

        sheet_rectangle(
            plot->sheet,
            (struct area){x + 0.5, y,
                          axis_place(across, from + bins->width) - x - 1,
                          area.y + area.height - y},
            plot_main_ink);
    }
}

static void latency_mark_time(struct plot *plot, struct area area,
                              const struct axis *across, struct ink ink,
                              const char *what, double ns)
{
    char words[64], time[UNITS_MAX];

    snprintf(words, sizeof words, "%s %s", what, units_time(time, ns));
    plot_mark(plot, area, axis_place(across, ns / 1e6), ink, words);
}

/* One dot per iteration, the first at the top. */
static void latency_draw_dots(struct plot *plot, struct area area,
                              const struct axis *across)
{
    size_t n = run_iterations_kept(plot->run);
    const struct iteration *last = run_iteration(plot->run, n - 1);
    struct axis down = {.low = 0, .high = fmax(last->index, 1)};

    down.from = area.y + 4;
    down.to = area.y + area.height - 4;
    for (size_t i = 0; i < n; i++) {
        const struct iteration *iteration = run_iteration(plot->run, i);
        struct ink ink = plot_main_ink;

        ink.alpha = 0.55;
        sheet_disc(
            plot->sheet,
            (struct spot){axis_place(across, latency_duration_ms(plot->run, i)),
                          axis_place(&down, iteration->index)},
            1.8, ink);
    }
    sheet_text_upright(plot->sheet,
                       (struct spot){area.x - 42, area.y + area.height / 2},
                       PLOT_TEXT, plot_ink, "in order");
}

static void latency_draw_panels(struct plot *plot,
                                const struct scope_stats *stats)
{
    struct bins bins = {0};
    struct area top = plot->area, low = plot->area;
    struct axis across, upper;

    top.x = low.x += 50;
    top.width = low.width -= 60;
    top.height *= 0.55;
    low.y += top.height + 14;
    low.height -= top.height + 14 + 34;
    plot_latency_count_bins(plot->run, &bins);
    across = (struct axis){
        .low = bins.low - bins.width,
        .high = bins.low + bins.width * (double)(bins.n + 1),
    };
    if (across.low < 0)
        across.low = 0;
    plot_axis_below(plot, low, &across, "ms per iteration");
    upper = across;
    latency_draw_bins(plot, top, &bins, &upper);
    latency_mark_time(plot, top, &across, plot_accent_ink, "median",
                      stats->median_ns);
    if (!isnan(stats->p95_ns))
        latency_mark_time(
            plot, (struct area){top.x, top.y + 12, top.width, top.height - 12},
            &across, plot_faint_ink, "p95", stats->p95_ns);
    latency_draw_dots(plot, low, &across);
}

enum assay_status plot_latency(struct plot *plot, struct error *err)
{
    struct scope_stats stats;
    char title[96];
    enum assay_status st;

    if (run_iterations_kept(plot->run) == 0)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "the run has no iterations, so there is no latency to "
                         "draw: mark them (assay_iteration_begin), or use "
                         "--kind icicle");
    st = run_scope_stats(plot->run, RUN_ROOT, RUN_ANY, &stats, err);
    if (st)
        return st;
    snprintf(title, sizeof title, "Latency of %llu iterations",
             (unsigned long long)run_iteration_count(plot->run));
    plot_head(plot, title);
    latency_draw_panels(plot, &stats);
    return ASSAY_OK;
}
