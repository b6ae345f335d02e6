/* views/summary_times.c - summary lines about times and counters. */
#include "base/units.h"
#include "views/line.h"
#include "views/summary_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { SPARK_COLUMNS = 12 };

static struct line summary_times_begin(const struct summary *summary,
                                       const char *label)
{
    return line_begin(summary->sink, &summary->options->term, label);
}

/* "warm-up 3, measured 24; stopped when the 95 % interval ..." */
static enum assay_status runs_text(const struct run *run, struct str *text)
{
    const char *stopped = run_fact(run, "runs.stopped");
    enum assay_status st =
        str_printf(text, "warm-up %" PRIu64 ", measured %" PRIu64,
                   run_health_of(run)->warm_up, run_iteration_count(run));

    return st || !stopped ? st : str_printf(text, "; stopped %s", stopped);
}

void summary_runs(const struct summary *summary)
{
    struct line line = summary_times_begin(summary, "runs");
    struct str text = {0};
    char time[UNITS_MAX];
    double duration = (double)run_duration_ns(summary->run);

    if (run_has_iterations(summary->run)) {
        if (runs_text(summary->run, &text))
            summary->sink->failed_errno = ENOMEM;
        line_sentence(&line, str_text(&text));
    }
    if (duration > 0)
        line_printf(&line, "recorded for %s", units_time(time, duration));
    line_end(&line);
    str_release(&text);
}

static double iteration_ns(const struct run *run, size_t i)
{
    return (double)run_iteration(run, i)->duration_ns;
}

/* How many of the remembered iterations lie in each of the equal parts from
 * the shortest to the longest; false where they are all the same. */
static bool fill_bins(const struct run *run, double bins[SPARK_COLUMNS])
{
    size_t n = run_iterations_kept(run);
    double low = INFINITY, high = 0;

    for (size_t i = 0; i < n; i++) {
        low = fmin(low, iteration_ns(run, i));
        high = fmax(high, iteration_ns(run, i));
    }
    if (!(high > low))
        return false;
    for (size_t i = 0; i < n; i++) {
        double place = (iteration_ns(run, i) - low) / (high - low);

        bins[(size_t)fmin(place * SPARK_COLUMNS, SPARK_COLUMNS - 1)]++;
    }
    return true;
}

static void add_sparkline(const struct summary *summary, struct line *line)
{
    double bins[SPARK_COLUMNS] = {0};
    struct str text = {0};
    struct sink sink = sink_to_str(&text);

    if (fill_bins(summary->run, bins))
        text_sparkline(&sink, line->term, bins, SPARK_COLUMNS);
    if (text.n)
        line_item(line, str_text(&text));
    str_release(&text);
}

/* The unit that the median is told in, for all numbers of the line. */
static double summary_times_scale_of(double ns, const char **unit)
{
    *unit = ns < 1e3 ? "ns" : ns < 1e6 ? "us" : ns < 10e9 ? "ms" : "s";
    return ns < 1e3 ? 1 : ns < 1e6 ? 1e3 : ns < 10e9 ? 1e6 : 1e9;
}

enum assay_status summary_latency(const struct summary *summary,
                                  struct error *err)
{
    struct line line = summary_times_begin(summary, "latency");
    char a[UNITS_MAX], b[UNITS_MAX], c[UNITS_MAX];
    struct scope_stats stats;
    enum assay_status st;
    const char *unit;
    double scale;

    if (!run_has_iterations(summary->run)) {
        line_sentence(&line,
                      "- no iterations were marked, so times are totals");
        line_end(&line);
        return ASSAY_OK;
    }
    st = run_scope_stats(summary->run, RUN_ROOT, RUN_ANY, &stats, err);
    if (st)
        return st;
    scale = summary_times_scale_of(stats.median_ns, &unit);
    line_printf(&line, "median %s %s [%s, %s]",
                units_number(a, stats.median_ns / scale), unit,
                units_number(b, stats.median_low_ns / scale),
                units_number(c, stats.median_high_ns / scale));
    line_printf(&line, "p95 %s", units_number(a, stats.p95_ns / scale));
    line_printf(&line, "min %s", units_number(a, stats.min_ns / scale));
    line_printf(&line, "max %s", units_number(a, stats.max_ns / scale));
    if (stats.mean_ns > 0)
        line_printf(&line, "%s/s", units_count(a, 1e9 / stats.mean_ns));
    add_sparkline(summary, &line);
    line_end(&line);
    return ASSAY_OK;
}

enum assay_status summary_steadiness(const struct summary *summary,
                                     struct error *err)
{
    struct line line = summary_times_begin(summary, "steady");
    struct verdict verdict;
    enum assay_status st;

    if (!run_has_iterations(summary->run))
        return ASSAY_OK;
    st = run_verdict(summary->run, &verdict, err);
    if (st)
        return st;
    line.style = verdict.steadiness == STEADY ? STYLE_GREEN : STYLE_YELLOW;
    line_sentence(&line, verdict.text);
    line_end(&line);
    return ASSAY_OK;
}

/* "quiet: others kept 0.02 of 2 processors busy" */
void summary_load(const struct summary *summary)
{
    struct line line = summary_times_begin(summary, "load");
    char time[UNITS_MAX], share[UNITS_MAX];
    struct run_load load;

    run_load(summary->run, &load);
    if (isnan(load.others))
        return;
    if (load.is_disturbed)
        line.style = STYLE_YELLOW;
    line_printf(&line, "%s: others kept %.2f of %.0f processors busy",
                load.is_disturbed ? "busy" : "quiet", load.others,
                load.processors);
    if (load.stolen >= 0.01)
        line_printf(&line, "%.2f of them other guests of the host",
                    load.stolen);
    if (load.throttled >= 0.01)
        line_printf(&line, "%.2f held back by the container's limit",
                    load.throttled);
    if (load.wait_share >= 0.01)
        line_printf(&line, "waited for one %s per iteration (%s)",
                    units_time(time, load.wait_ns),
                    units_percent(share, load.wait_share, 0));
    line_end(&line);
}

/* A value with its unit, bytes as people read them. */
static void add_counter(struct line *line, const struct counter *counter)
{
    char mean[UNITS_MAX], min[UNITS_MAX], max[UNITS_MAX];
    bool is_bytes = strcmp(counter->unit, "bytes") == 0;
    bool has_unit = !is_bytes && counter->unit[0];
    const char *(*write)(char *, double) = is_bytes ? units_bytes : units_count;

    line_printf(line, "%s %s (%s .. %s)%s%s", counter->name,
                write(mean, counter->mean), write(min, counter->min),
                write(max, counter->max), has_unit ? " " : "",
                has_unit ? counter->unit : "");
}

/* Counters that the line about memory stands for. */
static bool is_memory(const struct run *run, const struct counter *counter)
{
    return strcmp(counter->name, RUN_LIVE_BYTES) == 0 ||
           (strcmp(counter->name, "memory") == 0 && run_ledger_count(run));
}

void summary_counters(const struct summary *summary)
{
    enum { MOST_SHOWN = 8 };
    struct line line = summary_times_begin(summary, "counters");
    size_t n = 0;

    for (uint32_t i = 0; i < run_counters(summary->run); i++) {
        const struct counter *counter = run_counter(summary->run, i);

        if (counter->n == 0 || is_memory(summary->run, counter))
            continue;
        if (n++ < MOST_SHOWN)
            add_counter(&line, counter);
    }
    if (n > MOST_SHOWN)
        line_printf(&line, "%zu more (--json)", n - MOST_SHOWN);
    line_end(&line);
}
