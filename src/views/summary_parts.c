/* views/summary_parts.c - summary lines about the parts of an iteration: the
 * stages of a model's run, the passes of a training. */
#include "base/units.h"
#include "run/device_balance.h"
#include "views/stages.h"
#include "views/summary_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- stages of a model's run -------------------------------------------- */

static void summary_stages_put_sentence(const struct summary *summary,
                                        struct line *line,
                                        const struct str *text,
                                        enum assay_status st)
{
    if (st)
        summary->sink->failed_errno = ENOMEM;
    line_sentence(line, str_text(text));
}

/* "784", "14.0", "0.04": a time without its unit. */
static const char *summary_short(char buffer[UNITS_MAX], double ns,
                                 struct time_unit unit)
{
    double value = ns / unit.ns;

    if (value >= 99.95)
        snprintf(buffer, UNITS_MAX, "%.0f", value);
    else if (value < 0.0005)
        snprintf(buffer, UNITS_MAX, "0");
    else
        units_ms(buffer, value * 1e6); /* shows a millionth of it */
    return buffer;
}

void summary_stages(const struct summary *summary, const struct rows *rows)
{
    struct line line = summary_line(summary, "stages");
    struct time_unit unit = rows_unit(rows);
    enum assay_status st = ASSAY_OK;
    struct str text = {0};
    struct stages stages;

    if (!stages_find(rows, &stages))
        return;
    for (enum stage i = 0; !st && i < N_STAGES; i++) {
        char time[UNITS_MAX];

        if (stages.row[i])
            st =
                str_printf(&text, "%s%s %s", text.n ? " | " : "", stage_name(i),
                           summary_short(time, stages.ns[i], unit));
    }
    if (!st)
        st = str_printf(&text, " %s", unit.name);
    summary_stages_put_sentence(summary, &line, &text, st);
    line_end(&line);
    str_release(&text);
}

/* What drawings took, which are made between the iterations. */
enum assay_status summary_drawing(const struct summary *summary,
                                  struct error *err)
{
    struct line line = summary_line(summary, "drawing");
    struct scope_stats stats;
    char time[UNITS_MAX];
    enum assay_status st;
    uint32_t scope;

    st = run_scope_find(summary->run, RUN_ROOT, "drawing", NULL, &scope, err);
    if (st || scope == RUN_NONE)
        return st;
    st = run_scope_stats(summary->run, scope, RUN_ANY, &stats, err);
    if (st || !stats.calls)
        return st;
    line_printf(&line, "%s per picture, not part of the latency",
                units_time(time, stats.total_ns / (double)stats.calls));
    line_end(&line);
    return ASSAY_OK;
}

/* "recording cost +0.2 %", or that it is below what the pairs of iterations can
 * show. If they disagree by more than that, its interval, or nothing if that
 * may include 0. */
static void summary_stages_add_cost(const struct run *run, struct line *line)
{
    static const double worth_telling = 0.02;
    double pairs = run_fact_number(run, "recording.pairs");
    double cost = run_fact_number(run, "recording.cost_share");
    double low = run_fact_number(run, "recording.cost_low");
    double high = run_fact_number(run, "recording.cost_high");
    char text[UNITS_MAX], most[UNITS_MAX];

    if (isnan(pairs))
        return;
    if (pairs < RUN_FEWEST_PAIRS || isnan(cost))
        line_printf(line, "recording cost unknown (too few iterations)");
    else if (run_is_disturbed(run))
        line_printf(line, "recording cost unknown (other load)");
    else if (low > 0 && high - low < 2 * worth_telling)
        line_printf(line, "recording cost %s", units_percent(text, cost, 1));
    else if (fabs(low) <= worth_telling && fabs(high) <= worth_telling)
        line_printf(line, "recording cost below %s",
                    units_percent(text, fmax(high, 0.001), 0));
    else if (low > worth_telling)
        line_printf(line, "recording cost %s to %s",
                    units_percent(text, low, 1), units_percent(most, high, 1));
    else
        line_printf(line, "recording cost unknown (too noisy)");
}

void summary_balance(const struct summary *summary, const struct rows *rows)
{
    struct line line = summary_line(summary, "balance");
    char ops[UNITS_MAX], gaps[UNITS_MAX], rest[UNITS_MAX], all[UNITS_MAX];
    struct time_unit unit = rows_unit(rows);
    double scale = 1e6 / unit.ns; /* units_ms() shows a millionth */
    struct balance balance;
    struct str text = {0};
    enum assay_status st;

    if (!balance_find(rows, &balance))
        return;
    st = str_printf(&text, "ops %s + gaps %s",
                    units_ms(ops, balance.ops_ns * scale),
                    units_ms(gaps, balance.gaps_ns * scale));
    if (!st && balance.results_ns > 0)
        st = str_printf(&text, " + results %s",
                        units_ms(ops, balance.results_ns * scale));
    if (!st)
        st = str_printf(&text, " + residual %s = model %s %s",
                        units_ms(rest, balance.residual_ns * scale),
                        units_ms(all, balance.model_ns * scale), unit.name);
    summary_stages_put_sentence(summary, &line, &text, st);
    summary_stages_add_cost(summary->run, &line);
    line_end(&line);
    str_release(&text);
}

