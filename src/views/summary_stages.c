/* views/summary_stages.c - summary lines about the stages of a model's run. */
#include "base/units.h"
#include "views/line.h"
#include "views/stages.h"
#include "views/summary_internal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

static void summary_stages_put_sentence(const struct summary *summary,
                                        struct line *line,
                                        const struct str *text,
                                        enum assay_status st)
{
    if (st)
        summary->sink->failed_errno = ENOMEM;
    line_sentence(line, str_text(text));
}

/* "784", "14.0", "0.04": milliseconds without a unit. */
static const char *short_ms(char buffer[UNITS_MAX], double ns)
{
    if (ns >= 99.95e6)
        snprintf(buffer, UNITS_MAX, "%.0f", ns / 1e6);
    else
        units_ms(buffer, ns);
    return buffer;
}

void summary_stages(const struct summary *summary, const struct rows *rows)
{
    struct line line =
        line_begin(summary->sink, &summary->options->term, "stages");
    enum assay_status st = ASSAY_OK;
    struct str text = {0};
    struct stages stages;

    if (!stages_find(rows, &stages))
        return;
    for (enum stage i = 0; !st && i < N_STAGES; i++) {
        char ms[UNITS_MAX];

        if (stages.row[i])
            st = str_printf(&text, "%s%s %s", text.n ? " | " : "",
                            stage_name(i), short_ms(ms, stages.ns[i]));
    }
    if (!st)
        st = str_append(&text, " ms");
    summary_stages_put_sentence(summary, &line, &text, st);
    line_end(&line);
    str_release(&text);
}

/* "recording cost +0.2 %"; where the pairs of iterations that tell it disagree
 * about its sign, or other programs took the processors, that it cannot be
 * told from noise. */
static void summary_stages_add_cost(const struct run *run, struct line *line)
{
    double cost = run_fact_number(run, "recording.cost_share");
    double low = run_fact_number(run, "recording.cost_low");
    double high = run_fact_number(run, "recording.cost_high");
    char share[UNITS_MAX], from[UNITS_MAX], to[UNITS_MAX];

    if (isnan(cost))
        return;
    units_percent(share, cost, 1);
    if (run_is_disturbed(run))
        line_printf(line, "recording cost: other load hides it [%s, %s]",
                    units_percent(from, low, 1), units_percent(to, high, 1));
    else if (low <= 0 && high >= 0)
        line_printf(line, "recording cost %s, within noise [%s, %s]", share,
                    units_percent(from, low, 1), units_percent(to, high, 1));
    else
        line_printf(line, "recording cost %s", share);
}

void summary_balance(const struct summary *summary, const struct rows *rows)
{
    struct line line =
        line_begin(summary->sink, &summary->options->term, "balance");
    char ops[UNITS_MAX], gaps[UNITS_MAX], rest[UNITS_MAX], all[UNITS_MAX];
    struct balance balance;
    struct str text = {0};
    enum assay_status st;

    if (!balance_find(rows, &balance))
        return;
    st = str_printf(
        &text, "ops %s + gaps %s + residual %s = model %s ms",
        units_ms(ops, balance.ops_ns), units_ms(gaps, balance.gaps_ns),
        units_ms(rest, balance.residual_ns), units_ms(all, balance.model_ns));
    summary_stages_put_sentence(summary, &line, &text, st);
    summary_stages_add_cost(summary->run, &line);
    line_end(&line);
    str_release(&text);
}
