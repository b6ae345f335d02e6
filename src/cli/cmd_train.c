/* cli/cmd_train.c - assay train: trains a model and profiles its steps. */
#include "cli/command.h"

#include "base/cache.h"
#include "base/mem.h"
#include "base/processor.h"
#include "cli/file_roles.h"
#include "cli/interrupt.h"
#include "cli/look.h"
#include "cli/messages.h"
#include "cli/result.h"
#include "cli/run_settings.h"
#include "cli/train_echo.h"
#include "cli/train_events.h"
#include "cli/train_progress.h"
#include "cli/train_settings.h"
#include "formats/weights/published.h"
#include "store/store.h"
#include "views/views.h"

#include <inttypes.h>
#include <string.h>

static const struct train_settings defaults = TRAIN_DEFAULTS;

/* A command line being carried out. */
struct train_errand {
    const struct train_settings *settings;
    const char *path; /* of the settings file; NULL: not given */
    struct train_config config;
    struct str run, checkpoint, pictures, choices, peaks;
    struct machine machine;
    const char **recompute;
    struct train_progress progress;
    struct train_events events;
    struct run_files files;
    bool is_random;      /* the weights it began with */
    uint64_t n_measured; /* steps that the run has */
    struct run *run_made;
    struct train_report report;
};

static void errand_release(struct train_errand *errand)
{
    train_config_release(&errand->config);
    str_release(&errand->run);
    str_release(&errand->checkpoint);
    str_release(&errand->pictures);
    str_release(&errand->choices);
    str_release(&errand->peaks);
    mem_free(errand->recompute);
    train_events_close(&errand->events);
    run_files_discard(&errand->files);
    run_free(errand->run_made);
}

/* ---- before ------------------------------------------------------------ */

/* The checkpoint goes next to the run, and so do the pictures if a report or an
 * event file shows them. */
static enum assay_status train_name_files(struct train_errand *errand,
                                          struct error *err)
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

