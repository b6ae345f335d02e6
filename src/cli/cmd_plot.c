/* cli/cmd_plot.c - assay plot: a run as a picture. */
#include "cli/command.h"

#include "cli/file_roles.h"
#include "cli/inputs.h"
#include "cli/plot_file.h"
#include "cli/result.h"
#include "store/store.h"
#include "views/plot.h"

struct settings {
    const char *output;
    int kind;
};

static const struct option options[] = {
    {.name = "kind",
     .letter = 'k',
     .kind = OPTION_CHOICE,
     .value = "KIND",
     .choices = plot_kind_names,
     .help = "what is drawn",
     .shown_default = "icicle",
     OPTION_FIELD(struct settings, kind)},
    {.name = "output",
     .letter = 'o',
     .kind = OPTION_FILE,
     .role = ROLE_OUTPUT,
     .value = "FILE",
     .help = "write there; its ending, .png, .svg or .pdf, says how",
     .shown_default = "RUN.KIND.png",
     OPTION_FIELD(struct settings, output)},
    {.kind = OPTION_END},
};

static enum assay_status default_output(const char *path, int kind,
                                        struct str *out, struct error *err)
{
    struct str ending = {0};
    enum assay_status st =
        str_printf(&ending, ".%s.png", plot_kind_names[kind])
            ? error_nomem(err, 16, "a file name")
            : result_name_of_run(path, str_text(&ending), out, err);

    str_release(&ending);
    return st;
}

static enum assay_status write_plot(const char *path, const char *output,
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
    st = store_load(path, &run, err);
    if (!st) {
        inputs_note(run, path);
        st = view_plot(run, kind, format, result.sink, err);
        if (st == ASSAY_UNSUPPORTED)
            error_context(err, "%s", path);
    }
    run_free(run);
    return result_close(&result, st, err);
}

static enum assay_status run_plot(const struct arguments *arguments,
                                  struct error *err)
{
    const struct settings *settings = arguments->settings;
    const char *path = arguments->operands.items[0];
    struct str name = {0};
    enum assay_status st = ASSAY_OK;

    if (!settings->output)
        st = default_output(path, settings->kind, &name, err);
    if (!st && name.n)
        st = file_roles_check_one("the plot", name.text, &arguments->operands,
                                  err);
    if (!st)
        st = write_plot(path,
                        settings->output ? settings->output : str_text(&name),
                        (enum plot_kind)settings->kind, err);
    str_release(&name);
    return st;
}

const struct command cmd_plot = {
    .name = "plot",
    .section = "Runs",
    .purpose = "a run as a picture: icicle, memory, latency, roofline, "
               "timeline",
    .usage = (const char *const[]){"plot [options] RUN", NULL},
    .operands = {.min = 1,
                 .max = 1,
                 .missing = "a run file",
                 .endings = run_endings},
    .description =
        (const char *const[]){
            "Draws one page for a paper, a pull request or a slide: the tree "
            "of modules as wide as their time (icicle), the live bytes of an "
            "iteration and who owned them at the peak (memory), how long the "
            "iterations took (latency), each module against the machine's "
            "peaks (roofline), or one iteration by thread (timeline).",
            NULL,
        },
    .options = options,
    .examples =
        (const struct example[]){
            {"plot run.assay", "write run.icicle.png"},
            {"plot run.assay --kind roofline -o roofline.svg",
             "a vector graphic of another kind"},
            {NULL, NULL},
        },
    .settings_bytes = sizeof(struct settings),
    .run = run_plot,
};
