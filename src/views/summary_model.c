/* views/summary_model.c - summary lines of a model's run: what it is, what went
 * in, what it found. */
#include "base/units.h"
#include "views/line.h"
#include "views/summary_internal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static struct line summary_model_begin(const struct summary *summary,
                                       const char *label)
{
    return line_begin(summary->sink, &summary->options->term, label);
}

/* Parameters are told to four digits: variants of a model differ by less than
 * three show. */
static void summary_model_add_parameters(struct line *line,
                                         const struct run *run)
{
    double n = run_fact_number(run, "model.parameters");
    char text[UNITS_MAX];

    if (isnan(n))
        return;
    if (n >= 1e6)
        line_printf(line, "%.2f M params", n / 1e6);
    else
        line_printf(line, "%s params", units_count(text, n));
}

static void add_size(struct line *line, const struct run *run)
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

bool summary_model(const struct summary *summary)
{
    const struct run *run = summary->run;
    const char *name = run_fact(run, "model.name");
    const char *weights = run_fact(run, "model.weights");
    struct line line = summary_model_begin(summary, "model");

    if (!name)
        return false;
    line.style = STYLE_BOLD;
    line_item(&line, name);
    line.style = STYLE_NONE;
    summary_model_add_parameters(&line, run);
    add_size(&line, run);
    if (weights)
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
    struct line line = summary_model_begin(summary, "input");
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

/* The interval of the latency is over repeats; this is over photographs. */
void summary_photos(const struct summary *summary)
{
    const char *spread = run_fact(summary->run, "photos.spread");
    struct line line = summary_model_begin(summary, "photos");

    if (spread)
        line_sentence(&line, spread);
    line_end(&line);
}