/* "launch 1.20, photograph 0.90 ms": what the device waited for, from a
 * hundredth of its idle time on. */
static enum assay_status summary_idle_text(struct str *text,
                                           const struct device_balance *balance)
{
    const char *before = "idle for: ";
    enum assay_status st = ASSAY_OK;
    char ms[UNITS_MAX];

    for (enum idle_reason i = 0; !st && i < N_IDLE_REASONS; i++) {
        if (balance->reasons_ns[i] < balance->idle_ns / 100)
            continue;
        st = str_printf(text, "%s%s %s", before, idle_reason_text(i),
                        units_ms(ms, balance->reasons_ns[i]));
        before = ", ";
    }
    return st ? st : str_append(text, " ms");
}

/* What it takes as one launch, what it used, and who else was there. */
static void summary_device_facts(const struct summary *summary,
                                 struct line *line)
{
    const struct run *run = summary->run;
    const char *one = run_fact(run, "device.one_launch_ms");
    const char *each = run_fact(run, "device.one_by_one_ms");
    const char *joules = run_fact(run, "device.joules_per_image");
    const char *others = run_fact(run, "device.others");
    const char *bytes = run_fact(run, "device.others_bytes");
    const char *busy = run_fact(run, "device.others_busy");
    const char *throttling = run_fact(run, "device.throttling");
    const char *unpinned = run_fact(run, "device.unpinned");

    if (one && each)
        line_printf(line, "model as one launch %s ms, one by one %s ms", one,
                    each);
    if (joules)
        line_printf(line, "%s J per image", joules);
    if (others)
        line_printf(line, "%s other process%s on it, with %.0f MiB", others,
                    strcmp(others, "1") == 0 ? "" : "es",
                    bytes ? strtod(bytes, NULL) / (1 << 20) : 0.0);
    if (others && busy)
        line_printf(line, "busy with others %.0f %%", 100 * strtod(busy, NULL));
    if (throttling)
        line_printf(line, "slowed down: %s", throttling);
    if (unpinned)
        line_printf(line, "copies are slower, without pinned memory: %s",
                    unpinned);
}

enum assay_status summary_device(const struct summary *summary,
                                 struct error *err)
{
    struct line line = summary_line(summary, "device");
    const char *timed_by = run_fact(summary->run, "device.timed_by");
    char kernels[UNITS_MAX], copies[UNITS_MAX], idle[UNITS_MAX], all[UNITS_MAX];
    struct str text = {0}, reasons = {0};
    struct device_balance balance;
    bool is_known;
    enum assay_status st =
        run_device_balance(summary->run, &balance, &is_known, err);

    if (st || !is_known)
        return st;
    st = str_printf(&text,
                    "kernels %s + copies %s + idle %s = %s ms in iteration "
                    "%" PRIu32,
                    units_ms(kernels, balance.kernels_ns),
                    units_ms(copies, balance.copies_ns),
                    units_ms(idle, balance.idle_ns),
                    units_ms(all, balance.span_ns), balance.iteration);
    if (!st)
        st = summary_idle_text(&reasons, &balance);
    line.is_single = false; /* what it waited for belongs to the sum */
    summary_stages_put_sentence(summary, &line, &text, st);
    line.is_single = false; /* why it waits is worth a line */
    if (balance.idle_ns > 0)
        line_item(&line, str_text(&reasons));
    line.is_single = summary->is_brief;
    if (timed_by)
        line_printf(&line, "timed by %s", timed_by);
    summary_device_facts(summary, &line);
    line_end(&line);
    str_release(&text);
    str_release(&reasons);
    return ASSAY_OK;
}

/* ---- a training --------------------------------------------------------- */

/* Decimals that give three digits of the whole. */
static int summary_training_decimals_for(double ms)
{
    return ms >= 99.5 ? 0 : ms >= 9.95 ? 1 : 2;
}

/* The parts in units of the last shown digit. Returns what is left of the
 * whole; if rounding made the parts too large, the largest is reduced. */
static double round_parts(const struct training *training, double unit,
                          double parts[N_PARTS])
{
    double left = round(training->whole_ns / 1e6 * unit);
    enum part largest = 0;

    for (enum part i = 0; i < N_PARTS; i++) {
        parts[i] = round(training->ns[i] / 1e6 * unit);
        left -= parts[i];
        if (parts[i] > parts[largest])
            largest = i;
    }
    if (left < 0)
        parts[largest] += left;
    return left < 0 ? 0 : left;
}

/* "212 ms = data 31 (stall 14 %) + forward 58 + ... + other 4". All are rounded
 * to the same digit, so that the sum is exact. */
