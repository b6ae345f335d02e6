/* views/summary_content.c - summary lines about what was in the pictures. */
#include "base/units.h"
#include "run/content.h"
#include "views/line.h"
#include "views/summary_internal.h"

#include <errno.h>
#include <math.h>

/* From the facts of runs that have no series. */
static void summary_content_add_facts(const struct run *run, struct line *line)
{
    static const struct {
        const char *key, *words;
    } items[] = {{"content.proposals", "proposals"},
                 {"content.detections", "detections"},
                 {"content.outputs", "outputs"},
                 {"content.slowest", "slowest photo"}};

    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        const char *value = run_fact(run, items[i].key);

        if (value)
            line_printf(line, "%s %s", items[i].words, value);
    }
}

/* "proposals 1000 (p5 874)", "detections 12 (1..97)" */
static void add_spreads(const struct content *content, struct line *line)
{
    const struct content_spread *proposals = &content->proposals;
    const struct content_spread *detections = &content->detections;

    if (proposals->n && proposals->least == proposals->most)
        line_printf(line, "proposals %.0f", proposals->most);
    else if (proposals->n)
        line_printf(line, "proposals %.0f (p5 %.0f)", proposals->mean,
                    proposals->p5);
    if (detections->n && detections->least == detections->most)
        line_printf(line, "detections %.0f", detections->most);
    else if (detections->n)
        line_printf(line, "detections %.0f (%.0f..%.0f)", detections->mean,
                    detections->least, detections->most);
}

static void add_slowest(const struct run *run, const struct content *content,
                        struct line *line)
{
    const struct content_photo *slowest = &content->photos[content->slowest];
    double detections = slowest->terms[CONTENT_DETECTIONS];
    char time[UNITS_MAX];

    if (content->n_photos < 2)
        return;
    units_time(time, slowest->median_ns);
    if (content->reason[0])
        line_printf(line, "slowest photo %s %s: %s", content_name(run, slowest),
                    time, content->reason);
    else if (!isnan(detections))
        line_printf(line, "slowest photo %s %s, %.0f detections",
                    content_name(run, slowest), time, detections);
    else
        line_printf(line, "slowest photo %s %s", content_name(run, slowest),
                    time);
}

/* "time = 512 ms + 0.04 ms a proposal + 1.3 ms a detection (R2 0.87)" */
static enum assay_status
summary_content_write_fit(const struct content_fit *fit, struct str *text)
{
    char time[UNITS_MAX];
    enum assay_status st =
        str_printf(text, "time = %s", units_time(time, fit->base_ns));

    for (int term = 0; !st && term < N_CONTENT_TERMS; term++) {
        double ns = fit->terms_ns[term];

        if (!isnan(ns))
            st = str_printf(text, " %c %s a %s", ns < 0 ? '-' : '+',
                            units_time(time, fabs(ns)),
                            content_term_one((enum content_term)term));
    }
    return st ? st : str_printf(text, " (R2 %.2f)", fit->r2);
}

static void add_relation(const struct summary *summary,
                         const struct content *content, struct line *line)
{
    struct str text = {0};
    char time[UNITS_MAX];

    if (content->fit.n && !isnan(content->fit.r2)) {
        if (summary_content_write_fit(&content->fit, &text))
            summary->sink->failed_errno = ENOMEM;
        line_item(line, str_text(&text));
    }
    if (content->n_photos > 1 && !isnan(content->p99_ns))
        line_printf(line, "p99 of the set %s",
                    units_time(time, content->p99_ns));
    str_release(&text);
}

enum assay_status summary_content(const struct summary *summary,
                                  struct error *err)
{
    struct line line =
        line_begin(summary->sink, &summary->options->term, "content");
    struct content content;
    enum assay_status st = run_content(summary->run, &content, err);

    if (st) {
        content_release(&content);
        return st;
    }
    if (content.n_photos) {
        add_spreads(&content, &line);
        if (run_fact(summary->run, "content.outputs"))
            line_printf(&line, "outputs %s",
                        run_fact(summary->run, "content.outputs"));
        add_slowest(summary->run, &content, &line);
        add_relation(summary, &content, &line);
    } else {
        summary_content_add_facts(summary->run, &line);
    }
    line_end(&line);
    content_release(&content);
    return ASSAY_OK;
}
