/* views/summary_times.c - summary lines about times, memory and counters. */
#include "base/units.h"
#include "views/summary_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- times -------------------------------------------------------------- */

enum { SPARK_COLUMNS = 12 };

/* "warm-up 3, measured 24; stopped when the 95 % interval ..." */
static enum assay_status summary_runs_text(const struct run *run,
                                           struct str *text)
{
    const char *stopped = run_fact(run, "runs.stopped");
    enum assay_status st =
        str_printf(text, "warm-up %" PRIu64 ", measured %" PRIu64,
                   run_health_of(run)->warm_up, run_iteration_count(run));

    return st || !stopped ? st : str_printf(text, "; stopped %s", stopped);
}

void summary_runs(const struct summary *summary)
{
    struct line line = summary_line(summary, "runs");
    struct str text = {0};
    char time[UNITS_MAX];
    double duration = (double)run_duration_ns(summary->run);

    if (run_has_iterations(summary->run)) {
        if (summary_runs_text(summary->run, &text))
            summary->sink->failed_errno = ENOMEM;
        line_sentence(&line, str_text(&text));
    }
    if (duration > 0)
        line_printf(&line, "recorded for %s", units_time(time, duration));
    line_end(&line);
    str_release(&text);
}

static double summary_iteration_ns(const struct run *run, size_t i)
{
    return (double)run_iteration(run, i)->duration_ns;
}

/* Counts the remembered iterations in equal parts from the shortest to the
 * longest; false if they are all the same. */
static bool summary_fill_bins(const struct run *run, double bins[SPARK_COLUMNS])
{
    size_t n = run_iterations_kept(run);
    double low = INFINITY, high = 0;

    for (size_t i = 0; i < n; i++) {
        low = fmin(low, summary_iteration_ns(run, i));
        high = fmax(high, summary_iteration_ns(run, i));
    }
    if (!(high > low))
        return false;
    for (size_t i = 0; i < n; i++) {
        double place = (summary_iteration_ns(run, i) - low) / (high - low);

        bins[(size_t)fmin(place * SPARK_COLUMNS, SPARK_COLUMNS - 1)]++;
    }
    return true;
}

static void summary_add_sparkline(const struct summary *summary,
                                  struct line *line)
{
    double bins[SPARK_COLUMNS] = {0};
    struct str text = {0};
    struct sink sink = sink_to_str(&text);

    if (summary_fill_bins(summary->run, bins))
        text_sparkline(&sink, line->term, bins, SPARK_COLUMNS);
    if (text.n)
        line_item(line, str_text(&text));
    str_release(&text);
}

/* The unit of the mean, for all numbers of the line. */
static double summary_times_scale_of(double ns, const char **unit)
{
    *unit = ns < 1e3 ? "ns" : ns < 1e6 ? "us" : ns < 10e9 ? "ms" : "s";
    return ns < 1e3 ? 1 : ns < 1e6 ? 1e3 : ns < 10e9 ? 1e6 : 1e9;
}

/* "mean 812 ms [804, 823]"; without the interval if there are too few. One that
 * is wider than the mean says nothing. */
static void summary_add_mean(struct line *line, const struct scope_stats *stats,
                             double scale, const char *unit)
{
    char mean[UNITS_MAX], low[UNITS_MAX], high[UNITS_MAX];

    units_number(mean, stats->mean_ns / scale);
    if (isnan(stats->mean_low_ns))
        line_printf(line, "mean %s %s", mean, unit);
    else if (stats->mean_high_ns - stats->mean_low_ns > stats->mean_ns)
        line_printf(line, "mean %s %s [too noisy]", mean, unit);
    else
        line_printf(line, "mean %s %s [%s, %s]", mean, unit,
                    units_number(low, stats->mean_low_ns / scale),
                    units_number(high, stats->mean_high_ns / scale));
}

/* "1.23 img/s", or iterations if the run does not say how many images one has.
 */
