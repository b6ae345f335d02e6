/* cli/cmd_report.c - assay report: a run, or two, as a page for a browser. */
#include "cli/command.h"

#include "cli/inputs.h"
#include "cli/result.h"
#include "cli/run_files.h"
#include "serve/run_folder.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

#define REPORT_SUFFIX ".html"
#define REPORT_ABOVE  0.05

struct settings {
    const char *output;
    const char *pictures; /* NULL: none */
    double fail_above;    /* NaN: no gate */
    const char *budgets;
    const char *baseline;
};

static const struct settings defaults = {.fail_above = NAN};

static const struct option options[] = {
    OPTION_OUTPUT("FILE", "write to this file; - is standard output",
                  .shown_default = "RUN" REPORT_SUFFIX,
                  OPTION_FIELD(struct settings, output)),
    {OPT_FILE("pictures", "FOLDER"), .implied = ".",
     .help = "include the drawn photographs of this folder, by default the "
             "current one",
     OPTION_FIELD(struct settings, pictures)},
    {OPT_PERCENT("fail-above", "N%", 0, 100),
     .help = "also show what the gate of `assay compare` says with this "
             "budget, of two runs or of each run of a folder",
     .shown_default = "for a folder, 5%",
     OPTION_FIELD(struct settings, fail_above)},
    {OPT_FILE("budgets", "FILE"),
     .help = "a TOML file with budgets for single scopes, which override "
             "--fail-above",
     OPTION_FIELD(struct settings, budgets)},
    {OPT_TEXT("baseline", "NAME"),
     .help = "of a folder: judge its runs against this one, not each against "
             "the run before it",
     OPTION_FIELD(struct settings, baseline)},
    {.kind = OPTION_END},
};

static bool report_is_folder(const struct words *paths)
{
    struct stat about;

    return paths->n == 1 && stat(paths->items[0], &about) == 0 &&
           S_ISDIR(about.st_mode);
}

static enum assay_status report_read_budgets(const struct settings *settings,
                                             const struct words *paths,
                                             struct budgets *budgets,
                                             struct error *err)
{
    bool is_folder = report_is_folder(paths);
    bool has_budget = !isnan(settings->fail_above) || settings->budgets;
    enum assay_status st = ASSAY_OK;

    if (!is_folder && settings->baseline)
        return error_set(err, ASSAY_BAD_USAGE,
                         "--baseline is for a folder of runs: assay report "
                         "FOLDER");
    if (!is_folder && paths->n < 2 && has_budget)
        return error_set(err, ASSAY_BAD_USAGE,
                         "--fail-above and --budgets are for two runs or a "
                         "folder: assay report A B");
    if (is_folder && !has_budget)
        return budgets_add(budgets, NULL, REPORT_ABOVE, err);
    if (!isnan(settings->fail_above))
        st = budgets_add(budgets, NULL, settings->fail_above, err);
    if (!st && settings->budgets)
        st = budgets_read(budgets, settings->budgets, err);
    return st;
}

static enum assay_status report_write_page(const struct words *paths,
                                           const struct settings *settings,
                                           const struct budgets *budgets,
                                           struct sink *sink, struct error *err)
{
    struct report_side sides[2] = {0};
    struct run_list runs = {0};
    enum assay_status st = run_list_load(&runs, paths, err);

    for (size_t i = 0; !st && i < runs.n; i++)
        sides[i] = (struct report_side){runs.items[i], paths->items[i]};
    if (!st)
        st = report_write(sides, runs.n, budgets, NULL, settings->pictures,
                          sink, err);
    run_list_release(&runs);
    return st;
}

/* The newest of the complete runs; NULL if there is none. */
static const struct trend_point *report_newest(const struct trend *trend)
{
    const struct trend_point *newest = NULL;

    for (size_t i = 0; i < trend->n; i++) {
        if (!newest || strcmp(trend->points[i].started, newest->started) >= 0)
            newest = &trend->points[i];
    }
    return newest;
}

static enum assay_status report_write_newest(const struct run_folder *folder,
                                             const struct trend *trend,
                                             const struct settings *settings,
                                             struct sink *sink,
                                             struct error *err)
{
    const struct trend_point *newest = report_newest(trend);
    struct run *run = NULL;
    enum assay_status st;

