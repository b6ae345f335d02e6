/* cli/sweep.c - see sweep.h: the runs of a sweep, and their table. */
#include "cli/sweep.h"

#include "base/child.h"
#include "base/units.h"
#include "cli/interrupt.h"
#include "cli/messages.h"
#include "cli/result.h"
#include "views/line.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- one point ---------------------------------------------------------- */

/* What a child measured. */
struct point_values {
    double mean_ns, low_ns, high_ns;
    double peak_bytes;
};

/* What a child sends to its parent. */
struct sweep_outcome {
    enum assay_status st;
    struct error err;
    bool has_values; /* false: it was stopped before it measured anything */
    struct point_values values;
};

/* The result of a point. */
struct sweep_row {
    int64_t values[SWEEP_MAX_AXES];
    struct str path; /* of its run file */
    struct point_values measured;
    bool is_measured; /* false: it was stopped before */
    double images_per_s;
};

/* "run.assay" with batch 2 and threads 1 is "run-batch2-threads1.assay". */
static enum assay_status sweep_name_point(const struct sweep *sweep,
                                          const char *output,
                                          struct sweep_row *row,
                                          struct error *err)
{
    static const char *const endings[] = {STORE_SUFFIX, NULL};
    struct str ending = {0};
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < sweep->n_axes; i++)
        st = str_printf(&ending, "-%s%lld", sweep_key_name(sweep->axes[i].key),
                        (long long)row->values[i]);
    if (!st)
        st = str_append(&ending, STORE_SUFFIX);
    if (st)
        error_nomem(err, ending.n, "a file name");
    else
        st = result_name(output, endings, ending.text, &row->path, err);
    str_release(&ending);
    return st;
}

/* What separates --input from one more key. */
static const char *sweep_before_size(const char *input)
{
    if (!input)
        return "";
    return input_words_recipe(input) ? "," : ":";
}

/* The settings of a point. The size is --min-size for a detector, and a part of
 * --input for others, whose text `input` holds. */
static enum assay_status sweep_set_point(const struct sweep *sweep,
                                         const struct sweep_row *row,
                                         struct run_settings *settings,
                                         struct str *input, struct error *err)
{
    for (size_t i = 0; i < sweep->n_axes; i++) {
        int64_t value = row->values[i];

        switch (sweep->axes[i].key) {
        case SWEEP_BATCH:
            settings->batch = value;
            break;
        case SWEEP_THREADS:
            settings->threads = value;
            break;
        case SWEEP_SIZE:
            if (sweep->is_detector)
                settings->min_size = value;
            else if (str_printf(input, "%s%ssize=%lld",
                                settings->input ? settings->input : "",
                                sweep_before_size(settings->input),
                                (long long)value))
                return error_nomem(err, input->n, "a text");
            break;
        }
    }
    if (input->n)
        settings->input = input->text;
    settings->output = row->path.text;
    return ASSAY_OK;
}

/* What a child is started with. */
struct sweep_point {
    const struct sweep *sweep;
    const char *set; /* the name that all points share */
    const struct sweep_row *row;
    const struct run_settings *settings;
    const struct words *operands;
};

/* The run states which set it belongs to, and its place in it. */
static enum assay_status sweep_add_facts(void *context, struct run *run,
                                         struct error *err)
{
    const struct sweep_point *point = context;
    const struct sweep *sweep = point->sweep;
    enum assay_status st = run_fact_set(run, "sweep.set", point->set, err);

    for (size_t i = 0; !st && i < sweep->n_axes; i++) {
        char key[32];

        snprintf(key, sizeof key, "sweep.%s",
                 sweep_key_name(sweep->axes[i].key));
        st = run_fact_printf(run, err, key, "%lld",
                             (long long)point->row->values[i]);
    }
    return st;
}

static enum assay_status sweep_read_values(const struct run *run,
                                           struct point_values *values,
                                           struct error *err)
{
    struct scope_stats stats;
    enum assay_status st = run_scope_stats(run, RUN_ROOT, RUN_ANY, &stats, err);

    if (!st)
        *values = (struct point_values){
            .mean_ns = stats.mean_ns,
            .low_ns = stats.mean_low_ns,
            .high_ns = stats.mean_high_ns,
            .peak_bytes = (double)run_memory_of(run)->peak_bytes};
    return st;
}

static void sweep_run_here(struct sweep_point *point,
                           struct sweep_outcome *outcome)
{
    struct sink screen = sink_to_file(stderr, "standard error");
    struct profile_report report = {0};
    struct run_job job = {0};
    struct error *err = &outcome->err;
    enum assay_status st =
        run_job_make(&job, point->settings, point->operands, err);

    if (!st) {
        job.options.stop = interrupt_watch();
        job.options.session.warnings = &screen;
        job.options.session.model.file.problems = &screen;
        job.options.facts = (struct profile_facts){sweep_add_facts, point};
        st = profile_run(&job.options, &job.photos, &report, err);
    }
    outcome->has_values = !st && report.run;
    if (outcome->has_values)
        st = sweep_read_values(report.run, &outcome->values, err);
    outcome->st = st;
    profile_report_release(&report);
    run_job_release(&job);
}

