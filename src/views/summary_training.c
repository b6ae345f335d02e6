/* views/summary_training.c - summary lines about a training. */
#include "base/units.h"
#include "views/line.h"
#include "views/summary_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct line summary_training_begin(const struct summary *summary,
                                          const char *label)
{
    return line_begin(summary->sink, &summary->options->term, label);
}

/* Digits behind the point that show three of the whole. */
static int summary_training_decimals_for(double ms)
{
    return ms >= 99.5 ? 0 : ms >= 9.95 ? 1 : 2;
}

/* The parts in units of the last digit that is shown, and what is left of the
 * whole. Where rounding made them too many, the largest gives way. */
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
 * alike, so that a reader's sum comes out even. */
void summary_step(const struct summary *summary,
                  const struct training *training)
{
    struct line line = summary_training_begin(summary, "step");
    int decimals = summary_training_decimals_for(training->whole_ns / 1e6);
    double unit = pow(10, decimals), parts[N_PARTS];
    double other = round_parts(training, unit, parts);
    const char *sign = "=";

    line.style = STYLE_BOLD;
    line_printf(&line, "%.*f ms", decimals,
                round(training->whole_ns / 1e6 * unit) / unit);
    line.style = STYLE_NONE;
    for (enum part i = 0; i < N_PARTS; i++) {
        char stall[UNITS_MAX + 16] = "", share[UNITS_MAX];

        /* The wait for data is worth a word even where there was none. */
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

static double last_of(const struct series *series)
{
    return series && series->n_points
               ? series->points[series->n_points - 1].value
               : NAN;
}

/* "2.31 to 0.874 = classifier 0.4 + ...": of the first step and the last. */
void summary_loss(const struct summary *summary)
{
    static const char prefix[] = "train.loss_";
    const struct series *loss = run_series_find(summary->run, "train.loss");
    struct line line = summary_training_begin(summary, "loss");
    char from[UNITS_MAX], to[UNITS_MAX];
    const char *sign = "=";

    if (!loss || !loss->n_points)
        return;
    line_printf(&line, "%s to %s",
                units_number(from, summary_training_first_of(loss)),
                units_number(to, last_of(loss)));
    for (uint32_t i = 0; i < run_series_count(summary->run); i++) {
        const struct series *part = run_series(summary->run, i);

        if (strncmp(part->name, prefix, sizeof prefix - 1) != 0)
            continue;
        line_word(&line, "%s %s %s", sign, part->name + sizeof prefix - 1,
                  units_number(to, last_of(part)));
        sign = "+";
    }
    line_end(&line);
}

/* "9.4 images/s": of the steps that were measured. */
void summary_rate(const struct summary *summary,
                  const struct training *training)
{
    double images = run_fact_number(summary->run, "training.batch_images");
    struct line line = summary_training_begin(summary, "rate");
    char text[UNITS_MAX];

    if (isnan(images) || !(training->whole_ns > 0))
        return;
    line_printf(&line, "%s images/s",
                units_number(text, images / training->whole_ns * 1e9));
    line_printf(&line, "%.3g images a step", images);
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
    struct line line = summary_training_begin(summary, "loader");
    char text[UNITS_MAX];

    if (isnan(workers))
        return;
    line_printf(&line, "%.0f %s", workers, workers == 1 ? "worker" : "workers");
    if (image_ns > 0)
        line_printf(&line, "%s an image", units_time(text, image_ns));
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

/* What modules that are computed again did not keep, and what that cost. */
void summary_recomputed(const struct summary *summary,
                        const struct training *training)
{
    const struct run *run = summary->run;
    const char *modules = run_fact(run, "training.recompute");
    const struct series *spared = run_series_find(run, "recompute.spared");
    const struct series *time = run_series_find(run, "recompute.time");
    struct line line = summary_training_begin(summary, "again");
    char bytes[UNITS_MAX], ms[UNITS_MAX], share[UNITS_MAX];
    double ns;

    if (!modules || !spared || !spared->n_points || !time || !time->n_points)
        return;
    ns = summary_training_mean_of(time) * 1e6;
    line_item(&line, modules);
    line_printf(&line, "%s not kept",
                units_bytes(bytes, summary_training_mean_of(spared)));
    line_printf(&line, "made again in %s (%s of a step)", units_time(ms, ns),
                units_percent(share, ns / training->whole_ns, 0));
    line_end(&line);
}