static void summary_add_rate(const struct run *run, struct line *line,
                             double mean_ns)
{
    double images = run_images_each(run);
    char rate[UNITS_MAX];

    if (!(mean_ns > 0))
        return;
    units_count(rate, (isnan(images) ? 1 : images) * 1e9 / mean_ns);
    line_printf(line, "%s%s", rate, isnan(images) ? "/s" : " img/s");
}

enum assay_status summary_latency(const struct summary *summary,
                                  struct error *err)
{
    struct line line = summary_line(summary, "latency");
    struct scope_stats stats;
    enum assay_status st;
    char text[UNITS_MAX];
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
    scale = summary_times_scale_of(stats.mean_ns, &unit);
    summary_add_mean(&line, &stats, scale, unit);
    if (stats.n > 2)
        line_printf(&line, "median %s",
                    units_number(text, stats.median_ns / scale));
    if (!isnan(stats.p95_ns))
        line_printf(&line, "p95 %s", units_number(text, stats.p95_ns / scale));
    if (summary->is_brief)
        summary_add_rate(summary->run, &line, stats.mean_ns);
    if (stats.n > 1) {
        line_printf(&line, "min %s", units_number(text, stats.min_ns / scale));
        line_printf(&line, "max %s", units_number(text, stats.max_ns / scale));
    }
    if (!summary->is_brief)
        summary_add_rate(summary->run, &line, stats.mean_ns);
    summary_add_sparkline(summary, &line);
    line_end(&line);
    return ASSAY_OK;
}

enum assay_status summary_steadiness(const struct summary *summary,
                                     struct error *err)
{
    struct line line = summary_line(summary, "steady");
    struct verdict verdict;
    enum assay_status st;

    if (!run_has_iterations(summary->run))
        return ASSAY_OK;
    st = run_verdict(summary->run, &verdict, err);
    if (st)
        return st;
    line.style = verdict.steadiness == STEADY ? STYLE_GREEN : STYLE_YELLOW;
    line.is_single = false;
    line_sentence(&line, verdict.text);
    line_end(&line);
    return ASSAY_OK;
}

/* "quiet: others kept 0.02 of 2 processors busy" */
void summary_load(const struct summary *summary)
{
    struct line line = summary_line(summary, "load");
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
        line_printf(&line, "waited %s per iteration for a processor (%s)",
                    units_time(time, load.wait_ns),
                    units_percent(share, load.wait_share, 0));
    line_end(&line);
}

/* A value with its unit; bytes as people read them. */
static void summary_add_counter(struct line *line,
                                const struct counter *counter)
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

/* Counters that the line about memory covers. */
static bool summary_is_memory(const struct run *run,
                              const struct counter *counter)
{
    return run_is_live_bytes(counter->name) ||
           (strcmp(counter->name, "memory") == 0 &&
            (run_ledger_count(run) || run_space_count(run)));
}

void summary_counters(const struct summary *summary)
{
    enum { MOST_SHOWN = 8 };
    struct line line = summary_line(summary, "counters");
    size_t n = 0;

    for (uint32_t i = 0; i < run_counters(summary->run); i++) {
        const struct counter *counter = run_counter(summary->run, i);

        if (counter->n == 0 || summary_is_memory(summary->run, counter))
            continue;
        if (n++ < MOST_SHOWN)
            summary_add_counter(&line, counter);
    }
    if (n > MOST_SHOWN)
        line_printf(&line, "%zu more (--json)", n - MOST_SHOWN);
    line_end(&line);
}

/* ---- memory ------------------------------------------------------------- */

/* The unit for the parts of the peak. */
struct memory_unit {
    const char *name;
    double bytes;
};

static struct memory_unit summary_memory_unit(const struct run *run)
{
    return run_memory_of(run)->peak_bytes < 1 << 20
               ? (struct memory_unit){"KiB", 0x1p10}
               : (struct memory_unit){"MiB", 0x1p20};
}

/* Appends "weights 160" after the text before it. */
static enum assay_status summary_memory_add_part(struct str *text,
                                                 const char *before,
                                                 const char *name, double bytes,
                                                 struct memory_unit unit)
{
    double value = bytes / unit.bytes;

    return str_printf(text, value < 9.95 ? "%s%s %.1f" : "%s%s %.0f", before,
                      name, value);
}

