/* cli/cmd_run.c - assay run: photographs through a detector, profiled. */
#include "cli/command.h"

#include "base/cache.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/units.h"
#include "cli/interrupt.h"
#include "cli/labels.h"
#include "cli/look.h"
#include "cli/messages.h"
#include "cli/nearest.h"
#include "cli/report_file.h"
#include "cli/result.h"
#include "detect/detect.h"
#include "formats/published.h"
#include "store/store.h"
#include "views/views.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>

struct settings {
    const char *weights;
    int64_t seed;
    int64_t classes, min_size, max_size;
    int norm;
    int64_t images, warm_up, batch, threads;
    double precision_goal, time_limit;
    bool is_plain;
    int detail;
    double tuning_seconds;
    double score;
    const char *labels, *drawn_dir;
    const char *output, *trace, *html;
    bool has_pictures;
    bool has_explain;
};

static const struct settings defaults = {
    .classes = 91,
    .min_size = 800,
    .max_size = 1333,
    .warm_up = 1,
    .batch = 1,
    .precision_goal = 0.02,
    .time_limit = 30,
    .detail = ENGINE_OPS,
    .tuning_seconds = 2,
    .score = NAN,
    .output = "run" STORE_SUFFIX,
};

static const char *const norms[] = {"frozen", "batch", NULL};
static const char *const details[] = {"leaves", "modules", "ops", NULL};

#define FIELD(field) OPTION_FIELD(struct settings, field)

static const struct option options[] = {
    {.kind = OPTION_SECTION, .help = "The model"},
    {.name = "weights",
     .letter = 'w',
     .kind = OPTION_FILE,
     .value = "FILE",
     .help = "a checkpoint of PyTorch, or safetensors",
     .shown_default = "random weights",
     FIELD(weights)},
    {.name = "seed",
     .kind = OPTION_INTEGER,
     .value = "N",
     .max = 0x1p53,
     .help = "of the random weights",
     .shown_default = "0",
     FIELD(seed)},
    {.name = "classes",
     .kind = OPTION_INTEGER,
     .value = "N",
     .min = 2,
     .max = 100000,
     .help = "classes, the background included",
     .shown_default = "91",
     FIELD(classes)},
    {.name = "min-size",
     .kind = OPTION_INTEGER,
     .value = "N",
     .min = 1,
     .max = 10000,
     .help = "pixels that the shorter side is resized to",
     .shown_default = "800",
     FIELD(min_size)},
    {.name = "max-size",
     .kind = OPTION_INTEGER,
     .value = "N",
     .min = 1,
     .max = 10000,
     .help = "pixels that the longer side may have then",
     .shown_default = "1333",
     FIELD(max_size)},
    {.name = "norm",
     .kind = OPTION_CHOICE,
     .value = "KIND",
     .choices = norms,
     .help = "the batch norm of the body",
     .shown_default = "frozen",
     FIELD(norm)},
    {.kind = OPTION_SECTION, .help = "How it runs"},
    {.name = "iters",
     .letter = 'n',
     .kind = OPTION_INTEGER,
     .value = "N",
     .min = 1,
     .max = 1e9,
     .help = "images to measure in all, going round the photographs",
     .shown_default = "each photograph once, at least 5, then until "
                      "--precision-goal or --time-limit",
     FIELD(images)},
    {.name = "precision-goal",
     .kind = OPTION_PERCENT,
     .value = "N%",
     .max = 1,
     .help = "without --iters: go on until the median is known to this, half "
             "its 95 % interval; 0%: do not",
     .shown_default = "2%",
     FIELD(precision_goal)},
    {.name = "time-limit",
     .kind = OPTION_NUMBER,
     .value = "SECONDS",
     .max = 1e6,
     .help = "of measuring for that; each photograph is measured once in any "
             "case",
     .shown_default = "30",
     FIELD(time_limit)},
    {.name = "warmup",
     .kind = OPTION_INTEGER,
     .value = "N",
     .max = 1e6,
     .help = "iterations before the measuring begins; more where the "
             "photographs are of more sizes, 0: none",
     .shown_default = "1",
     FIELD(warm_up)},
    {.name = "batch",
     .kind = OPTION_INTEGER,
     .value = "N",
     .min = 1,
     .max = 48,
     .help = "images of one iteration",
     .shown_default = "1",
     FIELD(batch)},
    {.name = "threads",
     .letter = 't',
     .kind = OPTION_INTEGER,
     .value = "N",
     .min = 1,
     .max = 1024,
     .help = "threads to compute with",
     .shown_default = "the processors of this machine",
     FIELD(threads)},
    {.name = "plain",
     .kind = OPTION_FLAG,
     .help = "a kernel a module, as a framework's eager mode runs it",
     FIELD(is_plain)},
    {.name = "tune",
     .kind = OPTION_NUMBER,
     .value = "SECONDS",
     .max = 3600,
     .help = "time for choosing kernels by measuring them",
     .shown_default = "2",
     FIELD(tuning_seconds)},
    {.name = "record",
     .kind = OPTION_CHOICE,
     .value = "DETAIL",
     .choices = details,
     .help = "how fine the recording is",
     .shown_default = "ops",
     FIELD(detail)},
    {.kind = OPTION_SECTION, .help = "What comes out"},
    {.name = "output",
     .letter = 'o',
     .kind = OPTION_FILE,
     .value = "RUN",
     .help = "write the run there",
     .shown_default = "run.assay",
     FIELD(output)},
    {.name = "trace",
     .kind = OPTION_FILE,
     .value = "FILE",
     .help = "write a trace for Perfetto too",
     FIELD(trace)},
    {.name = "html",
     .kind = OPTION_FILE,
     .value = "FILE",
     .help = "write a report to look at in a browser too",
     FIELD(html)},
    {.name = "pictures",
     .kind = OPTION_FLAG,
     .help = "put the drawn photographs into the report",
     FIELD(has_pictures)},
    {.name = "score",
     .kind = OPTION_NUMBER,
     .value = "X",
     .max = 1,
     .help = "draw what is found with at least this score",
     .shown_default = "0.5 with weights, nothing without",
     FIELD(score)},
    {.name = "labels",
     .kind = OPTION_FILE,
     .value = "FILE",
     .help = "names of the classes, a line each, the background first",
     .shown_default = "COCO's",
     FIELD(labels)},
    {.name = "drawn",
     .kind = OPTION_FILE,
     .value = "FOLDER",
     .help = "where the drawn photographs go",
     .shown_default = "this folder",
     FIELD(drawn_dir)},
    {.name = "explain",
     .kind = OPTION_FLAG,
     .help = "say which kernel runs each convolution, and why",
     FIELD(has_explain)},
    {.kind = OPTION_END},
};