static void sweep_run_child(void *context, int line)
{
    struct sweep_outcome outcome = {.st = ASSAY_OK};

    sweep_run_here(context, &outcome);
    child_send(line, &outcome, sizeof outcome, 0);
}

static enum assay_status sweep_run_apart(struct sweep_point *point,
                                         struct sweep_row *row,
                                         struct error *err)
{
    const struct child_options options = {.what = "a point of the sweep"};
    struct sweep_outcome outcome;
    enum child_told told;
    struct child child;
    enum assay_status st =
        child_start(&child, &options, sweep_run_child, point, err);

    if (st)
        return st;
    told = child_receive(child.line, &outcome, sizeof outcome, 0);
    child_end(&child, false, NULL);
    if (told != CHILD_TOLD)
        return error_set(err, ASSAY_IO,
                         "the process of a point died before it was done");
    if (outcome.st)
        return error_set(err, outcome.st, "%s", outcome.err.text);
    row->is_measured = outcome.has_values;
    row->measured = outcome.values;
    return ASSAY_OK;
}

static enum assay_status sweep_do_point(const struct sweep *sweep,
                                        const struct run_settings *base,
                                        const struct words *operands,
                                        size_t point, struct sweep_row *row,
                                        struct error *err)
{
    struct run_settings settings = *base;
    struct sweep_point job = {.sweep = sweep,
                              .set = base->output,
                              .row = row,
                              .settings = &settings,
                              .operands = operands};
    struct str input = {0};
    enum assay_status st;

    sweep_point(sweep, point, row->values);
    st = sweep_name_point(sweep, base->output, row, err);
    if (!st)
        st = sweep_set_point(sweep, row, &settings, &input, err);
    if (!st)
        st = sweep_run_apart(&job, row, err);
    if (!st)
        row->images_per_s =
            (double)settings.batch * 1e9 / row->measured.mean_ns;
    str_release(&input);
    return st;
}

/* ---- the table ---------------------------------------------------------- */

enum { AXIS_COLUMNS = 8, VALUE_COLUMNS = 10 + 20 + 8 + 9 + 10 };

/* Whether the names of the runs fit beside the figures. */
static bool sweep_has_room(const struct sweep *sweep,
                           const struct sweep_row *rows, size_t n, int width)
{
    size_t taken = AXIS_COLUMNS * sweep->n_axes + VALUE_COLUMNS + 2;

    for (size_t i = 0; i < n; i++) {
        if (taken + rows[i].path.n > (size_t)width)
            return false;
    }
    return true;
}

static void sweep_put_head(const struct sweep *sweep, bool has_names,
                           struct sink *sink)
{
    for (size_t i = 0; i < sweep->n_axes; i++)
        sink_printf(sink, "%*s", AXIS_COLUMNS,
                    sweep_key_name(sweep->axes[i].key));
    sink_printf(sink, "%10s  %-18s%8s%9s%10s%s\n", "mean ms", "[95 %]", "img/s",
                "scaling", "memory", has_names ? "  run" : "");
}

static void sweep_put_row(const struct sweep *sweep,
                          const struct sweep_row *row,
                          const struct sweep_row *first, bool has_names,
                          struct sink *sink)
{
    char mean[UNITS_MAX], low[UNITS_MAX], high[UNITS_MAX];
    char rate[UNITS_MAX], bytes[UNITS_MAX], interval[2 * UNITS_MAX + 8] = "-";

    for (size_t i = 0; i < sweep->n_axes; i++)
        sink_printf(sink, "%*lld", AXIS_COLUMNS, (long long)row->values[i]);
    if (!isnan(row->measured.low_ns))
        snprintf(interval, sizeof interval, "[%s, %s]",
                 units_number(low, row->measured.low_ns / 1e6),
                 units_number(high, row->measured.high_ns / 1e6));
    sink_printf(sink, "%10s  %-18s%8s%8.2fx%10s%s%s\n",
                units_number(mean, row->measured.mean_ns / 1e6), interval,
                units_count(rate, row->images_per_s),
                row->images_per_s / first->images_per_s,
                units_bytes(bytes, row->measured.peak_bytes),
                has_names ? "  " : "", has_names ? row->path.text : "");
}

static void sweep_put_names(const struct sweep_row *rows, size_t n,
                            bool has_names, const struct result *result)
{
    struct line line = line_begin(result->sink, &result->term, "runs");

    for (size_t i = 0; !has_names && i < n; i++)
        line_item(&line, rows[i].path.text);
    line_end(&line);
    line = line_begin(result->sink, &result->term, "next");
    line_printf(&line, "assay show %s", rows[0].path.text);
    if (n > 1)
        line_printf(&line, "assay compare %s %s", rows[0].path.text,
                    rows[n - 1].path.text);
    line_end(&line);
}