/* "weights 160, activations 412, scratch 96 MiB": the kinds that have a share
 * of the peak, in the order of the ledger. */
static enum assay_status summary_add_kinds(const struct run *run,
                                           struct str *text)
{
    struct memory_unit unit = summary_memory_unit(run);
    const char *before = ": ";
    enum assay_status st = ASSAY_OK;

    for (int kind = 0; !st && kind < LEDGER_OUTSIDE; kind++) {
        double bytes = (double)run_ledger_sum(run, (enum ledger_kind)kind);

        if (bytes <= 0)
            continue;
        st = summary_memory_add_part(text, before,
                                     ledger_kind_text((enum ledger_kind)kind),
                                     bytes, unit);
        before = ", ";
    }
    return st ? st : str_printf(text, " %s", unit.name);
}

/* The same for runs that have facts but no ledger. */
static enum assay_status summary_memory_add_facts(const struct run *run,
                                                  struct str *text)
{
    double weights = run_fact_number(run, "memory.weights_bytes");
    double scratch = run_fact_number(run, "memory.scratch_bytes");
    double mapped = run_fact_number(run, "memory.mapped_bytes");
    double rest = (double)run_memory_of(run)->peak_bytes - weights - scratch;
    char bytes[UNITS_MAX];
    enum assay_status st = ASSAY_OK;

    if (rest >= 0)
        st = str_printf(text,
                        ": weights %.0f, activations %.0f, scratch %.0f MiB",
                        weights / 0x1p20, rest / 0x1p20, scratch / 0x1p20);
    if (!st && mapped > 0)
        st = str_printf(text, ", and %s mapped from the weights' file",
                        units_bytes(bytes, mapped));
    return st;
}

/* The same for runs whose program reported its memory by category. */
static enum assay_status summary_memory_add_space(const struct run *run,
                                                  const char *space,
                                                  struct str *text)
{
    struct memory_unit unit = summary_memory_unit(run);
    const char *before = ": ";
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < run_space_count(run); i++) {
        const struct space_row *row = run_space(run, i);

        if (strcmp(row->space, space) != 0 || !row->category[0] ||
            row->at_peak_bytes <= 0)
            continue;
        st = summary_memory_add_part(text, before, row->category,
                                     (double)row->at_peak_bytes, unit);
        before = ", ";
    }
    return st ? st : str_printf(text, " %s", unit.name);
}

/* The space with the largest peak; NULL if none was reported. */
static const char *summary_memory_space(const struct run *run)
{
    const char *space = NULL;
    int64_t most = 0;

    for (size_t i = 0; i < run_space_count(run); i++) {
        const struct space_row *row = run_space(run, i);

        if (!row->category[0] && row->peak_bytes > most) {
            space = row->space;
            most = row->peak_bytes;
        }
    }
    return space;
}

/* "peak 612 MiB at backbone.fpn: weights 159, ..." */
static enum assay_status summary_memory_write_peak(const struct run *run,
                                                   struct str *text)
{
    const struct run_memory *memory = run_memory_of(run);
    const char *space = summary_memory_space(run);
    char bytes[UNITS_MAX];
    enum assay_status st = str_printf(
        text, "peak %s", units_bytes(bytes, (double)memory->peak_bytes));

    if (!st && memory->peak_scope < run_scope_count(run)) {
        st = str_append(text, " at ");
        if (!st)
            st = run_scope_path_below(run, run_model_scope(run),
                                      memory->peak_scope, text);
    }
    if (st)
        return st;
    if (run_ledger_count(run))
        return summary_add_kinds(run, text);
    return space ? summary_memory_add_space(run, space, text)
                 : summary_memory_add_facts(run, text);
}

enum assay_status summary_memory(const struct summary *summary,
                                 struct error *err)
{
    double process = run_fact_number(summary->run, "memory.process_peak_bytes");
    const char *basis = run_fact(summary->run, "memory.basis");
    struct line line = summary_line(summary, "memory");
    struct str text = {0};
    char bytes[UNITS_MAX];
    enum assay_status st;