static enum assay_status check_model(const char *name, const char **full,
                                     struct error *err)
{
    struct nearest nearest = nearest_to(name);

    *full = model_full_name(name);
    if (*full)
        return ASSAY_OK;
    for (const char *const *known = model_names(); *known; known++)
        nearest_offer(&nearest, *known);
    if (nearest.candidate)
        return error_set(err, ASSAY_BAD_USAGE,
                         "there is no model '%s'; did you mean '%s'?", name,
                         nearest.candidate);
    return error_set(err, ASSAY_BAD_USAGE,
                     "there is no model '%s'; 'assay help run' names those "
                     "that are",
                     name);
}

/* Before the model runs: a folder that is missing would be noticed late. */
static enum assay_status check_folder(const char *path, struct error *err)
{
    struct stat info;

    if (!path || (stat(path, &info) == 0 && S_ISDIR(info.st_mode)))
        return ASSAY_OK;
    return error_set(err, ASSAY_NOT_FOUND,
                     "there is no folder '%s' for the drawn photographs; make "
                     "it first",
                     path);
}

static struct detect_options job_of(const struct settings *settings,
                                    const char *model, size_t n_photos)
{
    struct detect_options job = {
        .model = model,
        .build = model_defaults(),
        .weights = settings->weights,
        .seed = (uint64_t)settings->seed,
        .n_threads =
            settings->threads ? (int)settings->threads : look_processors(),
        .is_plain = settings->is_plain,
        .detail = (enum engine_detail)settings->detail,
        .tuning_seconds = settings->tuning_seconds,
        .n_images = (uint64_t)settings->images,
        .precision_goal = settings->images ? 0 : settings->precision_goal,
        .time_limit = settings->time_limit,
        .n_warm_up = (uint64_t)settings->warm_up,
        .run_path = settings->output,
        .drawn_dir = settings->drawn_dir,
        .score = settings->score,
    };
    uint64_t at_least = n_photos > 5 ? n_photos : 5;

    if (!job.n_images)
        job.n_images = at_least;
    if (isnan(job.score) && job.weights)
        job.score = 0.5;
    job.build.n_images = settings->batch;
    job.build.n_classes = settings->classes;
    job.build.min_size = settings->min_size;
    job.build.max_size = settings->max_size;
    job.build.norm = (enum model_norm)settings->norm;
    if (job.weights)
        job.build.norm_eps = weights_norm_eps(job.weights);
    return job;
}