static enum assay_status train_list_recompute(struct train_errand *errand,
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

/* Fails in the first second, not after the last step. */
static enum assay_status train_check_file(const char *path, struct error *err)
{
    struct output *output = NULL;
    enum assay_status st = output_open(path, &output, err);

    output_discard(output);
    return st;
}

static bool train_is_same_file(const char *a, const char *b)
{
    struct place first, second;

    return place_find(a, &first) && place_find(b, &second) &&
           place_is_same(&first, &second);
}

/* No output may be what the training reads. The next checkpoint may replace the
 * one that --resume names. */
static enum assay_status train_check_roles(const struct train_errand *errand,
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
    if (settings->resume && !train_is_same_file(settings->resume, checkpoint))
        file_roles_read(&roles, settings->resume);
    st = file_roles_check(&roles, err);
    file_roles_release(&roles);
    return st;
}

static enum assay_status train_open_outputs(struct train_errand *errand,
                                            struct error *err)
{
    const struct train_settings *settings = errand->settings;
    enum assay_status st = train_name_files(errand, err);

    if (!st)
        st = train_check_roles(errand, err);
    if (!st)
        st = train_check_file(errand->run.text, err);
    if (!st && settings->export_path)
        st = train_check_file(settings->export_path, err);
    if (!st)
        st = train_list_recompute(errand, err);
    if (!st)
        st = run_files_open(&errand->files, &settings->files, errand->run.text,
                            err);
    run_find_choices(&errand->choices);
    return st;
}

/* ---- during ------------------------------------------------------------ */

static enum assay_status train_echo_settings(const struct train_config *config,
                                             struct error *err)
{
    struct result result;
    enum assay_status st = result_open(NULL, &result, err);

    if (st)
        return st;
    train_echo_config(config, &result.term, result.sink);
    return result_close(&result, ASSAY_OK, err);
}

/* A screen that cannot be written to is noticed at the end at the latest. */
static void train_planned(void *context, const struct train_plan *plan)
{
    struct train_errand *errand = context;
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

static void train_stepped(void *context, const struct train_step *step)
{
    struct train_errand *errand = context;

    errand->n_measured += !step->is_warm_up;
    train_progress_step(&errand->progress, step);
    train_events_step(&errand->events, step);
}

static void train_pictured(void *context, uint64_t step)
{
    struct train_errand *errand = context;

    train_events_show(&errand->events, step, errand->pictures.text);
}

/* A warning takes the place of the progress line, which comes back with the
 * next step. */
static bool train_write_warning(void *context, const char *bytes, size_t n)
{
    struct train_errand *errand = context;

    train_progress_finish(&errand->progress);
    return fwrite(bytes, 1, n, stderr) == n;
}

/* NULL: nobody asked for pictures. */
static const char *train_pictures(const struct train_errand *errand)
{
    return errand->pictures.n ? errand->pictures.text : NULL;
}

/* Before there is a second thread. Peaks that were never measured stay unknown:
 * measuring them would take longer than a short training. */
static bool train_look_at_machine(struct train_errand *errand)
{
    const struct device *device = device_cpu();
    struct machine_options wanted;
    struct error ignored = {0};

    (void)train_device(&errand->config, &device, &ignored);
    wanted = look_options(device, errand->config.training.threads,
                          MACHINE_CACHED, &errand->peaks);
    wanted.precision = (enum precision)errand->config.training.precision;
    return !machine_look(&wanted, &errand->machine, &ignored);
}

static enum assay_status train_do(struct train_errand *errand,
                                  struct error *err)
{
    const struct train_settings *settings = errand->settings;
    struct term term = term_of(stderr);
    struct sink screen = sink_to_file(stderr, "standard error");
    struct sink warnings = {.write = train_write_warning,
                            .context = errand,
                            .name = "standard error"};
    const struct train_job job = {
        .config = &errand->config,
        .run_path = errand->run.text,
        .checkpoint_path = errand->checkpoint.text,
        .resume = settings->resume,
        .export_path = settings->export_path,
        .pictures_folder = train_pictures(errand),
        .recompute = errand->recompute,
        .choices_path = errand->choices.n ? errand->choices.text : NULL,
        .tuning_seconds = settings->tuning_seconds,
        .n_processors = processor_count(),
        .machine = train_look_at_machine(errand) ? &errand->machine : NULL,
        .stop = interrupt_watch(),
        .planned = train_planned,
        .stepped = train_stepped,
        .pictured = settings->files.tensorboard ? train_pictured : NULL,
        .context = errand,
        .warnings = &warnings,
        .run = &errand->run_made,
    };
    enum assay_status st;

    errand->progress = train_progress_start(&screen, &term, clock_real());
    st = settings->files.tensorboard
             ? train_events_open(&errand->events, settings->files.tensorboard,
                                 errand->run.text, err)
             : ASSAY_OK;
    if (!st)
        st = train_run(&job, &errand->report, err);
    errand->files.has_steps = errand->events.is_whole;
    train_events_close(&errand->events);
    train_progress_finish(&errand->progress);
    return st;
}

/* ---- after ------------------------------------------------------------- */

static void train_report_stop(const struct train_errand *errand)
{
    const struct train_report *report = &errand->report;

    if (!report->is_stopped)
        return;
    if (report->n_steps)
        message_note("stopped after step %" PRIu64
                     "; --resume %s continues from there%s",
                     report->last_step, errand->checkpoint.text,
                     errand->n_measured ? ""
                                        : "; no step was measured yet, so no "
                                          "run was written");
    else
        message_note("stopped before the first step; nothing was written");
}

/* In float16: steps that looked for a scale of the losses. */
static void train_report_unscaled(const struct train_errand *errand)
{
    uint64_t n = errand->report.n_unscaled;

    if (n)
        message_note("%" PRIu64 " step%s skipped, with gradients that float16 "
                     "cannot hold: losses are scaled less since",
                     n, n == 1 ? " was" : "s were");
}

/* Who had a device's memory, and what would do with less. */
static void train_report_shortage(const struct train_shortage *shortage)
{
    static const double mib = 0x1p20;

    if (!shortage->batch)
        return;
    message_note("live at most: weights %.0f, activations %.0f, gradients "
                 "%.0f, optimizer state %.0f MiB",
                 (double)shortage->weights_bytes / mib,
                 (double)shortage->activations_bytes / mib,
                 (double)shortage->gradients_bytes / mib,
                 (double)shortage->optimizer_bytes / mib);
    if (shortage->fitting_batch)
        message_note("--batch %" PRId64 " is the most that could fit ('assay "
                     "fit' finds the largest); --recompute MODULE keeps less",
                     shortage->fitting_batch);
    else
        message_note("not even one image fits; a smaller --min-size needs "
                     "less, --recompute MODULE keeps less");
}

/* After a failure: what is left to continue from. */
static void train_report_failure(const struct train_errand *errand)
{
    train_report_shortage(&errand->report.shortage);
    if (errand->report.has_checkpoint)
        message_note("%s holds step %" PRIu64 "; --resume continues from there",
                     errand->checkpoint.text, errand->report.saved_step);
    else if (errand->report.n_steps)
        message_note("there is no checkpoint yet (training.checkpoint_every is "
                     "%" PRId64 ")",
                     errand->config.training.checkpoint_every);
    if (errand->report.has_run)
        message_note("%s has what was measured; view it with 'assay show'",
                     errand->run.text);
}

/* "train/run_pictures/ with 12 boxes on 4 images" */
static enum assay_status train_list_pictures(const struct train_errand *errand,
                                             struct str *wrote,
                                             struct error *err)
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

static enum assay_status train_write_files(struct train_errand *errand,
                                           const struct run *run,
                                           struct str *wrote, struct error *err)
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
    return st || !pictures ? st : train_list_pictures(errand, wrote, err);
}

/* Why it may have learned little, and how to start better. */
static enum assay_status train_write_note(const struct train_errand *errand,
                                          struct str *text, struct error *err)
{
    const char *model = model_full_name(errand->config.model.name);

    if (!errand->is_random || !model || !published_find(model))
        return ASSAY_OK;
    if (str_printf(text,
                   "training began with random weights; `assay weights fetch "
                   "%s` gets published ones to begin with",
                   model))
        return error_nomem(err, text->n, "a note");
    return ASSAY_OK;
}

/* Continuing needs the same settings. */
static enum assay_status train_write_next(const struct train_errand *errand,
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

static enum assay_status
train_write_summary(const struct train_errand *errand, const struct run *run,
                    const char *wrote, struct result *result, struct error *err)
{
    struct view_options view = view_defaults(result->term);
    struct str note = {0}, next = {0};
    enum assay_status st = train_write_note(errand, &note, err);

    if (!st)
        st = train_write_next(errand, &next, err);
    if (!st) {
        view.source = errand->run.text;
        view.wrote = wrote;
        view.note = note.n ? note.text : NULL;
        view.next = next.text;
        st = errand->settings->is_full
                 ? view_summary(run, &view, result->sink, err)
                 : view_brief(run, &view, result->sink, err);
    }
    str_release(&next);
    str_release(&note);
    return st;
}

/* The screen depends neither on the files that are written nor on who else
 * writes to their names. */
static enum assay_status train_show_result(struct train_errand *errand,
                                           struct error *err)
{
    const struct run *run = errand->run_made;
    enum assay_status st, written;
    struct error unwritten = {0};
    struct result result = {0};
    struct str wrote = {0};

    written = train_write_files(errand, run, &wrote, &unwritten);
    st = result_open(NULL, &result, err);
    if (!st) {
        st = train_write_summary(errand, run, str_text(&wrote), &result, err);
        st = result_close(&result, st, err);
    }
    if (!st && written)
        st = error_set(err, written, "%s", unwritten.text);
    str_release(&wrote);
    return st;
}

static enum assay_status train_show_defaults(struct error *err)
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
    struct train_errand errand = {.settings = arguments->settings};
    enum assay_status st;

    if (errand.settings->shows_defaults)
        return train_show_defaults(err);
    if (arguments->operands.n)
        errand.path = arguments->operands.items[0];
    st = train_settings_read(errand.settings, errand.path, &errand.config, err);
    if (!st)
        st = train_config_check(&errand.config, err);
    if (!st)
        st = train_fetch_missing(&errand.settings->fetch, &errand.config, err);
    if (!st)
        st = train_open_outputs(&errand, err);
    if (!st)
        st = train_echo_settings(&errand.config, err);
    if (!st) {
        st = train_do(&errand, err);
        if (st)
            train_report_failure(&errand);
        else
            train_report_stop(&errand);
        train_report_unscaled(&errand);
    }
    if (!st && errand.run_made)
        st = train_show_result(&errand, err);
    errand_release(&errand);
    return st;
}

const struct command cmd_train = {
    .name = "train",
    .section = "Models",
    .purpose = "train a model and show what its steps cost",
    .usage = TEXTS("train [options] [CONFIG]"),
    .operands = {.max = 1, .endings = TEXTS(".toml")},
    .description = TEXTS(
        "Trains a model on a dataset as a TOML file says, records every "
        "step and ends with a summary of 80x24 (--full for all of it): what a "
        "step consists of, "
        "how much of it each module takes in the forward and the backward "
        "pass, who owns the memory, whether the data keeps up.",
        "Without CONFIG the file is .config/config.toml; if it does not "
        "exist, every setting has its default: fasterrcnn_resnet50_fpn on "
        "Oxford-IIIT Pet in data/oxford-iiit-pet, starting from the "
        "published weights if they were fetched, else from random ones. On a "
        "terminal a training that lacks the dataset or the weights offers to "
        "fetch them; with --fetch it does so without asking.",
        "Ctrl-C stops after the current step and writes the run and a "
        "checkpoint for --resume."),
    .options = train_options,
    .examples =
        EXAMPLES({"train --fetch --steps 50",
                  "from nothing: fetch dataset and weights, then train"},
                 {"train --synthetic --steps 20 --min-size 128",
                  "without a dataset: what a step costs on this machine"},
                 {"train my.toml --steps 50 --html report.html",
                  "50 steps of your own training, with a report"},
                 {"train my.toml --resume train/run.safetensors --steps 100",
                  "continue up to step 100"},
                 {"train --defaults > .config/config.toml",
                  "a file with all settings to start from"}),
    .settings_bytes = sizeof(struct train_settings),
    .defaults = &defaults,
    .run = run_train,
};
