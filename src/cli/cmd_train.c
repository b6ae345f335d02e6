/* cli/cmd_train.c - assay train: a model learns, profiled. */
#include "cli/command.h"

#include "base/cache.h"
#include "base/mem.h"
#include "cli/file_roles.h"
#include "cli/interrupt.h"
#include "cli/look.h"
#include "cli/messages.h"
#include "cli/result.h"
#include "cli/run_settings.h"
#include "cli/train_echo.h"
#include "cli/train_progress.h"
#include "cli/train_settings.h"
#include "formats/weights/published.h"
#include "store/store.h"
#include "views/views.h"

#include <inttypes.h>
#include <string.h>

static const struct train_settings defaults = TRAIN_DEFAULTS;

/* A command line on its way. */
struct errand {
    const struct train_settings *settings;
    const char *path; /* of the settings; NULL: not named */
    struct train_config config;
    struct str run, checkpoint, pictures, choices, peaks;
    struct machine machine;
    const char **recompute;
    struct train_progress progress;
    struct run_files files;
    bool is_random;      /* the weights it began with */
    uint64_t n_measured; /* steps that the run has */
    struct run *run_made;
    struct train_report report;
};

static void errand_release(struct errand *errand)
{
    train_config_release(&errand->config);
    str_release(&errand->run);
    str_release(&errand->checkpoint);
    str_release(&errand->pictures);
    str_release(&errand->choices);
    str_release(&errand->peaks);
    mem_free(errand->recompute);
    run_files_discard(&errand->files);
    run_free(errand->run_made);
}

/* ---- before ------------------------------------------------------------ */

/* The checkpoint stands beside the run, and so do the pictures for those who
 * show some. */
static enum assay_status name_files(struct errand *errand, struct error *err)
{
    static const char *const endings[] = {STORE_SUFFIX, NULL};
    const struct run_file_names *files = &errand->settings->files;
    const char *output = errand->settings->output;
    enum assay_status st;

    st = output ? str_append(&errand->run, output)
                : str_printf(&errand->run, "%s/run" STORE_SUFFIX,
                             errand->config.profile.output);
    if (st)
        return error_nomem(err, errand->run.n, "a file name");
    st = result_name(errand->run.text, endings, ".safetensors",
                     &errand->checkpoint, err);
    if (!st && (files->html || files->tensorboard))
        st = result_name(errand->run.text, endings, "_pictures",
                         &errand->pictures, err);
    return st || output ? st : cache_make_folders(errand->run.text, err);
}

static enum assay_status list_recompute(struct errand *errand,
                                        struct error *err)
{
    const struct words *words = &errand->settings->recompute;

    errand->recompute = mem_array(words->n + 1, sizeof *errand->recompute);
    if (!errand->recompute)
        return error_nomem(err, words->n, "the modules to recompute");
    for (size_t i = 0; i < words->n; i++)
        errand->recompute[i] = words->items[i];
    return ASSAY_OK;
}

/* In the first second, not after the last step. */
static enum assay_status check_file(const char *path, struct error *err)
{
    struct output *output = NULL;
    enum assay_status st = output_open(path, &output, err);

    output_discard(output);
    return st;
}

static bool is_same_file(const char *a, const char *b)
{
    struct place first, second;

    return place_find(a, &first) && place_find(b, &second) &&
           place_is_same(&first, &second);
}

/* Nothing is written over what the training is made from. A checkpoint that is
 * gone on from may be followed by the next one under its name. */
static enum assay_status check_roles(const struct errand *errand,
                                     struct error *err)
{
    const struct train_settings *settings = errand->settings;
    const char *checkpoint = errand->checkpoint.text;
    struct file_roles roles = {0};
    enum assay_status st;

