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
#include "views/line.h"
#include "views/views.h"
#include "vision/decoder.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct run_settings defaults = RUN_DEFAULTS;

/* NULL: nothing was drawn. */
static const char *run_drawn_folder(const struct run_settings *settings,
                                    const struct profile_report *report)
{
    if (!report->n_drawn)
        return NULL;
    return settings->drawn_dir ? settings->drawn_dir : ".";
}

/* "run.assay 0.2 MB, street_targets.jpg and 23 more" */
static enum assay_status cmd_run_list_files(struct str *text,
                                            const struct profile_options *job,
                                            const struct profile_report *report,
                                            struct error *err)
{
    enum assay_status st = result_list(job->run_path, text, err);

    if (!st && report->n_drawn)
        st = str_printf(text, ", %s", str_text(&report->first_drawn));
    if (!st && report->n_drawn > 1)
        st = str_printf(text, " and %zu more", report->n_drawn - 1);
    return st ? error_nomem(err, text->n, "the names of what was written") : st;
}

/* How to read the outputs of a model that was given no decoder. */
static enum assay_status cmd_run_propose(struct str *text, enum decode proposed,
                                         struct error *err)
{
    const struct decoder *decoder = decoder_of(proposed);

    if (!decoder)
        return ASSAY_OK;
    return (decoder->has_boxes
                ? str_printf(text,
                             "the outputs have the shapes of %s: --decode %s "
                             "lists and draws what it finds",
                             decoder->name, decoder->name)
                : str_append(text, "the output looks like a score per class: "
                                   "--decode classes lists the best five"))
               ? error_nomem(err, text->n, "a note")
               : ASSAY_OK;
}

/* Why nothing is drawn, and how to get weights that find something. */
static enum assay_status cmd_run_write_note(struct str *text,
                                            const struct profile_options *job,
                                            enum decode proposed, bool is_full,
                                            struct error *err)
{
    bool draws_nothing = isnan(job->session.vision.score) &&
                         job->session.vision.decode == DECODE_DETECTOR;
    const struct published *published = published_find(job->session.model.name);
    struct str path = {0};
    bool is_here = false;
    enum assay_status st;

    if (job->session.model.weights || job->session.model.is_file ||
        job->session.vision.is_random)
        return cmd_run_propose(text, proposed, err);
    if (published && published_path(published, &path, &is_here, NULL))
        is_here = false;
    st = str_append(text, is_full || !published
                              ? "the weights are random, so what is found "
                                "means nothing"
                              : "the weights are random");
    if (!st && is_full && draws_nothing)
        st = str_append(text, " and nothing is drawn (--score X draws anyway)");
    if (!st && is_here)
        st = str_printf(text, "; the published ones are here: --weights %s",
                        str_text(&path));
    else if (!st && published)
        st = str_printf(text,
                        "; `assay weights fetch %s` gets the published "
                        "ones%s",
                        job->session.model.name,
                        is_full ? ", --weights FILE uses them" : "");
    str_release(&path);
    return st ? error_nomem(err, text->n, "a note") : ASSAY_OK;
}

/* One line per object, or one for all classes of a photograph. */
static void cmd_run_list_found(const struct run *run, struct sink *sink)
{
    for (size_t i = 0; i < run_found_count(run); i++) {
        const struct found_photo *photo = run_found(run, i);

        for (size_t k = 0; k < photo->n; k++) {
            const struct found_object *object = &photo->objects[k];
            const double *box = object->box;

            if (object->has_box)
                sink_printf(sink, "  %s  %s %.3f  %.1f %.1f %.1f %.1f\n",
                            photo->photograph, object->name, object->score,
                            box[0], box[1], box[2], box[3]);
            else
                sink_printf(sink, "%s%s %s %.4f%s", k ? "," : "  ",
                            k ? "" : photo->photograph, object->name,
                            object->score, k + 1 < photo->n ? "" : "\n");
        }
    }
}

/* An indented line that is too long continues below its own indentation. */
static void cmd_run_put_line(const char *text, struct result *result)
{
    struct line line = line_after(result->sink, &result->term, 1, 2);

    if (text[0] != ' ' || text_columns(text) <= (size_t)result->term.width) {
        text_put(result->sink, &result->term, text);
        sink_puts(result->sink, "\n");
        return;
    }
    sink_puts(result->sink, " ");
    line_words(&line, text + strspn(text, " "));
    line_end(&line);
}

