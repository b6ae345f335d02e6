/* views/view_brief.c - the screen that a run ends with: a line for each
 * subject, and as many modules as fit between them. */
#include "base/units.h"
#include "findings/findings.h"
#include "views/class_rows_internal.h"
#include "views/stages.h"
#include "views/summary_internal.h"
#include "views/tree_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    BRIEF_LINES = 23,  /* of 24: the prompt needs one */
    LEAST_ROWS = 2,    /* of modules, whatever else there is to say */
    FINDING_LINES = 3, /* for all findings together */
    TREE_LINES = 3     /* an empty line, the head, what is hidden */
};

/* What is written before its place is known. */
struct brief_part {
    struct str text;
    struct sink sink;
};

static size_t brief_lines(const struct str *text)
{
    size_t n = 0;

    for (size_t i = 0; i < text->n; i++)
        n += text->text[i] == '\n';
    return n;
}

/* ---- the head ----------------------------------------------------------- */

/* "warm-up 3, measured 40", or "measured 40 (2 disturbed left out)": without
 * those, the mean and the percentiles would seem to contradict each other. */
static void brief_add_measured(const struct run *run, struct line *line)
{
    size_t n_disturbed = run_counted(run).n_disturbed;

    if (n_disturbed)
        line_printf(line, "measured %" PRIu64 " (%zu disturbed left out)",
                    run_iteration_count(run), n_disturbed);
    else
        line_printf(line, "warm-up %" PRIu64 ", measured %" PRIu64,
                    run_health_of(run)->warm_up, run_iteration_count(run));
}

/* "5 photographs   resized to 640x640   warm-up 3, measured 40" */
static void brief_input(const struct summary *summary)
{
    const struct run *run = summary->run;
    const char *n = run_fact(run, "input.photographs");
    const char *resized = run_fact(run, "input.resized");
    const char *note = run_fact(run, "input.note");
    const char *batch = run_fact(run, "settings.batch");
    const char *mode = run_fact(run, "settings.mode");
    struct line line =
        summary_line(summary, n || resized || note ? "input" : "runs");

    if (n)
        line_printf(&line, "%s %s", n,
                    strcmp(n, "1") == 0 ? "photograph" : "photographs");
    if (resized)
        line_printf(&line, "resized to %s", resized);
    else if (note)
        line_item(&line, note);
    if (mode && strcmp(mode, "plain") == 0)
        line_item(&line, "plain");
    if (batch)
        line_printf(&line, "batch %s", batch);
    if (run_has_iterations(run))
        brief_add_measured(run, &line);
    line_end(&line);
}

/* Only if it is not steady; a finding tells of a machine that was busy. */
static enum assay_status brief_steadiness(const struct summary *summary,
                                          struct error *err)
{
    struct verdict verdict;
    enum assay_status st = ASSAY_OK;

    if (run_has_iterations(summary->run) && !run_is_disturbed(summary->run)) {
        st = run_verdict(summary->run, &verdict, err);
        if (!st && verdict.steadiness != STEADY)
            st = summary_steadiness(summary, err);
    }
    return st;
}

static enum assay_status brief_write_head(const struct summary *summary,
                                          const struct rows *rows,
                                          struct error *err)
{
    struct training training;
    enum assay_status st;

    if (!summary_model(summary))
        summary_run(summary);
    summary_machine(summary, rows);
    summary_import(summary);
    brief_input(summary);
    st = summary_latency(summary, err);
    if (st)
        return st;
    if (training_find(rows, &training)) {
        summary_step(summary, &training);
        summary_loader(summary, &training);
        summary_recomputed(summary, &training);
        summary_loss(summary);
    } else {
        summary_stages(summary, rows);
        summary_balance(summary, rows);
    }
    st = summary_device(summary, err);
    summary_stream(summary);
    if (!st)
        st = brief_steadiness(summary, err);
    summary_memory_brief(summary);
    return st;
}

/* ---- what was found ----------------------------------------------------- */