    if (!newest)
        return error_set(err, ASSAY_BAD_INPUT,
                         "the folder %s has no complete run", folder->path);
    st = folder_load(folder, newest->name, &run, err);
    if (!st)
        st = report_write(&(struct report_side){run, newest->name}, 1,
                          &(struct budgets){0}, trend, settings->pictures, sink,
                          err);
    run_free(run);
    return st;
}

/* The newest run, and the trend of all. */
static enum assay_status report_write_folder(const char *path,
                                             const struct settings *settings,
                                             const struct budgets *budgets,
                                             struct sink *sink,
                                             struct error *err)
{
    struct run_folder folder = {
        .path = path, .budgets = budgets, .base = settings->baseline};
    struct trend trend = {0};
    enum assay_status st = folder_refresh(&folder, err);

    if (!st)
        st = folder_check_base(&folder, err);
    if (!st)
        st = folder_trend(&folder, NULL, &trend, err);
    if (!st)
        st = report_write_newest(&folder, &trend, settings, sink, err);
    mem_free((void *)trend.points);
    folder_release(&folder);
    return st;
}

/* FOLDER.html, next to the folder. */
static enum assay_status report_name_folder(const char *path, struct str *out,
                                            struct error *err)
{
    size_t n = strlen(path);

    while (n > 1 && path[n - 1] == '/')
        n--;
    if (strcmp(path, ".") == 0 || strcmp(path, "..") == 0)
        return str_append(out, "runs" REPORT_SUFFIX)
                   ? error_nomem(err, 64, "a file name")
                   : ASSAY_OK;
    return str_printf(out, "%.*s" REPORT_SUFFIX, (int)n, path)
               ? error_nomem(err, n, "a file name")
               : ASSAY_OK;
}

static enum assay_status run_report(const struct arguments *arguments,
                                    struct error *err)
{
    const struct settings *settings = arguments->settings;
    const struct words *paths = &arguments->operands;
    struct result result = {0};
    struct str output = {0};
    struct budgets budgets = {0};
    enum assay_status st = report_read_budgets(settings, paths, &budgets, err);
    bool is_folder = report_is_folder(paths);

    if (!st && is_folder && !settings->output)
        st = report_name_folder(paths->items[0], &output, err);
    else if (!st)
        st = inputs_name_output(settings->output, "the report", REPORT_SUFFIX,
                                paths, &output, err);
    if (!st)
        st = result_open(output.text, &result, err);
    if (!st)
        st = result_close(&result,
                          is_folder
                              ? report_write_folder(paths->items[0], settings,
                                                    &budgets, result.sink, err)
                              : report_write_page(paths, settings, &budgets,
                                                  result.sink, err),
                          err);
    if (!st && result.path)
        st = result_print("next   open it in a browser; it needs no network\n",
                          err);
    budgets_release(&budgets);
    str_release(&output);
    return st;
}

const struct command cmd_report = {
    .name = "report",
    .section = "Runs",
    .purpose = "write a run, or the difference of two, as a web page",
    .usage = TEXTS("report [options] RUN", "report [options] A B",
                   "report [options] FOLDER"),
    .operands = {.min = 1,
                 .max = 2,
                 .missing = "a run file",
                 .endings = run_endings},
    .description = TEXTS(
        "Writes one HTML file that needs no server and no network: flame "
        "graphs, a table to sort and search, the timeline of an iteration, "
        "the model as a graph, memory with its owners at the peak, the "
        "roofline, the spread of the latency, time against what was in the "
        "photographs, machine and settings.",
        "With two runs the same views show what changed from A to B, and "
        "which changes are more than noise according to `assay compare`, "
        "whose figures are in a view of their own. Of a folder it shows the "
        "newest run and the trend: latency and memory of all runs of each "
        "model in order, each with the verdict of the gate against the run "
        "before it or against --baseline."),
    .options = options,
    .examples = EXAMPLES({"report run.assay", "write run.html"},
                         {"report run.assay -o report.html --pictures",
                          "with the drawn photographs of the current folder"},
                         {"report old.assay new.assay -o change.html",
                          "what changed, in the same views"},
                         {"report runs/ --fail-above 3% -o trend.html",
                          "how the runs of a folder developed"}),
    .settings_bytes = sizeof(struct settings),
    .defaults = &defaults,
    .run = run_report,
};