/* Writes at most `most` lines, which may hold any bytes. Cuts the text up and
 * returns how many lines were left out. */
static size_t cmd_run_write_lines(struct str *text, size_t most,
                                  struct result *result)
{
    char *rest = text->text, *line;
    size_t n = 0;

    while (text->n && (line = strsep(&rest, "\n")) && (*line || rest)) {
        if (n++ < most)
            cmd_run_put_line(line, result);
    }
    return n > most ? n - most : 0;
}

static enum assay_status cmd_run_write_found(const struct run *run,
                                             struct result *result,
                                             struct error *err)
{
    static const size_t most_found = 40;
    struct str found = {0};
    struct sink sink = sink_to_str(&found);
    size_t left;

    cmd_run_list_found(run, &sink);
    if (found.n)
        sink_puts(result->sink, "\nfound\n");
    left = cmd_run_write_lines(&found, most_found, result);
    if (left)
        sink_printf(result->sink, "  ... and %zu more\n", left);
    str_release(&found);
    return sink_status(&sink, err);
}

static enum assay_status cmd_run_write_json(const struct run *run,
                                            const struct profile_options *job,
                                            struct result *result,
                                            struct error *err)
{
    struct view_options view = view_defaults(result->term);

    view.source = job->run_path;
    return view_json(run, &view, result->sink, err);
}

static enum assay_status cmd_run_write_summary(
    const struct run_settings *settings, const struct profile_report *report,
    const struct profile_options *job, struct str *explained, const char *wrote,
    struct result *result, struct error *err)
{
    const struct run *run = report->run;
    struct view_options view = view_defaults(result->term);
    struct str note = {0};
    enum assay_status st = cmd_run_write_note(&note, job, report->proposed,
                                              settings->is_full, err);

    if (!st) {
        view.source = job->run_path;
        view.wrote = wrote;
        view.note = note.n ? str_text(&note) : NULL;
        st = settings->is_full ? view_summary(run, &view, result->sink, err)
                               : view_brief(run, &view, result->sink, err);
    }
    if (!st && settings->is_full)
        st = cmd_run_write_found(run, result, err);
    if (!st)
        (void)cmd_run_write_lines(explained, SIZE_MAX, result);
    str_release(&note);
    return st;
}

/* The screen depends neither on the files that are written nor on who else
 * writes to their names. */
static enum assay_status
cmd_run_show_result(const struct run_settings *settings,
                    const struct profile_options *job,
                    const struct profile_report *report, struct str *explained,
                    struct run_files *files, struct error *err)
{
    const char *folder = run_drawn_folder(settings, report);
    const struct run *run = report->run;
    enum assay_status st, written = ASSAY_OK;
    struct error unwritten = {0};
    struct result result = {0};
    struct str wrote = {0};

    st = cmd_run_list_files(&wrote, job, report, err);
    if (!st)
        written =
            run_files_write(files, run, settings->has_pictures ? folder : NULL,
                            folder, &wrote, &unwritten);
    if (!st)
        st = result_open(NULL, &result, err);
    if (!st) {
        st = settings->is_json
                 ? cmd_run_write_json(run, job, &result, err)
                 : cmd_run_write_summary(settings, report, job, explained,
                                         str_text(&wrote), &result, err);
        st = result_close(&result, st, err);
    }
    if (!st && written)
        st = error_set(err, written, "%s", unwritten.text);
    str_release(&wrote);
    return st;
}

static void cmd_run_report_stop(const struct profile_options *job,
                                const struct profile_report *report)
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

static enum assay_status cmd_run_profile(const struct run_settings *settings,
                                         struct profile_options *job,
                                         const struct photos *photos,
                                         struct error *err)
{
    struct term term = term_of(stderr);
    struct sink screen = sink_to_file(stderr, "standard error");
    struct progress progress =
        progress_start(&screen, &term, clock_real(), "running", "images",
                       job->precision_goal > 0 ? 0 : job->n_images);
    struct profile_report report = {0};
    struct str explained = {0};
    struct sink explain = sink_to_str(&explained);
    struct run_files files = {0};
    enum assay_status st;