/* "dog.jpg: dog 0.93, bicycle 0.90 and 2 more": as many as fit. */
static enum assay_status brief_add_photo(const struct found_photo *photo,
                                         size_t columns, struct str *text)
{
    enum { MORE = 14 }; /* " and 12 more" */
    enum assay_status st = str_printf(text, "%s:", photo->photograph);
    struct str one = {0};
    size_t i = 0;

    for (; !st && i < photo->n; i++) {
        size_t last = i + 1 == photo->n ? 0 : MORE;

        str_clear(&one);
        st = str_printf(&one, "%s %s %.2f", i ? "," : "",
                        photo->objects[i].name, photo->objects[i].score);
        if (st || (i && text_columns(str_text(text)) +
                                text_columns(str_text(&one)) + last >
                            columns))
            break;
        st = str_append(text, str_text(&one));
    }
    if (!st && i < photo->n)
        st = str_printf(text, " and %zu more", photo->n - i);
    str_release(&one);
    return st;
}

/* As many photographs as fit on one line; `assay run --full` lists all. */
static void brief_found(const struct summary *summary)
{
    size_t width = (size_t)summary->options->term.width - LINE_INDENT;
    struct line line = summary_line(summary, "found");
    struct str text = {0};

    for (size_t i = 0; i < run_found_count(summary->run); i++) {
        const struct found_photo *photo = run_found(summary->run, i);

        str_clear(&text);
        if (photo->n == 0)
            continue;
        if (brief_add_photo(photo, width, &text))
            summary->sink->failed_errno = ENOMEM;
        line_item(&line, str_text(&text));
    }
    line_end(&line);
    str_release(&text);
}

/* ---- findings ----------------------------------------------------------- */

static void brief_put_finding(const struct summary *summary,
                              const struct finding *finding, size_t number)
{
    struct line line = line_begin(summary->sink, &summary->options->term,
                                  number == 1 ? "findings" : "");
    char text[FINDING_TEXT + 2];

    line.indent = LINE_INDENT + 2;
    snprintf(text, sizeof text, "%s%s", finding->text,
             finding->help[0] ? ";" : "");
    line_printf(&line, "%zu", number);
    line_words(&line, text);
    line_words(&line, finding->help);
    line_end(&line);
}

/* The first, and others that fit into FINDING_LINES. *n_left were left out. */
static enum assay_status brief_findings(const struct summary *summary,
                                        struct brief_part *part, size_t *n_left,
                                        struct error *err)
{
    struct brief_part one = {{0}, {0}};
    struct summary into = *summary;
    struct finding_list list;
    size_t n = 0, lines = 0;
    enum assay_status st = findings_find(summary->run, &list, err);

    one.sink = sink_to_str(&one.text);
    into.sink = &one.sink;
    for (; !st && n < list.n; n++) {
        str_clear(&one.text);
        brief_put_finding(&into, &list.items[n], n + 1);
        st = sink_status(&one.sink, err);
        lines += brief_lines(&one.text);
        if (st || (n > 0 && lines > FINDING_LINES))
            break;
        sink_puts(&part->sink, str_text(&one.text));
    }
    *n_left = st ? 0 : list.n - n;
    str_release(&one.text);
    return st ? st : sink_status(&part->sink, err);
}

/* ---- the modules -------------------------------------------------------- */

/* "hidden   64 more modules, 2 more findings (--full, --tree)" */
static void brief_put_hidden(const struct summary *summary,
                             const struct rows *shown, size_t n_rows,
                             const char *what, size_t n_findings)
{
    struct line line = summary_line(summary, "hidden");
    char rows[64] = "", findings[64] = "";

    line.style = STYLE_DIM;
    if (n_rows)
        snprintf(rows, sizeof rows, "%zu more %s", n_rows, what);
    if (n_findings)
        snprintf(findings, sizeof findings, "%s%zu more finding%s",
                 n_rows ? ", " : "", n_findings, n_findings == 1 ? "" : "s");
    if (n_rows || n_findings)
        line_printf(&line, "%s%s (--full, --tree)", rows, findings);
    if (shown->adds_up)
        line_item(&line, "threads add up: shares may exceed 100 %");
    line_end(&line);
}