static enum assay_status write_trace(const struct run *run, const char *path,
                                     struct error *err)
{
    struct result result;
    enum assay_status st = result_open(path, &result, err);

    if (!st)
        st = result_close(&result, view_trace(run, result.sink, err), err);
    return st;
}

static enum assay_status write_html(const struct settings *settings,
                                    const struct detect_options *job,
                                    const struct detect_report *report,
                                    const struct run *run, struct sink *sink,
                                    struct error *err)
{
    struct report_side side = {run, job->run_path};
    const char *folder = settings->drawn_dir ? settings->drawn_dir : ".";
    bool has_pictures = settings->has_pictures && report->n_drawn > 0;

    return report_write(&side, 1, has_pictures ? folder : NULL, sink, err);
}

/* "run.assay 0.2 MB, street_targets.jpg and 23 more" */
static enum assay_status tell_wrote(struct str *text,
                                    const struct detect_options *job,
                                    const struct detect_report *report,
                                    struct error *err)
{
    char size[UNITS_MAX] = "";
    struct stat info;
    enum assay_status st;

    if (stat(job->run_path, &info) == 0)
        units_file_size(size, (double)info.st_size);
    st = str_printf(text, "%s %s", job->run_path, size);
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

    if (job->weights)
        return ASSAY_OK;
    if (published && published_path(published, &path, &is_here, NULL))
        is_here = false;
    st = str_append(text, "the weights are random, so what is found means "
                          "nothing");
    if (!st && isnan(job->score))
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

static enum assay_status write_summary(const struct run *run,
                                       const struct detect_options *job,
                                       const struct detect_report *report,
                                       const struct str *explained,
                                       struct result *result, struct error *err)
{
    struct view_options view = view_defaults(result->term);
    struct str wrote = {0}, note = {0};
    enum assay_status st = tell_wrote(&wrote, job, report, err);

    if (!st)
        st = tell_note(&note, job, err);
    if (!st) {
        view.source = job->run_path;
        view.wrote = str_text(&wrote);
        view.note = note.n ? str_text(&note) : NULL;
        st = view_summary(run, &view, result->sink, err);
        sink_puts(result->sink, str_text(explained));
    }
    str_release(&note);
    str_release(&wrote);
    return st;
}

static enum assay_status show_result(const struct settings *settings,
                                     const struct detect_options *job,
                                     const struct detect_report *report,
                                     const struct str *explained,
                                     struct result *html, struct error *err)
{
    struct result result = {0};
    struct run *run = NULL;
    enum assay_status st = store_load(job->run_path, &run, err);