void summary_step(const struct summary *summary,
                  const struct training *training)
{
    struct line line = summary_line(summary, "step");
    int decimals = summary_training_decimals_for(training->whole_ns / 1e6);
    double unit = pow(10, decimals), parts[N_PARTS];
    double other = round_parts(training, unit, parts);
    const char *sign = "=";

    line.is_single = false; /* without all parts it would not add up */
    line.style = STYLE_BOLD;
    line_printf(&line, "%.*f ms", decimals,
                round(training->whole_ns / 1e6 * unit) / unit);
    line.style = STYLE_NONE;
    for (enum part i = 0; i < N_PARTS; i++) {
        char stall[UNITS_MAX + 16] = "", share[UNITS_MAX];

        /* The wait for data is shown even if it is 0. */
        if (!training->row[i] || (parts[i] == 0 && i != PART_DATA))
            continue;
        if (i == PART_DATA)
            snprintf(
                stall, sizeof stall, " (stall %s)",
                units_percent(share, training->ns[i] / training->whole_ns, 0));
        line_word(&line, "%s %s %.*f%s", sign, part_name(i), decimals,
                  parts[i] / unit, stall);
        sign = "+";
    }
    line_word(&line, "%s other %.*f", sign, decimals, other / unit);
    line_end(&line);
}

static double summary_training_first_of(const struct series *series)
{
    return series && series->n_points ? series->points[0].value : NAN;
}

static double summary_last_of(const struct series *series)
{
    return series && series->n_points
               ? series->points[series->n_points - 1].value
               : NAN;
}

/* "2.31 to 0.874 = classifier 0.4 + ...": of the first and the last step. */
void summary_loss(const struct summary *summary)
{
    static const char prefix[] = "train.loss_";
    const struct series *loss = run_series_find(summary->run, "train.loss");
    struct line line = summary_line(summary, "loss");
    char from[UNITS_MAX], to[UNITS_MAX];
    const char *sign = "=";

    if (!loss || !loss->n_points)
        return;
    line_printf(&line, "%s to %s",
                units_number(from, summary_training_first_of(loss)),
                units_number(to, summary_last_of(loss)));
    for (uint32_t i = 0;
         !summary->is_brief && i < run_series_count(summary->run); i++) {
        const struct series *part = run_series(summary->run, i);

        if (strncmp(part->name, prefix, sizeof prefix - 1) != 0)
            continue;
        line_word(&line, "%s %s %s", sign, part->name + sizeof prefix - 1,
                  units_number(to, summary_last_of(part)));
        sign = "+";
    }
    line_end(&line);
}

/* "9.4 images/s", over the measured steps. */
void summary_rate(const struct summary *summary,
                  const struct training *training)
{
    double images = run_fact_number(summary->run, "training.batch_images");
    struct line line = summary_line(summary, "rate");
    char text[UNITS_MAX];

    if (isnan(images) || !(training->whole_ns > 0))
        return;
    line_printf(&line, "%s images/s",
                units_number(text, images / training->whole_ns * 1e9));
    line_printf(&line, "%.3g images per step", images);
    line_end(&line);
}

/* Whether the workers keep up, and how many would. */
void summary_loader(const struct summary *summary,
                    const struct training *training)
{
    const struct run *run = summary->run;
    double workers = run_fact_number(run, "loader.workers");
    double wanted = run_fact_number(run, "loader.wanted_workers");
    double stall = training->ns[PART_DATA] / training->whole_ns;
    double image_ns = run_fact_number(run, "loader.image_ns");
    double skipped = run_fact_number(run, "loader.skipped");
    struct line line = summary_line(summary, "loader");
    char text[UNITS_MAX];

    if (isnan(workers))
        return;
    line_printf(&line, "%.0f %s", workers, workers == 1 ? "worker" : "workers");
    if (image_ns > 0)
        line_printf(&line, "%s per image", units_time(text, image_ns));
    if (stall < 0.01)
        line_item(&line, "keeps up");
    else if (wanted > workers)
        line_printf(&line,
                    "the step waits %s of the time; num_workers = %.0f "
                    "would remove that",
                    units_percent(text, stall, 0), wanted);
    else
        line_printf(&line, "the step waits %s of the time",
                    units_percent(text, stall, 0));
    if (skipped > 0)
        line_printf(&line, "%.0f %s skipped", skipped,
                    skipped == 1 ? "image" : "images");
    line_end(&line);
}

static double summary_training_mean_of(const struct series *series)
{
    double sum = 0;

    for (size_t i = 0; i < series->n_points; i++)
        sum += series->points[i].value;
    return sum / (double)series->n_points;
}

/* What recomputed modules did not keep, and what that cost. */
void summary_recomputed(const struct summary *summary,
                        const struct training *training)
{
    const struct run *run = summary->run;
    const char *modules = run_fact(run, "training.recompute");
    const struct series *spared = run_series_find(run, "recompute.spared");
    const struct series *time = run_series_find(run, "recompute.time");
    struct line line = summary_line(summary, "again");
    char bytes[UNITS_MAX], ms[UNITS_MAX], share[UNITS_MAX];
    double ns;

    if (!modules || !spared || !spared->n_points || !time || !time->n_points)
        return;
    ns = summary_training_mean_of(time) * 1e6;
    line_item(&line, modules);
    line_printf(&line, "%s not kept",
                units_bytes(bytes, summary_training_mean_of(spared)));
    line_printf(&line, "recomputed in %s (%s of a step)", units_time(ms, ns),
                units_percent(share, ns / training->whole_ns, 0));
    line_end(&line);
}