static enum assay_status brief_write_rows(const struct summary *summary,
                                          const struct rows *rows,
                                          size_t max_rows, size_t n_findings,
                                          struct error *err)
{
    size_t top = stage_row(rows, "model");
    struct class_rows classes = {0};
    struct tree_choice choice = {0};
    size_t n_hidden;
    enum assay_status st =
        tree_choose_costly(rows, top, summary->options, max_rows, &choice, err);

    if (!st && top && !rows->has_passes && tree_is_flat(rows, top, &choice))
        st = class_rows_build(rows, top, &classes, err);
    if (st)
        goto done;
    if (classes.n > 1) {
        class_rows_write(rows, &classes, max_rows, summary->options,
                         summary->sink);
        n_hidden = classes.n > max_rows ? classes.n - max_rows : 0;
        brief_put_hidden(summary, rows, n_hidden,
                         n_hidden == 1 ? "class" : "classes", n_findings);
    } else {
        tree_write_rows(summary->run, rows, top, &choice, summary->options,
                        summary->sink);
        brief_put_hidden(summary, rows, choice.n_small,
                         choice.n_small == 1 ? "module" : "modules",
                         n_findings);
    }
done:
    class_rows_release(&classes);
    tree_release(&choice);
    return st;
}

/* ---- the screen --------------------------------------------------------- */

enum { PART_HEAD, PART_CONTENT, PART_FINDINGS, PART_END, N_BRIEF_PARTS };

static enum assay_status brief_write_parts(const struct summary *summary,
                                           const struct rows *rows,
                                           struct brief_part *parts,
                                           size_t *n_findings,
                                           struct error *err)
{
    struct summary into = *summary;
    enum assay_status st;

    into.sink = &parts[PART_HEAD].sink;
    st = brief_write_head(&into, rows, err);
    if (st)
        return st;
    into.sink = &parts[PART_CONTENT].sink;
    st = summary_content(&into, err);
    if (st)
        return st;
    brief_found(&into);
    st = brief_findings(summary, &parts[PART_FINDINGS], n_findings, err);
    into.sink = &parts[PART_END].sink;
    summary_health(&into);
    summary_wrote(&into);
    summary_next(&into);
    for (size_t i = 0; !st && i < N_BRIEF_PARTS; i++)
        st = sink_status(&parts[i].sink, err);
    return st;
}

enum assay_status view_brief(const struct run *run,
                             const struct view_options *options,
                             struct sink *sink, struct error *err)
{
    struct summary summary = {
        .run = run, .options = options, .sink = sink, .is_brief = true};
    struct brief_part parts[N_BRIEF_PARTS] = {0};
    struct rows stages = {0}, rows = {0};
    size_t taken = TREE_LINES, n_findings = 0;
    enum assay_status st = rows_build(run, &stages, err);

    for (size_t i = 0; i < N_BRIEF_PARTS; i++)
        parts[i].sink = sink_to_str(&parts[i].text);
    if (!st)
        st = training_rows_build(run, &rows, err);
    if (!st)
        st = brief_write_parts(&summary, &stages, parts, &n_findings, err);
    if (st)
        goto done;
    for (size_t i = 0; i < N_BRIEF_PARTS; i++)
        taken += brief_lines(&parts[i].text);
    sink_puts(sink, str_text(&parts[PART_HEAD].text));
    sink_puts(sink, "\n");
    st = brief_write_rows(&summary, &rows,
                          taken + LEAST_ROWS < BRIEF_LINES ? BRIEF_LINES - taken
                                                           : LEAST_ROWS,
                          n_findings, err);
    for (size_t i = PART_CONTENT; !st && i < N_BRIEF_PARTS; i++)
        sink_puts(sink, str_text(&parts[i].text));
    if (!st)
        st = sink_status(sink, err);
done:
    for (size_t i = 0; i < N_BRIEF_PARTS; i++)
        str_release(&parts[i].text);
    rows_release(&rows);
    rows_release(&stages);
    return st;
}
