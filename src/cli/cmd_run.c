/* cli/cmd_run.c - assay run: photographs through a model, profiled. */
#include "cli/command.h"

#include "base/file.h"
#include "cli/interrupt.h"
#include "cli/look.h"
#include "cli/messages.h"
#include "cli/result.h"
#include "cli/run_settings.h"
#include "cli/sweep.h"
#include "formats/weights/published.h"
#include "store/store.h"
#include "views/views.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct run_settings defaults = RUN_DEFAULTS;

/* NULL: nothing was drawn. */
static const char *drawn_folder(const struct run_settings *settings,
                                const struct detect_report *report)
{
    if (!report->n_drawn)
        return NULL;
    return settings->drawn_dir ? settings->drawn_dir : ".";
}

/* "run.assay 0.2 MB, street_targets.jpg and 23 more" */
static enum assay_status tell_wrote(struct str *text,
                                    const struct detect_options *job,
                                    const struct detect_report *report,
                                    struct error *err)
{
    enum assay_status st = result_list(job->run_path, text, err);

    if (!st && report->n_drawn)
        st = str_printf(text, ", %s", str_text(&report->first_drawn));
    if (!st && report->n_drawn > 1)
        st = str_printf(text, " and %zu more", report->n_drawn - 1);
    return st ? error_nomem(err, text->n, "the names of what was written") : st;
}

/* Why nothing is drawn, and the way to weights that find something. */
static enum assay_status
tell_note(struct str *text, const struct detect_options *job, struct error *err)
{
    const struct published *published = published_find(job->model);
    struct str path = {0};
    bool is_here = false;
    enum assay_status st;

    if (job->weights || job->is_onnx || job->is_random)
        return ASSAY_OK;
    if (published && published_path(published, &path, &is_here, NULL))
        is_here = false;
    st = str_append(text, "the weights are random, so what is found means "
                          "nothing");
    if (!st && isnan(job->score) && job->decode == DECODE_DETECTOR)
        st = str_append(text, " and nothing is drawn (--score X draws anyway)");
    if (!st && is_here)
        st = str_printf(text, "; published ones are here: --weights %s",
                        str_text(&path));
    else if (!st && published)
        st = str_printf(text,
                        "; `assay weights fetch %s` gets published ones, "
                        "--weights FILE uses them",
                        job->model);
    str_release(&path);
    return st ? error_nomem(err, text->n, "a note") : ASSAY_OK;
}

/* Texts for behind the screen. */
struct extras {
    struct str explained, found;
};

/* Lines with names of files and models, which may be any bytes. Cuts the text
 * up; returns how many lines are left behind the first. */
static size_t write_lines(struct str *text, size_t most, struct result *result)
{
    char *rest = text->text, *line;
    size_t n = 0;

    while (text->n && (line = strsep(&rest, "\n")) && (*line || rest)) {
        if (n++ >= most)
            continue;
        text_put(result->sink, &result->term, line);
        sink_puts(result->sink, "\n");
    }
    return n > most ? n - most : 0;
}

static void write_extras(struct extras *extras, struct result *result)
{
    static const size_t most_found = 40;
    size_t left;

    if (extras->found.n)
        sink_puts(result->sink, "\nfound\n");
    left = write_lines(&extras->found, most_found, result);
    if (left)
        sink_printf(result->sink, "  ... and %zu more\n", left);
    (void)write_lines(&extras->explained, SIZE_MAX, result);
}

static enum assay_status write_json(const struct run *run,
                                    const struct detect_options *job,
                                    const struct extras *extras,
                                    struct result *result, struct error *err)
{
    struct view_options view = view_defaults(result->term);

    view.source = job->run_path;
    view.found = extras->found.n ? str_text(&extras->found) : NULL;
    return view_json(run, &view, result->sink, err);
}

static enum assay_status write_summary(const struct run *run,
                                       const struct detect_options *job,
                                       struct extras *extras, const char *wrote,
                                       struct result *result, struct error *err)
{
    struct view_options view = view_defaults(result->term);
    struct str note = {0};
    enum assay_status st = tell_note(&note, job, err);