    job->stop = interrupt_watch();
    job->progress = &progress;
    job->session.warnings = &screen;
    job->session.model.file.problems = &screen;
    job->explain = settings->has_explain ? &explain : NULL;
    job->has_found = job->session.model.weights || job->session.model.is_file;
    st = run_files_open(&files, &settings->files, job->run_path, err);
    if (!st)
        st = profile_run(job, photos, &report, err);
    progress_finish(&progress);
    if (!st && *job->stop)
        cmd_run_report_stop(job, &report);
    if (!st && report.n_measured)
        st = cmd_run_show_result(settings, job, &report, &explained, &files,
                                 err);
    run_files_discard(&files);
    profile_report_release(&report);
    str_release(&explained);
    return st;
}

/* A machine is measured when its peaks are first needed, but whoever asks for
 * only a few iterations does not wait for that. */
static struct machine_options cmd_run_look(const struct profile_options *job,
                                           struct str *path)
{
    static const uint64_t quick = 5; /* fewer iterations than this */
    static const double seconds = 1.2;
    bool is_quick =
        !(job->precision_goal > 0) &&
        job->n_images / (uint64_t)job->session.model.build.n_images < quick;
    struct machine_options wanted =
        look_options(job->session.device, job->session.n_threads,
                     is_quick ? MACHINE_CACHED : MACHINE_NEEDED, path);

    wanted.seconds = seconds;
    wanted.precision = job->session.precision;
    return wanted;
}

/* No output may be a photograph or another output. */
static enum assay_status cmd_run_check_roles(const struct run_job *job,
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
                         "--explain is for the screen; leave out --json");
    if (settings->sweep.n)
        return sweep_run(settings, &arguments->operands, err);
    st = run_job_make(&job, settings, &arguments->operands, err);
    if (!st)
        st = cmd_run_check_roles(&job, arguments, err);
    if (!st) {
        job.options.machine = cmd_run_look(&job.options, &peaks);
        st = cmd_run_profile(settings, &job.options, &job.photos, err);
    }
    str_release(&peaks);
    run_job_release(&job);
    return st;
}

const struct command cmd_run = {
    .name = "run",
    .section = "Models",
    .purpose = "run a model on photographs and show what it costs",
    .usage = TEXTS("run [options] MODEL PHOTOGRAPH...",
                   "run [options] FILE [PHOTOGRAPH...]"),
    .operands = {.min = 1,
                 .max = SIZE_MAX,
                 .missing = "a model and a photograph",
                 .are_models = true,
                 .endings = TEXTS(".jpg", ".jpeg", ".png", ".txt", ".onnx",
                                  ".net", ".keras", ".h5", ".hdf5")},
    .description = TEXTS(
        "Runs a model on photographs, folders of them or a list (.txt), "
        "records every module and ends with a summary of 80x24 (--full for "
        "all of it): how long it took, where the time went, what it found.",
        "Detectors: fasterrcnn_resnet50_fpn (faster-rcnn), "
        "fasterrcnn_resnet18_fpn, maskrcnn_resnet50_fpn (mask-rcnn). "
        "Classifiers: alexnet, googlenet, mnasnet1_0, mobilenet_v2, "
        "resnet18, 34, 50 and 101, squeezenet1_0 and 1_1, vgg11, 16 and "
        "19, also with _bn. Files: ONNX (.onnx), Keras (.keras, .h5, "
        ".hdf5), and .net, which `assay export` writes.",
        "Without --weights a built-in model has random weights: times and "
        "memory are those of the real model, but what it finds means "
        "nothing. With --random, or if the inputs of a file are not "
        "images, the input values are random too."),
    .options = run_options,
    .examples = EXAMPLES(
        {"run faster-rcnn street.jpg",
         "one photograph, until the median is known to 2 %"},
        {"run mask-rcnn photos/ --iters 200 --threads 2 --trace t.json",
         "200 images of a folder, with a trace for Perfetto"},
        {"run faster-rcnn street.jpg --plain -o plain.assay",
         "as a framework would run it, for comparison"},
        {"run resnet50 photos/ --weights resnet50.pth --labels names.txt",
         "a classifier: the five most likely classes of each photograph"},
        {"run yolo.onnx street.jpg --decode yolov8",
         "an ONNX file: what it finds is listed and drawn"},
        {"run resnet50 --random --json",
         "random inputs, and the figures for a program"},
        {"run resnet50 --random --sweep batch=1,2,4 --sweep threads=1,2",
         "six points and a table"}),
    .settings_bytes = sizeof(struct run_settings),
    .defaults = &defaults,
    .run = run_model,
};
