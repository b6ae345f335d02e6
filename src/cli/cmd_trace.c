/* cli/cmd_trace.c - assay trace: a run for Perfetto and chrome://tracing. */
#include "cli/command.h"

#include "cli/file_roles.h"
#include "cli/inputs.h"
#include "cli/result.h"
#include "store/store.h"
#include "views/views.h"

#define TRACE_SUFFIX ".trace.json"

struct settings {
    const char *output;
};

static const struct option options[] = {
    {.name = "output",
     .letter = 'o',
     .kind = OPTION_FILE,
     .role = ROLE_OUTPUT,
     .value = "FILE",
     .help = "write there; - is standard output",
     .shown_default = "RUN" TRACE_SUFFIX,
     OPTION_FIELD(struct settings, output)},
    {.kind = OPTION_END},
};

static enum assay_status write_trace(const char *path, const char *output,
                                     struct error *err)
{
    struct result result;
    struct run *run = NULL;
    enum assay_status st = result_open(output, &result, err);

    if (st)
        return st;
    st = store_load(path, &run, err);
    if (!st) {
        inputs_note(run, path);
        st = view_trace(run, result.sink, err);
    }
    run_free(run);
    st = result_close(&result, st, err);
    if (!st && result.path)
        st = result_print("next   open it in https://ui.perfetto.dev or in "
                          "chrome://tracing\n",
                          err);
    return st;
}

static enum assay_status run_trace(const struct arguments *arguments,
                                   struct error *err)
{
    const struct settings *settings = arguments->settings;
    const char *path = arguments->operands.items[0];
    struct str name = {0};
    enum assay_status st = ASSAY_OK;

    if (!settings->output)
        st = result_name_of_run(path, TRACE_SUFFIX, &name, err);
    if (!st && name.n)
        st = file_roles_check_one("the trace", name.text, &arguments->operands,
                                  err);
    if (!st)
        st = write_trace(
            path, settings->output ? settings->output : str_text(&name), err);
    str_release(&name);
    return st;
}

const struct command cmd_trace = {
    .name = "trace",
    .section = "Runs",
    .purpose = "a run as a timeline for Perfetto and chrome://tracing",
    .usage = (const char *const[]){"trace [options] RUN", NULL},
    .operands = {.min = 1,
                 .max = 1,
                 .missing = "a run file",
                 .endings = run_endings},
    .description =
        (const char *const[]){
            "Writes the iterations that the run keeps in full as Chrome trace "
            "event JSON: a row a thread, with nested slices, the iterations "
            "marked, and the counters and the memory as tracks.",
            NULL,
        },
    .options = options,
    .examples =
        (const struct example[]){
            {"trace run.assay", "write run.trace.json"},
            {"trace run.assay -o - | gzip >run.trace.json.gz",
             "write it compressed; Perfetto opens that too"},
            {NULL, NULL},
        },
    .settings_bytes = sizeof(struct settings),
    .run = run_trace,
};