    if (!st) {
        view.source = job->run_path;
        view.wrote = wrote;
        view.note = note.n ? str_text(&note) : NULL;
        st = view_summary(run, &view, result->sink, err);
        write_extras(extras, result);
    }
    str_release(&note);
    return st;
}

/* What is on the screen does not depend on what goes into files, nor on who
 * else writes to their names. */
static enum assay_status show_result(const struct run_settings *settings,
                                     const struct detect_options *job,
                                     const struct detect_report *report,
                                     struct extras *extras,
                                     struct run_files *files, struct error *err)
{
    const char *folder = drawn_folder(settings, report);
    const struct run *run = report->run;
    enum assay_status st, written = ASSAY_OK;
    struct error unwritten = {0};
    struct result result = {0};
    struct str wrote = {0};

    st = tell_wrote(&wrote, job, report, err);
    if (!st)
        written =
            run_files_write(files, run, settings->has_pictures ? folder : NULL,
                            folder, &wrote, &unwritten);
    if (!st)
        st = result_open(NULL, &result, err);
    if (!st) {
        st = settings->is_json ? write_json(run, job, extras, &result, err)
                               : write_summary(run, job, extras,
                                               str_text(&wrote), &result, err);
        st = result_close(&result, st, err);
    }
    if (!st && written)
        st = error_set(err, written, "%s", unwritten.text);
    str_release(&wrote);
    return st;
}

static void tell_stopped(const struct detect_options *job,
                         const struct detect_report *report)
{
    if (report->n_measured >= job->n_images)
        return;
    if (report->n_measured)
        message_note("stopped after %" PRIu64 " of %" PRIu64
                     " images; the run has those",
                     report->n_measured, job->n_images);
    else
        message_note("stopped before anything was measured; no run was "
                     "written");
}

static enum assay_status profile(const struct run_settings *settings,
                                 struct detect_options *job,
                                 const struct photos *photos, struct error *err)
{
    struct term term = term_of(stderr);
    struct sink screen = sink_to_file(stderr, "standard error");
    struct progress progress =
        progress_start(&screen, &term, clock_real(), "running", "images",
                       job->precision_goal > 0 ? 0 : job->n_images);
    struct detect_report report = {0};
    struct extras extras = {0};
    struct sink explain = sink_to_str(&extras.explained);
    struct sink found = sink_to_str(&extras.found);
    struct run_files files = {0};
    enum assay_status st;

    job->stop = interrupt_watch();
    job->progress = &progress;
    job->warnings = &screen;
    job->onnx.problems = &screen;
    job->explain = settings->has_explain ? &explain : NULL;
    job->found = job->weights || job->is_onnx ? &found : NULL;
    job->found_as_json = settings->is_json;
    st = run_files_open(&files, &settings->files, job->run_path, err);
    if (!st)
        st = detect_run(job, photos, &report, err);
    progress_finish(&progress);
    if (!st && *job->stop)
        tell_stopped(job, &report);
    if (!st && report.n_measured)
        st = show_result(settings, job, &report, &extras, &files, err);
    run_files_discard(&files);
    detect_report_release(&report);
    str_release(&extras.explained);
    str_release(&extras.found);
    return st;
}

/* A machine is measured when it is first needed, but no one who asked for a few
 * iterations only waits for it. */
static struct machine_options look_for(const struct detect_options *job,
                                       struct str *path)
{
    static const uint64_t quick = 5; /* fewer iterations than this */
    static const double seconds = 1.2;
    bool is_quick = !(job->precision_goal > 0) &&
                    job->n_images / (uint64_t)job->build.n_images < quick;
    struct machine_options wanted = look_options(
        job->n_threads, is_quick ? MACHINE_CACHED : MACHINE_NEEDED, path);

    wanted.seconds = seconds;
    return wanted;
}

