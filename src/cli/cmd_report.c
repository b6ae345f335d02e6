/* cli/cmd_report.c - assay report: a run, or two, as a page for a browser. */
#include "cli/command.h"

#include "cli/inputs.h"
#include "cli/result.h"
#include "cli/run_files.h"

#include <math.h>

#define REPORT_SUFFIX ".html"

struct settings {
    const char *output;
    const char *pictures; /* NULL: none */
    double fail_above;    /* NaN: no gate */
    const char *budgets;
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
     .help = "of two runs: also show what the gate of `assay compare` says "
             "with this budget",
     OPTION_FIELD(struct settings, fail_above)},
    {OPT_FILE("budgets", "FILE"),
     .help = "a TOML file with budgets for single scopes, which override "
             "--fail-above",
     OPTION_FIELD(struct settings, budgets)},
    {.kind = OPTION_END},
};

static enum assay_status report_read_budgets(const struct settings *settings,
                                             size_t n_runs,
                                             struct budgets *budgets,
                                             struct error *err)
{
    enum assay_status st = ASSAY_OK;

    if (n_runs < 2 && (!isnan(settings->fail_above) || settings->budgets))
        return error_set(err, ASSAY_BAD_USAGE,
                         "--fail-above and --budgets are for two runs: assay "
                         "report A B");
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
        st =
            report_write(sides, runs.n, budgets, settings->pictures, sink, err);
    run_list_release(&runs);
    return st;
}

static enum assay_status run_report(const struct arguments *arguments,
                                    struct error *err)
{
    const struct settings *settings = arguments->settings;
    const struct words *paths = &arguments->operands;
    struct result result = {0};
    struct str output = {0};
    struct budgets budgets = {0};
    enum assay_status st =
        report_read_budgets(settings, paths->n, &budgets, err);

    if (!st)
        st = inputs_name_output(settings->output, "the report", REPORT_SUFFIX,
                                paths, &output, err);
    if (!st)
        st = result_open(output.text, &result, err);
    if (!st)
        st = result_close(
            &result,
            report_write_page(paths, settings, &budgets, result.sink, err),
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
    .usage = TEXTS("report [options] RUN", "report [options] A B"),
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
        "whose figures are in a view of their own."),
    .options = options,
    .examples = EXAMPLES({"report run.assay", "write run.html"},
                         {"report run.assay -o report.html --pictures",
                          "with the drawn photographs of the current folder"},
                         {"report old.assay new.assay -o change.html",
                          "what changed, in the same views"}),
    .settings_bytes = sizeof(struct settings),
    .defaults = &defaults,
    .run = run_report,
};
