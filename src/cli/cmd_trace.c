/* cli/cmd_trace.c - assay trace: a run as a timeline for Perfetto and
 * chrome://tracing. */
#include "cli/command.h"

#include "cli/inputs.h"
#include "cli/result.h"
#include "views/views.h"

#include <inttypes.h>

#define TRACE_SUFFIX ".trace.json"

struct settings {
    const char *output;
};

static const struct option options[] = {
    OPTION_OUTPUT("FILE", "write to this file; - is standard output",
                  .shown_default = "RUN" TRACE_SUFFIX,
                  OPTION_FIELD(struct settings, output)),
    {.kind = OPTION_END},
};

/* "holds  4 of 30 iterations in full; `assay run --keep all` keeps every one"
 */
static enum assay_status trace_say_share(const struct kept_share *share,
                                         struct error *err)
{
    struct str text = {0};
    bool is_all = share->samples >= share->of_samples;
    enum assay_status st =
        share->of_iterations
            ? str_printf(
                  &text,
                  "holds  %" PRIu64 " of %" PRIu64 " iterations in full%s\n",
                  share->iterations, share->of_iterations,
                  is_all ? "" : "; `assay run --keep all` keeps every one")
            : str_printf(&text, "holds  %" PRIu64 " of %" PRIu64 " slices\n",
                         share->samples, share->of_samples);

    st = st ? error_nomem(err, text.n, "a line")
            : result_print(str_text(&text), err);
    str_release(&text);
    return st;
}

static enum assay_status trace_write(const char *path, const char *output,
                                     struct error *err)
{
    struct result result;
    struct kept_share share = {0};
    struct run *run = NULL;
    enum assay_status st = result_open(output, &result, err);

    if (st)
        return st;
    st = inputs_load(path, &run, err);
    if (!st) {
        share = run_kept_share(run);
        st = view_trace(run, result.sink, err);
    }
    run_free(run);
    st = result_close(&result, st, err);
    if (!st && result.path)
        st = trace_say_share(&share, err);
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
    struct str output = {0};
    enum assay_status st =
        inputs_name_output(settings->output, "the trace", TRACE_SUFFIX,
                           &arguments->operands, &output, err);

    if (!st)
        st = trace_write(arguments->operands.items[0], output.text, err);
    str_release(&output);
    return st;
}

const struct command cmd_trace = {
    .name = "trace",
    .section = "Runs",
    .purpose = "write a run as a timeline for Perfetto and chrome://tracing",
    .usage = TEXTS("trace [options] RUN"),
    .operands = {.min = 1,
                 .max = 1,
                 .missing = "a run file",
                 .endings = run_endings},
    .description = TEXTS(
        "Writes the iterations that the run keeps in full as Chrome trace "
        "event JSON: one row per thread with nested slices, the iterations "
        "marked, and the counters and the memory as tracks."),
    .options = options,
    .examples = EXAMPLES({"trace run.assay", "write run.trace.json"},
                         {"trace run.assay -o - | gzip >run.trace.json.gz",
                          "compressed, which Perfetto opens too"}),
    .settings_bytes = sizeof(struct settings),
    .run = run_trace,
};