    file_roles_write(&roles, "the run", errand->run.text);
    file_roles_write(&roles, "the checkpoint", checkpoint);
    file_roles_write(&roles, "--export", settings->export_path);
    file_roles_write(&roles, "--trace", settings->files.trace);
    file_roles_write(&roles, "--html", settings->files.html);
    file_roles_read(&roles, errand->path ? errand->path : TRAIN_CONFIG_PATH);
    file_roles_read(&roles, errand->config.model.name);
    file_roles_read(&roles, errand->config.model.weights);
    if (settings->resume && !is_same_file(settings->resume, checkpoint))
        file_roles_read(&roles, settings->resume);
    st = file_roles_check(&roles, err);
    file_roles_release(&roles);
    return st;
}

static enum assay_status open_outputs(struct errand *errand, struct error *err)
{
    const struct train_settings *settings = errand->settings;
    enum assay_status st = name_files(errand, err);

    if (!st)
        st = check_roles(errand, err);
    if (!st)
        st = check_file(errand->run.text, err);
    if (!st && settings->export_path)
        st = check_file(settings->export_path, err);
    if (!st)
        st = list_recompute(errand, err);
    if (!st)
        st = run_files_open(&errand->files, &settings->files, errand->run.text,
                            err);
    run_find_choices(&errand->choices);
    return st;
}

/* ---- during ------------------------------------------------------------ */

static enum assay_status echo_settings(const struct train_config *config,
                                       struct error *err)
{
    struct result result;
    enum assay_status st = result_open(NULL, &result, err);

    if (st)
        return st;
    train_echo_config(config, &result.term, result.sink);
    return result_close(&result, ASSAY_OK, err);
}

/* A screen that cannot be written to is noticed at the latest at the end. */
static void planned(void *context, const struct train_plan *plan)
{
    struct errand *errand = context;
    struct error ignored = {0};
    struct result result;

    errand->is_random = strncmp(str_text(&plan->weights), "random", 6) == 0;
    if (result_open(NULL, &result, &ignored))
        return;
    train_echo_plan(plan, &result.term, result.sink);
    sink_puts(result.sink, "\n");
    if (result_close(&result, ASSAY_OK, &ignored))
        return;
}

static void stepped(void *context, const struct train_step *step)
{
    struct errand *errand = context;

    errand->n_measured += !step->is_warm_up;
    train_progress_step(&errand->progress, step);
}

/* A warning takes the place of the line about progress, which comes back with
 * the next step. */
static bool write_warning(void *context, const char *bytes, size_t n)
{
    struct errand *errand = context;

    train_progress_finish(&errand->progress);
    return fwrite(bytes, 1, n, stderr) == n;
}

/* NULL: nobody asked for pictures. */
static const char *folder_of(const struct errand *errand)
{
    return errand->pictures.n ? errand->pictures.text : NULL;
}

/* Before there is a second thread. What was never measured stays unknown: it
 * would take longer than a short training. */
static bool look_at_machine(struct errand *errand)
{
    struct machine_options wanted = look_options(
        errand->config.training.threads, MACHINE_CACHED, &errand->peaks);
    struct error ignored = {0};

    return !machine_look(&wanted, &errand->machine, &ignored);
}

static enum assay_status train(struct errand *errand, struct error *err)
{
    const struct train_settings *settings = errand->settings;
    struct term term = term_of(stderr);
    struct sink screen = sink_to_file(stderr, "standard error");
    struct sink warnings = {
        .write = write_warning, .context = errand, .name = "standard error"};
    const struct train_job job = {
        .config = &errand->config,
        .run_path = errand->run.text,
        .checkpoint_path = errand->checkpoint.text,
        .resume = settings->resume,
        .export_path = settings->export_path,
        .pictures_folder = folder_of(errand),
        .recompute = errand->recompute,
        .choices_path = errand->choices.n ? errand->choices.text : NULL,
        .tuning_seconds = settings->tuning_seconds,
        .n_processors = look_processors(),
        .machine = look_at_machine(errand) ? &errand->machine : NULL,
        .stop = interrupt_watch(),
        .planned = planned,
        .stepped = stepped,
        .context = errand,
        .warnings = &warnings,
        .run = &errand->run_made,
    };
    enum assay_status st;