    if (!st)
        st = result_open(NULL, &result, err);
    if (!st) {
        st = write_summary(run, job, report, explained, &result, err);
        st = result_close(&result, st, err);
    }
    if (!st && settings->trace)
        st = write_trace(run, settings->trace, err);
    if (!st && html->output)
        st = result_close(
            html, write_html(settings, job, report, run, html->sink, err), err);
    run_free(run);
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

static enum assay_status profile(const struct settings *settings,
                                 struct detect_options *job,
                                 const struct photos *photos, struct error *err)
{
    struct term term = term_of(stderr);
    struct sink screen = sink_to_file(stderr, "standard error");
    struct progress progress =
        progress_start(&screen, &term, clock_real(), "running", "images",
                       job->precision_goal > 0 ? 0 : job->n_images);
    struct detect_report report = {0};
    struct str explained = {0};
    struct sink explain = sink_to_str(&explained);
    struct result html = {0};
    enum assay_status st = ASSAY_OK;

    job->stop = interrupt_watch();
    job->progress = &progress;
    job->warnings = &screen;
    job->explain = settings->has_explain ? &explain : NULL;
    if (settings->html)
        st = result_open(settings->html, &html, err);
    if (!st)
        st = detect_run(job, photos, &report, err);
    progress_finish(&progress);
    if (!st && *job->stop)
        tell_stopped(job, &report);
    if (!st && report.n_measured)
        st = show_result(settings, job, &report, &explained, &html, err);
    output_discard(html.output);
    detect_report_release(&report);
    str_release(&explained);
    return st;
}

/* Where kernel choices are remembered. A home that is not there or may not be
 * written to is no failure: they are made again the next time. */
static void find_choices(struct str *path)
{
    if (cache_path("kernels.txt", path, NULL) ||
        cache_make_folders(path->text, NULL))
        str_clear(path);
}

/* A machine is measured when it is first needed, but no one who wants a quick
 * look at a few iterations waits for it. */
static struct machine_options look_for(const struct detect_options *job,
                                       struct str *path)
{
    static const uint64_t quick = 5; /* fewer iterations than this */
    static const double seconds = 1.2;
    uint64_t n = job->n_images / (uint64_t)job->build.n_images;
    struct machine_options wanted = look_options(
        job->n_threads, n < quick ? MACHINE_CACHED : MACHINE_NEEDED, path);

    wanted.seconds = seconds;
    return wanted;
}

static enum assay_status run_model(const struct arguments *arguments,
                                   struct error *err)
{
    const struct settings *settings = arguments->settings;
    const struct words *operands = &arguments->operands;
    struct photos photos = {0};
    struct labels labels = {0};
    struct str choices = {0}, peaks = {0};
    struct detect_options job;
    const char *model;
    enum assay_status st = check_model(operands->items[0], &model, err);

    if (!st)
        st = check_folder(settings->drawn_dir, err);
    for (size_t i = 1; !st && i < operands->n; i++)
        st = photos_add(&photos, operands->items[i], err);
    if (!st && settings->labels)
        st = labels_read(&labels, settings->labels, err);
    if (!st)
        find_choices(&choices);
    if (!st) {
        job = job_of(settings, model, photos.n);
        job.labels = labels.n ? labels.items : NULL;
        job.n_labels = labels.n;
        job.choices_path = choices.n ? choices.text : NULL;
        job.machine = look_for(&job, &peaks);
        st = profile(settings, &job, &photos, err);
    }
    str_release(&peaks);
    str_release(&choices);
    labels_release(&labels);
    photos_release(&photos);
    return st;
}

const struct command cmd_run = {
    .name = "run",
    .section = "Models",
    .purpose = "run a detector on photographs and show what it costs",
    .usage = (const char *const[]){"run [options] MODEL PHOTOGRAPH...", NULL},
    .operands = {.min = 2,
                 .max = SIZE_MAX,
                 .missing = "a model and a photograph",
                 .endings = (const char *const[]){".jpg", ".jpeg", ".png",
                                                  ".txt", NULL}},
    .description =
        (const char *const[]){
            "Runs fasterrcnn_resnet50_fpn (faster-rcnn) or "
            "maskrcnn_resnet50_fpn (mask-rcnn) on photographs, folders of "
            "them or a list (.txt), records every module and ends on one "
            "screen: how long it took, where the time went, what it found.",
            "Without --weights they are random: times and memory are those of "
            "the real model, but what it finds means nothing.",
            NULL,
        },
    .options = options,
    .examples =
        (const struct example[]){
            {"run faster-rcnn street.jpg", "one photograph, five times"},
            {"run mask-rcnn photos/ --iters 200 --threads 2 --trace t.json",
             "200 images of a folder, with a trace for Perfetto"},
            {"run faster-rcnn street.jpg --plain -o plain.assay",
             "as a framework would run it, to compare with"},
            {NULL, NULL},
        },
    .settings_bytes = sizeof(struct settings),
    .defaults = &defaults,
    .run = run_model,
};