    if (run_memory_of(summary->run)->peak_bytes == RUN_UNKNOWN)
        return ASSAY_OK;
    st = summary_memory_write_peak(summary->run, &text);
    if (st)
        error_nomem(err, text.n + 1, "a line about memory");
    else
        line_sentence(&line, str_text(&text));
    if (!st && !isnan(process))
        line_printf(&line, "process %s", units_bytes(bytes, process));
    if (!st && basis)
        line_item(&line, basis);
    line_end(&line);
    str_release(&text);
    return st;
}

/* ": weights 195, activations 45, other 6.9 MiB": kinds with a small share of
 * the peak are the others. */
static enum assay_status
summary_memory_add_large(const struct run *run, double small, struct str *text)
{
    double peak = (double)run_memory_of(run)->peak_bytes, other = 0;
    struct memory_unit unit = summary_memory_unit(run);
    const char *before = ": ";
    enum assay_status st = ASSAY_OK;

    for (int kind = 0; !st && kind < LEDGER_OUTSIDE; kind++) {
        double bytes = (double)run_ledger_sum(run, (enum ledger_kind)kind);

        if (bytes < small * peak) {
            other += bytes;
            continue;
        }
        st = summary_memory_add_part(text, before,
                                     ledger_kind_text((enum ledger_kind)kind),
                                     bytes, unit);
        before = ", ";
    }
    if (!st && other >= 0.05 * unit.bytes)
        st = summary_memory_add_part(text, before, "other", other, unit);
    return st ? st : str_printf(text, " %s", unit.name);
}

/* Appends " at PATH" in at most so many columns; nothing if that is too few. */
static enum assay_status summary_memory_add_place(const struct summary *summary,
                                                  size_t columns,
                                                  struct str *text)
{
    enum { AT = 4, LEAST = 8 };
    uint32_t scope = run_memory_of(summary->run)->peak_scope;
    struct sink sink = sink_to_str(text);
    struct str path = {0};
    enum assay_status st = ASSAY_OK;
    size_t wanted;

    if (scope >= run_scope_count(summary->run) || columns < AT + LEAST)
        return ASSAY_OK;
    st = run_scope_path_below(summary->run, run_model_scope(summary->run),
                              scope, &path);
    wanted = text_columns(str_text(&path));
    if (!st) {
        sink_puts(&sink, " at ");
        text_fit(&sink, &summary->options->term, str_text(&path),
                 wanted < columns - AT ? wanted : columns - AT, ALIGN_LEFT);
        st = sink_status(&sink, NULL);
    }
    str_release(&path);
    return st;
}

void summary_memory_brief(const struct summary *summary)
{
    const struct run *run = summary->run;
    double peak = (double)run_memory_of(run)->peak_bytes;
    size_t width = (size_t)summary->options->term.width - LINE_INDENT, taken;
    const char *space = summary_memory_space(run);
    struct line line = summary_line(summary, "memory");
    struct str text = {0}, kinds = {0};
    char bytes[UNITS_MAX];
    enum assay_status st;

    if (run_memory_of(run)->peak_bytes == RUN_UNKNOWN)
        return;
    st = str_printf(&text, "peak %s", units_bytes(bytes, peak));
    for (double small = 0.05; !st && run_ledger_count(run) && small < 0.3;
         small *= 2) {
        str_clear(&kinds);
        st = summary_memory_add_large(run, small, &kinds);
        if (text.n + kinds.n <= width)
            break;
    }
    if (!st && !run_ledger_count(run) && space) {
        st = summary_memory_add_space(run, space, &kinds);
        if (text.n + kinds.n > width)
            str_clear(&kinds);
    }
    taken = text.n + kinds.n;
    if (!st && taken < width)
        st = summary_memory_add_place(summary, width - taken, &text);
    if (!st)
        st = str_append(&text, str_text(&kinds));
    if (st)
        summary->sink->failed_errno = ENOMEM;
    line.is_single = false;
    line_sentence(&line, str_text(&text));
    line_end(&line);
    str_release(&text);
    str_release(&kinds);
}