    errand->progress = train_progress_start(&screen, &term, clock_real());
    st = train_run(&job, &errand->report, err);
    train_progress_finish(&errand->progress);
    return st;
}

/* ---- after ------------------------------------------------------------- */

static void tell_stopped(const struct errand *errand)
{
    const struct train_report *report = &errand->report;

    if (!report->is_stopped)
        return;
    if (report->n_steps)
        message_note("stopped behind step %" PRIu64
                     "; --resume %s goes on from there%s",
                     report->last_step, errand->checkpoint.text,
                     errand->n_measured ? ""
                                        : "; no step was measured yet, so no "
                                          "run was written");
    else
        message_note("stopped before the first step; nothing was written");
}

/* A failure that leaves something to go on from. */
static void tell_failed(const struct errand *errand)
{
    if (errand->report.n_steps && errand->report.has_checkpoint)
        message_note("%s holds step %" PRIu64 "; --resume goes on from there",
                     errand->checkpoint.text, errand->report.last_step);
    if (errand->report.has_run)
        message_note("%s has what was measured; 'assay show' shows it",
                     errand->run.text);
}

/* "train/run_pictures/ with 12 boxes on 4 images" */
static enum assay_status list_pictures(const struct errand *errand,
                                       struct str *wrote, struct error *err)
{
    const struct train_report *report = &errand->report;
    enum assay_status st =
        str_printf(wrote, ", %s/ with ", errand->pictures.text);

    if (!st && report->n_boxes)
        st = str_printf(wrote, "%" PRIu64, report->n_boxes);
    else if (!st)
        st = str_append(wrote, "no");
    if (!st)
        st = str_printf(wrote, " box%s on %" PRIu64 " images",
                        report->n_boxes == 1 ? "" : "es", report->n_pictures);
    return st ? error_nomem(err, wrote->n, "the names of what was written")
              : ASSAY_OK;
}

static enum assay_status write_files(struct errand *errand,
                                     const struct run *run, struct str *wrote,
                                     struct error *err)
{
    const char *exported = errand->settings->export_path;
    const char *pictures =
        errand->report.n_pictures ? errand->pictures.text : NULL;
    enum assay_status st = result_list(errand->run.text, wrote, err);

    if (!st)
        st = result_list(errand->checkpoint.text, wrote, err);
    if (!st && exported)
        st = result_list(exported, wrote, err);
    if (!st)
        st = run_files_write(&errand->files, run, pictures, pictures, wrote,
                             err);
    return st || !pictures ? st : list_pictures(errand, wrote, err);
}

/* Why it may have learned little, and the way to a better start. */
static enum assay_status tell_note(const struct errand *errand,
                                   struct str *text, struct error *err)
{
    const char *model = model_full_name(errand->config.model.name);

    if (!errand->is_random || !model || !published_find(model))
        return ASSAY_OK;
    if (str_printf(text,
                   "it began with random weights; `assay weights fetch %s` "
                   "gets published ones to begin with",
                   model))
        return error_nomem(err, text->n, "a note");
    return ASSAY_OK;
}

/* Going on wants the settings of the beginning. */
static enum assay_status tell_next(const struct errand *errand,
                                   struct str *text, struct error *err)
{
    enum assay_status st;

    if (train_settings_are_over(errand->settings))
        st = str_append(text, "the same command with");
    else
        st = str_printf(text, "assay train%s%s", errand->path ? " " : "",
                        errand->path ? errand->path : "");
    if (!st)
        st =
            str_printf(text, " --resume %s --steps N", errand->checkpoint.text);
    return st ? error_nomem(err, text->n, "a note") : ASSAY_OK;
}

