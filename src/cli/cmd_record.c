/* cli/cmd_record.c - assay record: runs a program that uses PyTorch, records
 * it through the Python package, and shows the run.
 *
 * The program is started as it is: an environment variable says what to record,
 * and the package's own sitecustomize, which PYTHONPATH leads to, starts the
 * recording in the process that imports PyTorch (python/assay/launch.py). */
#include "cli/command.h"

#include "base/mem.h"
#include "cli/inputs.h"
#include "cli/messages.h"
#include "cli/program_start.h"
#include "cli/record_machine.h"
#include "cli/record_places.h"
#include "cli/result.h"
#include "views/views.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

struct settings {
    const char *output;
    int64_t warm_up;
    bool has_no_backward, has_gpu, has_no_gpu, has_kernels, is_quiet;
};

static const struct settings defaults = {.output = "run.assay"};

#define FIELD(field) OPTION_FIELD(struct settings, field)

static const struct option options[] = {
    OPTION_OUTPUT("FILE", "the run file", .shown_default = "run.assay",
                  FIELD(output)),
    {OPT_INTEGER("warm-up", "N", 0, 1e9),
     .help = "iterations at the beginning that do not count",
     .shown_default = "0", FIELD(warm_up)},
    {OPT_FLAG("no-backward"), .help = "do not time the backward pass by module",
     FIELD(has_no_backward)},
    {OPT_FLAG("gpu"), .help = "time the GPU from the start",
     .shown_default = "once the program uses it", FIELD(has_gpu)},
    {OPT_FLAG("no-gpu"), .help = "time the host alone", FIELD(has_no_gpu)},
    {OPT_FLAG("kernels"),
     .help = "time all iterations of the GPU, and every kernel by its name",
     FIELD(has_kernels)},
    {OPT_FLAG("quiet"), .letter = 'q',
     .help = "write the run file, show nothing", FIELD(is_quiet)},
    {.kind = OPTION_END},
};

static enum assay_status record_put_variable(const char *name,
                                             const struct str *value,
                                             struct error *err)
{
    if (setenv(name, str_text(value), 1))
        return error_errno(err, errno, "setting %s", name);
    return ASSAY_OK;
}

/* What the package reads, and where Python finds it. */
static enum assay_status record_set_variables(const struct settings *settings,
                                              const char *output,
                                              struct error *err)
{
    struct str text = {0}, folder = {0};
    const char *old = getenv("PYTHONPATH");
    enum assay_status st = record_find_package(&folder, err);

    if (!st && str_printf(&text, "%" PRId64 " %d %s %d %s", settings->warm_up,
                          !settings->has_no_backward,
                          settings->has_gpu      ? "yes"
                          : settings->has_no_gpu ? "no"
                                                 : "auto",
                          settings->has_kernels, output))
        st = error_nomem(err, text.n, "the settings");
    if (!st)
        st = record_put_variable("ASSAY_RECORD", &text, err);
    if (!st && old && old[0] && str_printf(&folder, ":%s", old))
        st = error_nomem(err, folder.n, "a path");
    if (!st)
        st = record_put_variable("PYTHONPATH", &folder, err);
    str_release(&text);
    str_release(&folder);
    return st;
}

static enum assay_status record_show(const char *path, struct error *err)
{
    struct view_options view;
    struct result result = {0};
    struct str wrote = {0};
    struct run *run = NULL;
    enum assay_status st = inputs_load(path, &run, err);

    if (!st)
        st = result_list(path, &wrote, err);
    if (!st)
        st = result_print("\n", err);
    if (!st)
        st = result_open(NULL, &result, err);
    if (!st) {
        view = view_defaults(result.term);
        view.source = path;
        view.wrote = str_text(&wrote);
        st = view_summary(run, &view, result.sink, err);
        st = result_close(&result, st, err);
    }
    str_release(&wrote);
    run_free(run);
    return st;
}

/* Shows what the program left: the run, or as much of it as there is. */
static enum assay_status record_report(const struct settings *settings,
                                       const char *output,
                                       const struct record_before *before,
                                       struct error *err)
{
    struct error ignored = {0};
    struct str part = {0};
    enum assay_status st = ASSAY_OK;

    if (record_is_new(output, before)) {
        (void)record_add_peaks(output, &ignored);
        return settings->is_quiet ? ASSAY_OK
                                  : record_show(settings->output, err);
    }
    st = record_find_part(settings->output, before, &part, err);
    if (!st && part.n) {
        message_note("the program was ended before it could write %s; what it "
                     "had recorded is in %s",
                     settings->output, part.text);
        if (!settings->is_quiet)
            st = record_show(part.text, err);
    } else if (!st) {
        message_note("nothing was recorded: the program did not import "
                     "PyTorch, or Python ran with -I, -E or -S");
    }
    str_release(&part);
    return st;
}

/* A program that cannot be recorded ends with a sentence of its own and 3. */
static bool record_was_refused(const struct program_end *end)
{
    return !end->signal && end->code == status_exit_code(ASSAY_IO);
}

static enum assay_status record_run(const struct settings *settings,
                                    const char *const *words,
                                    const char *output, struct program_end *end,
                                    struct error *err)
{
    struct record_before before = record_look(output);
    enum assay_status st = record_set_variables(settings, output, err);

    if (!st)
        st = program_run(words, end, err);
    if (!st && (record_is_new(output, &before) || !record_was_refused(end)))
        st = record_report(settings, output, &before, err);
    return st;
}

static enum assay_status run_record(const struct arguments *arguments,
                                    struct error *err)
{
    const struct settings *settings = arguments->settings;
    const struct words *operands = &arguments->operands;
    const char **words = mem_array(operands->n + 1, sizeof *words);
    struct program_end end = {0};
    struct str output = {0};
    enum assay_status st = result_check_run(settings->output, err);

    if (!st && !words)
        st = error_nomem(err, operands->n * sizeof *words, "the command line");
    if (!st)
        st = record_check_output(settings->output, &output, err);
    for (size_t i = 0; !st && i <= operands->n; i++)
        words[i] = i < operands->n ? operands->items[i] : NULL;
    if (!st)
        st = record_run(settings, words, output.text, &end, err);
    str_release(&output);
    mem_free(words);
    if (!st)
        program_end_as(&end);
    return st;
}

const struct command cmd_record = {
    .name = "record",
    .section = "Runs",
    .purpose = "run your own PyTorch program and see what it costs",
    .usage = TEXTS("record [options] -- PROGRAM [ARGUMENT]..."),
    .operands = {.min = 1,
                 .max = SIZE_MAX,
                 .missing = "a program, such as -- python3 train.py",
                 .endings = TEXTS(".py")},
    .description = TEXTS(
        "Starts the program and records the first Python process in it that "
        "imports PyTorch: every module forward and backward, the optimizer and "
        "the wait for data. Then shows the run on one screen. The times are "
        "those of PyTorch, not of Assay's own engine.",
        "A program that fails or is interrupted leaves a complete run. One "
        "that is killed leaves a .part file, which is shown as far as it "
        "goes.",
        "Everything after -- is the program and its arguments."),
    .options = options,
    .examples =
        EXAMPLES({"record -- python3 train.py --epochs 1", "record a training"},
                 {"record -o night.assay --warm-up 5 -- python3 -m tools.train",
                  "a module, without its first five iterations"}),
    .exit_codes = "the program's own; 128 plus the signal that killed it",
    .settings_bytes = sizeof(struct settings),
    .defaults = &defaults,
    .run = run_record,
};
