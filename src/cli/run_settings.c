/* cli/run_settings.c - see run_settings.h. */
#include "cli/run_settings.h"

#include "base/cache.h"
#include "base/nearest.h"
#include "cli/look.h"
#include "cli/recipe_text.h"
#include "formats/model_kind.h"
#include "formats/weights/published.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const norms[] = {"frozen", "batch", NULL};
static const char *const details[] = {"leaves", "modules", "ops", NULL};
const char *const run_model_endings[] = {".onnx", ".net",  ".keras",
                                         ".h5",   ".hdf5", NULL};

const char *const run_variants[] = {[MODEL_IMAGENET] = "imagenet",
                                    [MODEL_CIFAR10] = "cifar10",
                                    [MODEL_CIFAR100] = "cifar100",
                                    NULL};

const char *const run_decodes[] = {"none", "yolov8", "ssd", "classes", NULL};
static const enum decode decode_kinds[] = {DECODE_NONE, DECODE_YOLOV8,
                                           DECODE_SSD, DECODE_CLASSES};

enum decode run_decode(int choice)
{
    return decode_kinds[choice];
}

#define FIELD(field) OPTION_FIELD(struct run_settings, field)

const struct option run_options[] = {
    {.kind = OPTION_SECTION, .help = "The model"},
    {.name = "weights",
     .letter = 'w',
     .kind = OPTION_FILE,
     .value = "FILE",
     .is_once = true,
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
     .min = 1,
     .max = 100000,
     .help = "classes; of a detector the background included",
     .shown_default = "91 of a detector, 1000 of a classifier",
     FIELD(classes)},
    {.name = "variant",
     .kind = OPTION_CHOICE,
     .value = "DATA",
     .choices = run_variants,
     .help = "a classifier as it is built for these images",
     .shown_default = "imagenet",
     FIELD(variant)},
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
    {.kind = OPTION_SECTION,
     .help = "What goes into a model file and what comes out of it"},
    {.name = "input",
     .kind = OPTION_TEXT,
     .value = "KEY=VALUE,...",
     .help = "how a photograph becomes its input: size=, "
             "fit=stretch|letterbox|corner|crop, shorter=, pad=, "
             "order=rgb|bgr|grey, scale=, mean=, std=",
     .shown_default = "its size, stretch, rgb, scale=1/255",
     FIELD(input)},
    {.name = "decode",
     .kind = OPTION_CHOICE,
     .value = "KIND",
     .choices = run_decodes,
     .help = "what its outputs are",
     .shown_default = "none",
     FIELD(decode)},
    {.name = "shape",
     .kind = OPTION_LIST,
     .value = "[INPUT=]SHAPE",
     .help = "a shape for an input that leaves sizes free",
     FIELD(shapes)},
    {.name = "random",
     .kind = OPTION_FLAG,
     .help = "random values instead of photographs; also of other models",
     FIELD(is_random)},
    {.name = "allow-outside",
     .kind = OPTION_FLAG,
     .help = "read external data that lies outside of its folder",
     FIELD(may_read_outside)},
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
     .kind = OPTION_TIME,
     .value = "TIME",
     .max = 1e6,
     .help = "of measuring for that; each photograph is measured once in any "
             "case",
     .shown_default = "30s",
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
     .max = DETECT_MAX_BATCH,
     .help = "images of one iteration",
     .shown_default = "1",
     FIELD(batch)},
    OPTION_THREADS(FIELD(threads)),
    {.name = "sweep",
     .kind = OPTION_LIST,
     .value = "KEY=N,...",
     .help = "run at every value of batch=, threads= or size=, and at all "
             "combinations, each a run file",
     FIELD(sweep)},
    {.name = "plain",
     .kind = OPTION_FLAG,
     .help = "a kernel a module, as a framework's eager mode runs it",
     FIELD(is_plain)},
    {.name = "tune",
     .kind = OPTION_TIME,
     .value = "TIME",
     .max = 3600,
     .help = "time for choosing kernels by measuring them",
     .shown_default = "2s",
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
     .role = ROLE_OUTPUT,
     .value = "RUN",
     .help = "write the run there",
     .shown_default = "run.assay",
     FIELD(output)},
    {.name = "json",
     .kind = OPTION_FLAG,
     .help = "print everything that is known about the run, and what was "
             "found, as JSON instead of the screen",
     FIELD(is_json)},
    RUN_FILES_OPTIONS,
    {.name = "pictures",
     .kind = OPTION_FLAG,
     .help = "put the drawn photographs into the report",
     FIELD(has_pictures)},
    {.name = "score",
     .kind = OPTION_NUMBER,
     .value = "X",
     .max = 1,
     .help = "draw what is found with at least this score",
     .shown_default = "0.5 with weights, nothing without; yolov8 0.25",
     FIELD(score)},
    {.name = "iou",
     .kind = OPTION_NUMBER,
     .value = "X",
     .max = 1,
     .help = "boxes of yolov8 and ssd that overlap more are one object",
     .shown_default = "0.7 of yolov8, 0.45 of ssd",
     FIELD(iou)},
    {.name = "labels",
     .kind = OPTION_FILE,
     .value = "FILE",
     .help = "names of the classes, a line each, from number 0 on (of a "
             "detector the background)",
     .shown_default = "COCO's, or numbers",
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

/* What is there is a file whatever it is called: what it is instead of a model
 * is told when it is read, of a folder too. */
static bool is_file_name(const char *word)
{
    size_t n = strlen(word);
    struct stat info;

    for (const char *const *ending = run_model_endings; *ending; ending++) {
        size_t n_ending = strlen(*ending);

        if (n > n_ending && strcmp(word + n - n_ending, *ending) == 0)
            return true;
    }
    return strchr(word, '/') || stat(word, &info) == 0;
}

enum assay_status run_find_model(const char *word, const char **model,
                                 bool *is_onnx, struct error *err)
{
    struct nearest nearest = nearest_to(word);

    *model = model_full_name(word);
    *is_onnx = !*model && is_file_name(word);
    if (*model)
        return ASSAY_OK;
    if (*is_onnx) {
        *model = word;
        return access(word, F_OK) == 0 ? model_kind_check(word, err) : ASSAY_OK;
    }
    for (const char *const *known = model_names(); *known; known++)
        nearest_offer(&nearest, *known);
    if (nearest.candidate)
        return error_set(err, ASSAY_BAD_USAGE,
                         "there is no model '%s'; did you mean '%s'?", word,
                         nearest.candidate);
    return error_set(err, ASSAY_BAD_USAGE,
                     "there is no model '%s'; 'assay help run' names those "
                     "that are, and files of ONNX and Keras are, too",
                     word);
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

enum { DETECTOR = 1, CLASSIFIER = 2, MODEL_FILE = 4 };

static unsigned model_kind(const char *model, bool is_onnx)
{
    if (is_onnx)
        return MODEL_FILE;
    return model_task(model) == TASK_DETECTION ? DETECTOR : CLASSIFIER;
}

/* An option that would change nothing is refused: whoever gives it believes
 * that it does. */
static enum assay_status check_kind(const struct run_settings *settings,
                                    const char *model, unsigned kind,
                                    struct error *err)
{
    static const struct run_settings none = RUN_DEFAULTS;
    static const char own[] = "built-in models; a file has its own";
    static const char sizes[] = "detectors; others have --input size=";
    static const char files[] = "ONNX and Keras files; a built-in model knows";
    const struct {
        const char *name;
        bool is_given;
        unsigned kinds;
        const char *whose;
    } options[] = {
        {"weights", settings->weights, DETECTOR | CLASSIFIER, own},
        {"classes", settings->classes, DETECTOR | CLASSIFIER, own},
        {"variant", settings->variant, DETECTOR | CLASSIFIER, own},
        {"min-size", settings->min_size != none.min_size, DETECTOR, sizes},
        {"max-size", settings->max_size != none.max_size, DETECTOR, sizes},
        {"norm", settings->norm, DETECTOR, "detectors"},
        {"decode", settings->decode, MODEL_FILE, files},
        {"shape", settings->shapes.n, MODEL_FILE, files},
        {"iou", !isnan(settings->iou), MODEL_FILE, files},
        {"allow-outside", settings->may_read_outside, MODEL_FILE, files},
    };

    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (options[i].is_given && !(options[i].kinds & kind))
            return error_set(err, ASSAY_BAD_USAGE,
                             "--%s is not for %s: it is for %s",
                             options[i].name, model, options[i].whose);
    }
    return ASSAY_OK;
}

static void set_build(struct detect_options *job,
                      const struct run_settings *settings)
{
    enum model_variant variant = (enum model_variant)settings->variant;

    job->build = model_options_for(job->model, variant);
    job->build.n_images = settings->batch;
    if (settings->classes)
        job->build.n_classes = settings->classes;
    job->build.min_size = settings->min_size;
    job->build.max_size = settings->max_size;
    job->build.norm = (enum model_norm)settings->norm;
    if (job->weights)
        job->build.norm_eps = weights_norm_eps(job->weights);
}

/* Torchvision's preset, or what the weights were published with. */
static struct recipe classifier_recipe(const struct detect_options *job,
                                       enum model_variant variant)
{
    const struct published *published =
        job->weights ? published_of_file(job->weights) : NULL;
    struct recipe recipe = recipe_of_variant(variant);

    if (published && published->trained == TRAINED_SHORTER_232)
        recipe.shorter = 232;
    for (int c = 0; c < 3; c++) {
        if (published && published->trained == TRAINED_HALF_NORM)
            recipe.mean[c] = recipe.std[c] = 0.5;
    }
    return recipe;
}

/* What comes in and what goes out. */
static enum assay_status set_ends(struct detect_options *job,
                                  const struct run_settings *settings,
                                  struct error *err)
{
    bool is_classifier =
        !job->is_onnx && model_task(job->model) == TASK_CLASSIFICATION;

    job->recipe = recipe_defaults();
    if (job->is_onnx)
        job->decode = run_decode(settings->decode);
    else
        job->decode = is_classifier ? DECODE_CLASSES : DECODE_DETECTOR;
    if (is_classifier)
        job->recipe =
            classifier_recipe(job, (enum model_variant)settings->variant);
    if (job->decode == DECODE_YOLOV8)
        job->recipe.fit = FIT_LETTERBOX;
    if (settings->input && job->decode == DECODE_DETECTOR)
        return error_set(err, ASSAY_BAD_USAGE,
                         "--input is not for %s, which resizes photographs "
                         "itself; --min-size and --max-size are",
                         job->model);
    return settings->input ? recipe_read(settings->input, &job->recipe, err)
                           : ASSAY_OK;
}

/* Below which score nothing counts, and which overlap is one object. */
static void set_thresholds(struct detect_options *job,
                           const struct run_settings *settings)
{
    bool is_yolo = job->decode == DECODE_YOLOV8;

    job->score = settings->score;
    job->iou = settings->iou;
    if (isnan(job->iou))
        job->iou = is_yolo ? 0.7 : 0.45;
    if (isnan(job->score) && (job->weights || job->is_onnx))
        job->score = is_yolo ? 0.25 : 0.5;
}

static enum assay_status set_options(struct run_job *job,
                                     const struct run_settings *settings,
                                     const char *model, bool is_onnx,
                                     struct error *err)
{
    uint64_t at_least = job->photos.n > 5 ? job->photos.n : 5;
    enum assay_status st;

    job->options = (struct detect_options){
        .model = model,
        .is_onnx = is_onnx,
        .onnx = {.shapes = job->shapes.items,
                 .n_shapes = job->shapes.n,
                 .may_read_outside = settings->may_read_outside,
                 .outside_hint = RUN_OUTSIDE_HINT},
        .weights = settings->weights,
        .seed = (uint64_t)settings->seed,
        .n_threads =
            settings->threads ? (int)settings->threads : look_processors(),
        .is_plain = settings->is_plain,
        .detail = (enum engine_detail)settings->detail,
        .tuning_seconds = settings->tuning_seconds,
        .is_random = settings->is_random || job->photos.n == 0,
        .n_images = settings->images ? (uint64_t)settings->images : at_least,
        .precision_goal = settings->images ? 0 : settings->precision_goal,
        .time_limit = settings->time_limit,
        .n_warm_up = (uint64_t)settings->warm_up,
        .run_path = settings->output,
        .drawn_dir = settings->drawn_dir,
        .labels = job->labels.n ? job->labels.items : NULL,
        .n_labels = job->labels.n,
        .choices_path = job->choices.n ? job->choices.text : NULL,
    };
    set_build(&job->options, settings);
    st = set_ends(&job->options, settings, err);
    set_thresholds(&job->options, settings);
    return st;
}

void run_find_choices(struct str *path)
{
    if (cache_path("kernels.txt", path, NULL) ||
        cache_make_folders(path->text, NULL))
        str_clear(path);
}

static enum assay_status check_photographs(const struct run_settings *settings,
                                           const struct words *operands,
                                           bool is_onnx, struct error *err)
{
    if (operands->n > 1 && settings->is_random)
        return error_set(err, ASSAY_BAD_USAGE,
                         "--random takes no photographs; leave '%s' out",
                         operands->items[1]);
    if (operands->n == 1 && !settings->is_random && !is_onnx)
        return error_set(err, ASSAY_BAD_USAGE,
                         "a photograph is missing; --random runs without");
    return ASSAY_OK;
}

enum assay_status run_job_make(struct run_job *job,
                               const struct run_settings *settings,
                               const struct words *operands, struct error *err)
{
    const char *model;
    bool is_onnx;
    enum assay_status st =
        run_find_model(operands->items[0], &model, &is_onnx, err);

    if (!st)
        st = check_kind(settings, model, model_kind(model, is_onnx), err);
    if (!st)
        st = check_photographs(settings, operands, is_onnx, err);
    if (!st)
        st = check_folder(settings->drawn_dir, err);
    for (size_t i = 1; !st && i < operands->n; i++)
        st = photos_add(&job->photos, operands->items[i], err);
    if (!st && settings->labels)
        st = labels_read(&job->labels, settings->labels, err);
    if (!st)
        st = shapes_read(&settings->shapes, &job->shapes, err);
    if (!st) {
        run_find_choices(&job->choices);
        st = set_options(job, settings, model, is_onnx, err);
    }
    return st;
}

void run_job_release(struct run_job *job)
{
    photos_release(&job->photos);
    labels_release(&job->labels);
    shapes_release(&job->shapes);
    str_release(&job->choices);
}

/* Of built-in detectors and of files: where boxes are found and a score is
 * asked for. */
static bool may_draw(const struct detect_options *job)
{
    return !job->is_random && !isnan(job->score) &&
           (job->decode == DECODE_DETECTOR || job->decode == DECODE_YOLOV8 ||
            job->decode == DECODE_SSD);
}

enum assay_status run_job_add_roles(const struct run_job *job,
                                    const struct run_settings *settings,
                                    const struct words *operands,
                                    struct file_roles *roles, struct error *err)
{
    const char *folder = settings->drawn_dir ? settings->drawn_dir : ".";
    const struct photos *photos = &job->photos;
    struct photos drawn = {0};
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; i < operands->n; i++)
        file_roles_read(roles, operands->items[i]);
    for (size_t i = 0; i < photos->n; i++)
        file_roles_read(roles, photos->paths[i]);
    file_roles_read(roles, settings->weights);
    file_roles_read(roles, settings->labels);
    if (may_draw(&job->options))
        st = photos_name_drawn(&drawn, photos->paths, photos->n, err);
    for (size_t i = 0; !st && i < drawn.n; i++)
        file_roles_write_in(roles, "the drawn photograph", folder,
                            drawn.paths[i]);
    photos_release(&drawn);
    return st;
}