/* No output is a photograph, or another output. */
static enum assay_status check_roles(const struct run_job *job,
                                     const struct arguments *arguments,
                                     struct error *err)
{
    const struct run_settings *settings = arguments->settings;
    struct file_roles roles = {0};
    enum assay_status st;

    file_roles_write(&roles, "--output", settings->output);
    file_roles_write(&roles, "--trace", settings->files.trace);
    file_roles_write(&roles, "--html", settings->files.html);
    st = run_job_add_roles(job, settings, &arguments->operands, &roles, err);
    if (!st)
        st = file_roles_check(&roles, err);
    file_roles_release(&roles);
    return st;
}

static enum assay_status run_model(const struct arguments *arguments,
                                   struct error *err)
{
    const struct run_settings *settings = arguments->settings;
    struct run_job job = {0};
    struct str peaks = {0};
    enum assay_status st;

    if (settings->is_json && settings->has_explain)
        return error_set(err, ASSAY_BAD_USAGE,
                         "--explain is for the screen; leave --json out");
    if (settings->sweep.n)
        return sweep_run(settings, &arguments->operands, err);
    st = run_job_make(&job, settings, &arguments->operands, err);
    if (!st)
        st = check_roles(&job, arguments, err);
    if (!st) {
        job.options.machine = look_for(&job.options, &peaks);
        st = profile(settings, &job.options, &job.photos, err);
    }
    str_release(&peaks);
    run_job_release(&job);
    return st;
}

const struct command cmd_run = {
    .name = "run",
    .section = "Models",
    .purpose = "run a model on photographs and show what it costs",
    .usage = (const char *const[]){"run [options] MODEL PHOTOGRAPH...",
                                   "run [options] FILE [PHOTOGRAPH...]", NULL},
    .operands = {.min = 1,
                 .max = SIZE_MAX,
                 .missing = "a model and a photograph",
                 .endings =
                     (const char *const[]){".jpg", ".jpeg", ".png", ".txt",
                                           ".onnx", ".net", ".keras", ".h5",
                                           ".hdf5", NULL}},
    .description =
        (const char *const[]){
            "Runs a model on photographs, folders of them or a list (.txt), "
            "records every module and ends on one screen: how long it took, "
            "where the time went, what it found.",
            "Detectors: fasterrcnn_resnet50_fpn (faster-rcnn), "
            "fasterrcnn_resnet18_fpn, maskrcnn_resnet50_fpn (mask-rcnn). "
            "Classifiers: alexnet, googlenet, mnasnet1_0, mobilenet_v2, "
            "resnet18, 34, 50 and 101, squeezenet1_0 and 1_1, vgg11, 16 and "
            "19, also with _bn. Or a file: .onnx, of Keras .keras, .h5 and "
            ".hdf5, or .net, which `assay export` writes.",
            "Without --weights those of a built-in model are random: times and "
            "memory are those of the real model, but what it finds means "
            "nothing. Without photographs (--random; of itself where the "
            "inputs of a file are no images) the values are.",
            NULL,
        },
    .options = run_options,
    .examples =
        (const struct example[]){
            {"run faster-rcnn street.jpg",
             "one photograph, until the median is known to 2 %"},
            {"run mask-rcnn photos/ --iters 200 --threads 2 --trace t.json",
             "200 images of a folder, with a trace for Perfetto"},
            {"run faster-rcnn street.jpg --plain -o plain.assay",
             "as a framework would run it, to compare with"},
            {"run resnet50 photos/ --weights resnet50.pth --labels names.txt",
             "a classifier: the five likeliest classes of each"},
            {"run yolo.onnx street.jpg --decode yolov8",
             "an ONNX file: what it finds is listed and drawn"},
            {"run resnet50 --random --json",
             "random values, and the figures for a program"},
            {"run resnet50 --random --sweep batch=1,2,4 --sweep threads=1,2",
             "at six points, with a table"},
            {NULL, NULL},
        },
    .settings_bytes = sizeof(struct run_settings),
    .defaults = &defaults,
    .run = run_model,
};
