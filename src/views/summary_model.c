/* views/summary_model.c - summary lines about a model's run: what it is, what
 * went in, what was in the photographs. */
#include "base/units.h"
#include "run/content.h"
#include "views/model_title.h"
#include "views/summary_internal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the model and its input -------------------------------------------- */

/* Parameters are shown with four digits: variants of a model differ by less
 * than three digits show. */
static void summary_model_add_parameters(struct line *line,
                                         const struct run *run)
{
    double n = run_fact_number(run, "model.parameters");
    double buffers = run_fact_number(run, "model.buffers");
    char text[UNITS_MAX], more[UNITS_MAX + 16] = "";

    if (isnan(n))
        return;
    if (buffers > 0 && !line->is_single)
        snprintf(more, sizeof more, " + %s in buffers",
                 units_count(text, buffers));
    if (n >= 1e6)
        line_printf(line, "%.2f M params%s", n / 1e6, more);
    else
        line_printf(line, "%s params%s", units_count(text, n), more);
}

static void summary_add_size(struct line *line, const struct run *run)
{
    const char *precision = run_fact(run, "model.precision");
    double bytes = run_fact_number(run, "model.parameter_bytes");
    char text[UNITS_MAX];

    if (bytes >= 0x1p20)
        snprintf(text, sizeof text, "%.1f MiB", bytes / 0x1p20);
    else
        units_bytes(text, bytes);
    if (!isnan(bytes))
        line_printf(line, "%s%s%s", text, precision ? " " : "",
                    precision ? precision : "");
    else if (precision)
        line_item(line, precision);
}

/* "random weights", or the name of their file. */
static void summary_add_weights(struct line *line, const char *weights)
{
    const char *slash = strrchr(weights, '/');

    if (strncmp(weights, "random", 6) == 0)
        line_item(line, "random weights");
    else
        line_printf(line, "weights %s", slash ? slash + 1 : weights);
}

bool summary_model(const struct summary *summary)
{
    const struct run *run = summary->run;
    const char *name = model_run_title(run);
    const char *weights = run_fact(run, "model.weights");
    bool is_file = model_file_title(weights) != NULL;
    struct line line = summary_line(summary, "model");

    if (!name)
        return false;
    line.style = STYLE_BOLD;
    line_item(&line, name);
    line.style = STYLE_NONE;
    summary_model_add_parameters(&line, run);
    if (summary->is_brief && weights && !is_file)
        summary_add_weights(&line, weights);
    summary_add_size(&line, run);
    if (!summary->is_brief && weights && !is_file)
        line_printf(&line, "weights %s", weights);
    line_end(&line);
    return true;
}

/* "24 photographs, resized to 800x1066 (shorter side 800)" */
void summary_input(const struct summary *summary)
{
    const char *n = run_fact(summary->run, "input.photographs");
    const char *resized = run_fact(summary->run, "input.resized");
    const char *note = run_fact(summary->run, "input.note");
    const char *skipped = run_fact(summary->run, "input.skipped");
    struct line line = summary_line(summary, "input");
    struct str text = {0};
    enum assay_status st = ASSAY_OK;

    if (n)
        st = str_printf(&text, "%s %s", n,
                        strcmp(n, "1") == 0 ? "photograph" : "photographs");
    if (!st && resized)
        st = str_printf(&text, "%sresized to %s", text.n ? ", " : "", resized);
    if (!st && note)
        st = str_printf(&text, text.n ? " (%s)" : "%s", note);
    if (!st && skipped)
        st = str_printf(&text, "%s%s skipped", text.n ? ", " : "", skipped);
    if (st)
        summary->sink->failed_errno = ENOMEM;
    line_sentence(&line, str_text(&text));
    line_end(&line);
    str_release(&text);
}

/* The interval of the latency is over repeats, this one over photographs. */
void summary_photos(const struct summary *summary)
{
    const char *spread = run_fact(summary->run, "photos.spread");
    struct line line = summary_line(summary, "photos");

    if (spread)
        line_sentence(&line, spread);
    line_end(&line);
}

/* ---- what was in the photographs ---------------------------------------- */

/* For runs that have facts but no series. */
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
static void summary_add_spreads(const struct content *content,
                                struct line *line)
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

static void summary_add_slowest(const struct run *run,
                                const struct content *content,
                                struct line *line)
{
    const struct content_photo *slowest = &content->photos[content->slowest];
    double detections = slowest->terms[CONTENT_DETECTIONS];
    char time[UNITS_MAX], more[160] = "";
    struct str text = {0};

    /* An iteration of a batch is of several photographs. */
    if (content->n_photos < 2 || run_fact(run, "settings.batch"))
        return;
    if (content->reason[0])
        snprintf(more, sizeof more, ": %s", content->reason);
    else if (!isnan(detections))
        snprintf(more, sizeof more, ", %.0f detections", detections);
    if (!str_printf(&text, "slowest photo %s %s%s", content_name(run, slowest),
                    units_time(time, slowest->median_ns), more))
        line_sentence(line, str_text(&text));
    else
        line->sink->failed_errno = ENOMEM;
    str_release(&text);
}

/* "time = 512 ms + 0.04 ms per proposal + 1.3 ms per detection (R2 0.87)" */
static enum assay_status
summary_content_write_fit(const struct content_fit *fit, struct str *text)
{
    char time[UNITS_MAX];
    enum assay_status st =
        str_printf(text, "time = %s", units_time(time, fit->base_ns));

    for (int term = 0; !st && term < N_CONTENT_TERMS; term++) {
        double ns = fit->terms_ns[term];

        if (!isnan(ns))
            st = str_printf(text, " %c %s per %s", ns < 0 ? '-' : '+',
                            units_time(time, fabs(ns)),
                            content_term_one((enum content_term)term));
    }
    return st ? st : str_printf(text, " (R2 %.2f)", fit->r2);
}

static void summary_add_relation(const struct summary *summary,
                                 const struct content *content,
                                 struct line *line)
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
    struct line line = summary_line(summary, "content");
    struct content content;
    enum assay_status st = run_content(summary->run, &content, err);

    if (st) {
        content_release(&content);
        return st;
    }
    if (content.n_photos) {
        summary_add_spreads(&content, &line);
        if (run_fact(summary->run, "content.outputs"))
            line_printf(&line, "outputs %s",
                        run_fact(summary->run, "content.outputs"));
        summary_add_slowest(summary->run, &content, &line);
        summary_add_relation(summary, &content, &line);
    } else {
        summary_content_add_facts(summary->run, &line);
    }
    line_end(&line);
    content_release(&content);
    return ASSAY_OK;
}