static enum assay_status write_summary(const struct errand *errand,
                                       const struct run *run, const char *wrote,
                                       struct result *result, struct error *err)
{
    struct view_options view = view_defaults(result->term);
    struct str note = {0}, next = {0};
    enum assay_status st = tell_note(errand, &note, err);

    if (!st)
        st = tell_next(errand, &next, err);
    if (!st) {
        view.source = errand->run.text;
        view.wrote = wrote;
        view.note = note.n ? note.text : NULL;
        view.next = next.text;
        st = view_summary(run, &view, result->sink, err);
    }
    str_release(&next);
    str_release(&note);
    return st;
}

/* What is on the screen does not depend on what goes into files, nor on who
 * else writes to their names. */
static enum assay_status show_result(struct errand *errand, struct error *err)
{
    const struct run *run = errand->run_made;
    enum assay_status st, written;
    struct error unwritten = {0};
    struct result result = {0};
    struct str wrote = {0};

    written = write_files(errand, run, &wrote, &unwritten);
    st = result_open(NULL, &result, err);
    if (!st) {
        st = write_summary(errand, run, str_text(&wrote), &result, err);
        st = result_close(&result, st, err);
    }
    if (!st && written)
        st = error_set(err, written, "%s", unwritten.text);
    str_release(&wrote);
    return st;
}

static enum assay_status show_defaults(struct error *err)
{
    struct result result;
    enum assay_status st = result_open(NULL, &result, err);

    if (st)
        return st;
    train_config_write_defaults(result.sink);
    return result_close(&result, ASSAY_OK, err);
}

static enum assay_status run_train(const struct arguments *arguments,
                                   struct error *err)
{
    struct errand errand = {.settings = arguments->settings};
    enum assay_status st;

    if (errand.settings->shows_defaults)
        return show_defaults(err);
    if (arguments->operands.n)
        errand.path = arguments->operands.items[0];
    st = train_settings_read(errand.settings, errand.path, &errand.config, err);
    if (!st)
        st = open_outputs(&errand, err);
    if (!st)
        st = echo_settings(&errand.config, err);
    if (!st) {
        st = train(&errand, err);
        if (st)
            tell_failed(&errand);
        else
            tell_stopped(&errand);
    }
    if (!st && errand.run_made)
        st = show_result(&errand, err);
    errand_release(&errand);
    return st;
}

const struct command cmd_train = {
    .name = "train",
    .section = "Models",
    .purpose = "train a model and show what its steps cost",
    .usage = (const char *const[]){"train [options] [CONFIG]", NULL},
    .operands = {.max = 1, .endings = (const char *const[]){".toml", NULL}},
    .description =
        (const char *const[]){
            "Trains a model on a dataset as a TOML file says, records every "
            "step and ends on one screen: what a step consists of, which "
            "modules the forward and the backward pass spend it in, who owns "
            "the memory, whether the data keeps up.",
            "Without CONFIG the file is .config/config.toml, and where that is "
            "not there every setting has its default: "
            "fasterrcnn_resnet50_fpn on Oxford-IIIT Pet in "
            "data/oxford-iiit-pet, from the published weights where 'assay "
            "weights fetch' brought them, else from random ones.",
            "Ctrl-C ends after the step under way: the run and a checkpoint to "
            "--resume from are written.",
            NULL,
        },
    .options = train_options,
    .examples =
        (const struct example[]){
            {"train --synthetic --steps 20 --min-size 128",
             "without a dataset: see what a step costs here"},
            {"train my.toml --steps 50 --html report.html",
             "50 steps of a training of yours, with a report"},
            {"train my.toml --resume train/run.safetensors --steps 100",
             "go on to the hundredth step"},
            {"train --defaults > .config/config.toml",
             "a file with every setting to start from"},
            {NULL, NULL},
        },
    .settings_bytes = sizeof(struct train_settings),
    .defaults = &defaults,
    .run = run_train,
};
