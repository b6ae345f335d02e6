/* cli/cmd_plot.c - assay plot: a run as a picture. */
#include "cli/command.h"

#include "cli/inputs.h"
#include "cli/plot_file.h"
#include "cli/result.h"
#include "views/plot.h"

#include <stdio.h>

struct settings {
    const char *output;
    int kind;
};

static const struct option options[] = {
    {OPT_CHOICE("kind", "KIND", plot_kind_names), .letter = 'k',
     .help = "what to draw", .shown_default = "icicle",
     OPTION_FIELD(struct settings, kind)},
    OPTION_OUTPUT("FILE", "write to this file: .png, .svg or .pdf",
                  .shown_default = "RUN.KIND.png",
                  OPTION_FIELD(struct settings, output)),
    {.kind = OPTION_END},
};

static enum assay_status plot_write(const char *path, const char *output,
                                    enum plot_kind kind, struct error *err)
{
    enum sheet_format format = SHEET_PNG;
    struct result result;
    struct run *run = NULL;
    enum assay_status st = plot_file_format(output, &format, err);

    if (!st)
        st = result_open(output, &result, err);
    if (st)
        return st;
    st = inputs_load(path, &run, err);
    if (!st)
        st = view_plot(run, kind, format, result.sink, err);
    if (st == ASSAY_UNSUPPORTED)
        error_context(err, "%s", path);
    run_free(run);
    return result_close(&result, st, err);
}

static enum assay_status run_plot(const struct arguments *arguments,
                                  struct error *err)
{
    const struct settings *settings = arguments->settings;
    struct str output = {0};
    char ending[32];
    enum assay_status st;

    snprintf(ending, sizeof ending, ".%s.png", plot_kind_names[settings->kind]);
    st = inputs_name_output(settings->output, "the plot", ending,
                            &arguments->operands, &output, err);
    if (!st)
        st = plot_write(arguments->operands.items[0], output.text,
                        (enum plot_kind)settings->kind, err);
    str_release(&output);
    return st;
}

const struct command cmd_plot = {
    .name = "plot",
    .section = "Runs",
    .purpose = "draw a run: icicle, memory, latency, roofline, timeline",
    .usage = TEXTS("plot [options] RUN"),
    .operands = {.min = 1,
                 .max = 1,
                 .missing = "a run file",
                 .endings = run_endings},
    .description = TEXTS(
        "Draws one picture for a paper, a pull request or a slide: the "
        "tree of modules as wide as their time (icicle), the live bytes of "
        "an iteration and who owned them at the peak (memory), how long "
        "the iterations took (latency), each module against the machine's "
        "peaks (roofline), or one iteration by thread (timeline)."),
    .options = options,
    .examples = EXAMPLES({"plot run.assay", "write run.icicle.png"},
                         {"plot run.assay --kind roofline -o roofline.svg",
                          "a vector graphic of another kind"}),
    .settings_bytes = sizeof(struct settings),
    .run = run_plot,
};
