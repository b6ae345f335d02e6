/* cli/cmd_report.c - assay report: a run, or two, as a page for a browser. */
#include "cli/command.h"

#include "cli/file_roles.h"
#include "cli/inputs.h"
#include "cli/report_file.h"
#include "cli/result.h"

#define REPORT_SUFFIX ".html"

struct settings {
    const char *output;
    const char *pictures; /* NULL: none are wanted */
};

static const struct option options[] = {
    {.name = "output",
     .letter = 'o',
     .kind = OPTION_FILE,
     .role = ROLE_OUTPUT,
     .value = "FILE",
     .help = "write there; - is standard output",
     .shown_default = "RUN" REPORT_SUFFIX,
     OPTION_FIELD(struct settings, output)},
    {.name = "pictures",
     .kind = OPTION_FILE,
     .value = "FOLDER",
     .implied = ".",
     .help = "put the drawn photographs of a folder, or of this one, into the "
             "page",
     OPTION_FIELD(struct settings, pictures)},
    {.kind = OPTION_END},
};

static enum assay_status write_page(const struct words *paths,
                                    const struct settings *settings,
                                    struct sink *sink, struct error *err)
{
    struct report_side sides[2] = {0};
    struct run_list runs = {0};
    enum assay_status st = run_list_load(&runs, paths, err);

    for (size_t i = 0; !st && i < runs.n; i++)
        sides[i] = (struct report_side){runs.items[i], paths->items[i]};
    if (!st)
        st = report_write(sides, runs.n, settings->pictures, sink, err);
    run_list_release(&runs);
    return st;
}

static enum assay_status run_report(const struct arguments *arguments,
                                    struct error *err)
{
    const struct settings *settings = arguments->settings;
    const struct words *paths = &arguments->operands;
    const char *output = settings->output;
    struct result result = {0};
    struct str name = {0};
    enum assay_status st = ASSAY_OK;

    if (!output) {
        st = result_name_of_run(paths->items[paths->n - 1], REPORT_SUFFIX,
                                &name, err);
        output = str_text(&name);
        if (!st)
            st = file_roles_check_one("the report", output, paths, err);
    }
    if (!st)
        st = result_open(output, &result, err);
    if (!st)
        st = result_close(&result,
                          write_page(paths, settings, result.sink, err), err);
    if (!st && result.path)
        st = result_print("next   open it in a browser; it needs no network\n",
                          err);
    str_release(&name);
    return st;
}

const struct command cmd_report = {
    .name = "report",
    .section = "Runs",
    .purpose = "a run, or what differs between two, as one page for a browser",
    .usage = (const char *const[]){"report [options] RUN",
                                   "report [options] A B", NULL},
    .operands = {.min = 1,
                 .max = 2,
                 .missing = "a run file",
                 .endings = run_endings},
    .description =
        (const char *const[]){
            "Writes one HTML file that needs nothing else, no server and no "
            "network: the tree to zoom into, a table to sort and search, the "
            "timeline of an iteration, memory with its owners at the peak, "
            "the modules under the machine's roof, the spread of the latency, "
            "time against what was in the photographs, machine and settings.",
            "With two runs the same views show what differs from A to B, and "
            "what of it is more than noise, as `assay compare` decides it.",
            NULL,
        },
    .options = options,
    .examples =
        (const struct example[]){
            {"report run.assay", "write run.html"},
            {"report run.assay -o report.html --pictures",
             "with the drawn photographs of this folder in it"},
            {"report old.assay new.assay -o change.html",
             "what changed, in the same views"},
            {NULL, NULL},
        },
    .settings_bytes = sizeof(struct settings),
    .run = run_report,
};