static enum assay_status sweep_print(const struct sweep *sweep,
                                     const struct sweep_row *rows, size_t n,
                                     const char *model, struct error *err)
{
    struct result result;
    enum assay_status st = result_open(NULL, &result, err);
    bool has_names;

    if (st)
        return st;
    has_names = sweep_has_room(sweep, rows, n, result.term.width);
    sink_printf(result.sink, "sweep    %s, %zu of %zu points\n\n", model, n,
                sweep->n_points);
    sweep_put_head(sweep, has_names, result.sink);
    for (size_t i = 0; i < n; i++)
        sweep_put_row(sweep, &rows[i], &rows[0], has_names, result.sink);
    sink_puts(result.sink, "\nscaling  images per second relative to the first "
                           "row\n");
    sweep_put_names(rows, n, has_names, &result);
    return result_close(&result, ASSAY_OK, err);
}

/* "at batch 2, threads 1" before a failure. */
static void sweep_name_failure(const struct sweep *sweep,
                               const struct sweep_row *row, struct error *err)
{
    char text[96] = "";
    size_t at = 0;

    for (size_t i = 0; i < sweep->n_axes; i++)
        at += (size_t)snprintf(
            text + at, sizeof text - at, "%s%s %lld", i ? ", " : "",
            sweep_key_name(sweep->axes[i].key), (long long)row->values[i]);
    error_context(err, "at %s", text);
}

/* Outputs of a single run that a sweep does not write. */
static enum assay_status
sweep_check_outputs(const struct run_settings *settings, struct error *err)
{
    const struct {
        const char *name;
        bool is_given;
        const char *instead;
    } options[] = {
        {"trace", settings->files.trace, "use `assay trace` on each run"},
        {"html", settings->files.html, "use `assay report` on each run"},
        {"tensorboard", settings->files.tensorboard,
         "use `assay tensorboard` on each run"},
        {"json", settings->is_json, "use `assay show --json` on each run"},
        {"explain", settings->has_explain, "run one point alone"},
    };

    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (options[i].is_given)
            return error_set(err, ASSAY_BAD_USAGE,
                             "--%s does not go with --sweep; %s",
                             options[i].name, options[i].instead);
    }
    return result_check_run(settings->output, err);
}

static enum assay_status sweep_open(struct sweep *sweep,
                                    const struct run_settings *settings,
                                    const struct words *operands,
                                    struct error *err)
{
    struct model_source model;
    enum assay_status st = sweep_read(sweep, &settings->sweep, err);

    if (!st)
        st = sweep_check_outputs(settings, err);
    if (!st)
        st = run_find_model(operands->items[0], &model, err);
    if (!st)
        sweep->is_detector = model_is_detector(&model);
    return st;
}

/* The names of all runs are checked before the first run starts. */
static enum assay_status sweep_check_roles(const struct sweep *sweep,
                                           const struct run_settings *settings,
                                           const struct words *operands,
                                           struct error *err)
{
    struct file_roles roles = {0};
    struct run_job job = {0};
    enum assay_status st = run_job_make(&job, settings, operands, err);

    if (!st)
        st = run_job_add_roles(&job, settings, operands, &roles, err);
    for (size_t i = 0; !st && i < sweep->n_points; i++) {
        struct sweep_row row = {.is_measured = false};

        sweep_point(sweep, i, row.values);
        st = sweep_name_point(sweep, settings->output, &row, err);
        file_roles_write(&roles, "the run", str_text(&row.path));
        str_release(&row.path);
    }
    if (!st)
        st = file_roles_check(&roles, err);
    file_roles_release(&roles);
    run_job_release(&job);
    return st;
}

enum assay_status sweep_run(const struct run_settings *settings,
                            const struct words *operands, struct error *err)
{
    const volatile sig_atomic_t *stop = interrupt_watch();
    struct sweep_row rows[SWEEP_MAX_POINTS] = {{.is_measured = false}};
    struct sweep sweep;
    enum assay_status st = sweep_open(&sweep, settings, operands, err);
    size_t n = 0;

    if (!st)
        st = sweep_check_roles(&sweep, settings, operands, err);
    while (!st && n < sweep.n_points && !*stop) {
        message_note("point %zu of %zu", n + 1, sweep.n_points);
        st = sweep_do_point(&sweep, settings, operands, n, &rows[n], err);
        if (st)
            sweep_name_failure(&sweep, &rows[n], err);
        else if (rows[n].is_measured)
            n++;
        else
            break;
    }
    if (n) {
        struct error ignored = {0};
        enum assay_status shown = sweep_print(
            &sweep, rows, n, operands->items[0], st ? &ignored : err);

        st = st ? st : shown;
    }
    for (size_t i = 0; i < SWEEP_MAX_POINTS; i++)
        str_release(&rows[i].path);
    return st;
}
