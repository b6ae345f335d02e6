/* cli/run_settings.c - see run_settings.h. */
#include "cli/run_settings.h"

#include "base/cache.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/vec.h"
#include "cli/look.h"
#include "cli/messages.h"
#include "cli/recipe_text.h"
#include "cli/values.h"
#include "formats/model_kind.h"
#include "formats/weights/published.h"
#include "vision/decoder.h"

#include <errno.h>
#include <stdlib.h>
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

/* In the order of enum precision. */
static const char *const run_precisions[] = {"auto", "fp32", "tf32",
                                             "fp16", "bf16", NULL};

/* By the names of the decoders. */
const char *const run_decodes[] = {
    "none", "yolov8",      "yolox",  "nanodet", "ssd",
    "detr", "torchvision", "rtdetr", "classes", NULL};
static const enum decode decode_kinds[] = {
    DECODE_NONE, DECODE_YOLOV8,      DECODE_YOLOX,  DECODE_NANODET, DECODE_SSD,
    DECODE_DETR, DECODE_TORCHVISION, DECODE_RTDETR, DECODE_CLASSES};

enum decode run_decode(int choice)
{
    return decode_kinds[choice];
}

#define FIELD(field) OPTION_FIELD(struct run_settings, field)

const struct option run_options[] = {
    {.kind = OPTION_SECTION, .help = "The model"},
    RUN_WEIGHTS_OPTION("a PyTorch checkpoint or safetensors file",
                       .shown_default = "random weights", FIELD(weights)),
    OPTION_SEED("seed for the random weights", FIELD(seed)),
    RUN_BUILD_OPTIONS(FIELD),
    {OPT_INTEGER("min-size", "N", 1, 10000),
     .help = "resize the shorter side to this many pixels",
     .shown_default = "800", FIELD(min_size)},
    {OPT_INTEGER("max-size", "N", 1, 10000),
     .help = "but let the longer side have at most this many",
     .shown_default = "1333", FIELD(max_size)},
    {OPT_CHOICE("norm", "KIND", norms),
     .help = "batch norm of a detector's backbone", .shown_default = "frozen",
     FIELD(norm)},
    {.kind = OPTION_SECTION, .help = "Inputs and outputs of a model file"},
    {OPT_TEXT("input", "[NAME:]KEY=VALUE,..."),
     .help = "which input takes the photographs, if several could, and how a "
             "photograph becomes it: size=, "
             "fit=stretch|letterbox|corner|crop, shorter=, pad=, "
             "order=rgb|bgr|grey, scale=, mean=, std=",
     .shown_default = "the model's size, stretch, rgb, scale=1/255, or what "
                      "--decode is known for",
     FIELD(input)},
    RUN_DECODE_OPTION(FIELD(decode)),
    RUN_SHAPE_OPTION(FIELD(shapes)),
    RUN_SET_OPTION(.shown_default = "the photograph's size, if the name asks "
                                    "for it",
                   FIELD(set)),
    {OPT_FLAG("random"),
     .help = "random values instead of photographs; for built-in models too",
     FIELD(is_random)},
    RUN_OUTSIDE_OPTION(FIELD(may_read_outside)),
    {.kind = OPTION_SECTION, .help = "How it runs"},
    RUN_ITERS_OPTION("images to measure, going round the photographs",
                     .shown_default =
                         "each photograph once, at least 5 images, then until "
                         "--precision-goal or --time-limit",
                     FIELD(images)),
    {OPT_PERCENT("precision-goal", "N%", 0, 1),
     .help = "without --iters: measure until half the 95 % interval of the "
             "median is below this share of it; 0% turns that off",
     .shown_default = "2%", FIELD(precision_goal)},
    {OPT_TIME("time-limit", "TIME", 0, 1e6),
     .help = "give up on the precision goal after this time; each photograph "
             "is still measured once",
     .shown_default = "30s", FIELD(time_limit)},
    {OPT_INTEGER("warmup", "N", 0, 1e6),
     .help = "iterations before measuring begins, and at least one per image "
             "size; 0: none",
     .shown_default = "1", FIELD(warm_up)},
    RUN_BATCH_OPTION(FIELD(batch)),
    OPTION_DEVICE(FIELD(device)),
    {OPT_CHOICE("precision", "TYPE", run_precisions),
     .help = "what products are computed in",
     .shown_default = "auto: fp32, and tf32 on a GPU that has it",
     FIELD(precision)},
    {OPT_INTEGER("in-flight", "N", 1, ENGINE_MOST_IN_FLIGHT),
     .help = "on a GPU: afterwards stream the photographs, decoded ahead, with "
             "this many passes in flight, and show images per second",
     .shown_default = "one pass at a time", FIELD(in_flight)},
    OPTION_THREADS(FIELD(threads)),
    {OPT_LIST("sweep", "KEY=N,..."),
     .help = "run at every value of batch=, threads= or size=, and at all "
             "combinations of them, with one run file per point",
     FIELD(sweep)},
    {OPT_FLAG("plain"),
     .help = "one kernel per module, as a framework's eager mode runs it",
     FIELD(is_plain)},
    RUN_TUNE_OPTION(.shown_default = "4s", FIELD(tuning_seconds)),
    {OPT_CHOICE("record", "DETAIL", details),
     .help = "how much detail to record", .shown_default = "ops",
     FIELD(detail)},
    {OPT_TEXT("keep", "all|N"),
     .help = "keep every call of all iterations, or of the first N, for "
             "traces and timelines",
     .shown_default = "the first iteration, a median one, the slowest, the "
                      "last",
     FIELD(keep)},
    {.kind = OPTION_SECTION, .help = "Output"},
    OPTION_OUTPUT("RUN", "write the run to this file",
                  .shown_default = "run.assay", FIELD(output)),
    OPTION_JSON("print everything that is known about the run, and what was "
                "found, as JSON instead of the summary",
                FIELD(is_json)),
    OPTION_FULL(FIELD(is_full)),
    RUN_FILES_OPTIONS,
    {OPT_FLAG("pictures"),
     .help = "include the drawn photographs in the report",
     FIELD(has_pictures)},
    {OPT_NUMBER("score", "X", 0, 1),
     .help = "draw what is found with at least this score",
     .shown_default = "0.5 with weights, nothing without; yolov8 0.25, yolox "
                      "0.3, nanodet 0.4",
     FIELD(score)},
    {OPT_NUMBER("iou", "X", 0, 1),
     .help = "boxes of yolov8, yolox, nanodet and ssd that overlap more than "
             "this are one object",
     .shown_default = "0.45; yolov8 0.7, nanodet 0.6", FIELD(iou)},
    {OPT_FILE("labels", "FILE"),
     .help = "names of the classes, one per line, starting with class 0 (a "
             "detector's background)",
     .shown_default = "COCO's, or numbers", FIELD(labels)},
    {OPT_FILE("drawn", "FOLDER"),
     .help = "folder for the drawn photographs, made if needed",
     .shown_default = "the current folder", FIELD(drawn_dir)},
    {OPT_FLAG("explain"),
     .help = "show which kernel runs each convolution, and why",
     FIELD(has_explain)},
    {.kind = OPTION_END},
};

/* ---- shapes of inputs --------------------------------------------------- */

static bool shapes_read_sizes(const char *text, struct shape *shape)
{
    *shape = (struct shape){0};
    for (;;) {
        char *end;

        if (shape->rank == SHAPE_MAX_RANK || *text < '0' || *text > '9')
            return false;
        errno = 0;
        shape->dims[shape->rank++] = strtoll(text, &end, 10);
        if (errno || (*end && *end != 'x'))
            return false;
        if (!*end)
            return true;
        text = end + 1;
    }
}

static enum assay_status shapes_read_word(struct shape_list *list,
                                          const char *word, struct error *err)
{
    const char *equals = strrchr(word, '=');
    struct model_file_shape choice = {0};

    if (!shapes_read_sizes(equals ? equals + 1 : word, &choice.shape))
        return error_set(err, ASSAY_BAD_USAGE,
                         "--shape needs NAME=1x3x640x640, not '%s'", word);
    if (equals) {
        choice.input =
            arena_strndup(&list->names, word, (size_t)(equals - word));
        if (!choice.input)
            return error_nomem(err, strlen(word), "the name of an input");
    }
    list->items[list->n++] = choice;
    return ASSAY_OK;
}

enum assay_status shapes_read(const struct words *words,
                              struct shape_list *list, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    *list = (struct shape_list){0};
    list->items = mem_array(words->n, sizeof *list->items);
    if (!list->items)
        return error_nomem(err, words->n * sizeof *list->items,
                           "the shapes of inputs");
    for (size_t i = 0; !st && i < words->n; i++)
        st = shapes_read_word(list, words->items[i], err);
    return st;
}

void shapes_release(struct shape_list *list)
{
    mem_free(list->items);
    arena_release(&list->names);
    *list = (struct shape_list){0};
}

/* ---- names of classes --------------------------------------------------- */

enum { labels_max_bytes = 4 << 20 };

static void labels_release(struct labels *labels)
{
    mem_free(labels->items);
    str_release(&labels->text);
    *labels = (struct labels){0};
}

static enum assay_status labels_add(struct labels *labels, char *line,
                                    struct error *err)
{
    const char **moved = vec_reserve(labels->items, &labels->capacity,
                                     labels->n + 1, sizeof *labels->items);
    size_t n = strlen(line);

    if (!moved)
        return error_nomem(err, n, "the names of the classes");
    if (n && line[n - 1] == '\r')
        line[n - 1] = '\0';
    labels->items = moved;
    labels->items[labels->n++] = line;
    return ASSAY_OK;
}

/* Names are shown and drawn as they are, so control characters are refused. */
static bool labels_is_text(const struct str *text)
{
    for (size_t i = 0; i < text->n; i++) {
        unsigned char c = (unsigned char)text->text[i];

        if (c == 0x7f || (c < ' ' && !strchr("\t\r\n", c)) || !c)
            return false;
    }
    return true;
}

static enum assay_status labels_read(struct labels *labels, const char *path,
                                     struct error *err)
{
    enum assay_status st =
        file_read(path, labels_max_bytes, &labels->text, err);
    char *line = labels->text.text;

    if (!st && !labels_is_text(&labels->text))
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s is not a text; it must have one class name per "
                         "line",
                         path);
    while (!st && line && *line) {
        char *end = strchr(line, '\n');

        if (end)
            *end = '\0';
        st = labels_add(labels, line, err);
        line = end ? end + 1 : NULL;
    }
    if (!st && !labels->n)
        st = error_set(err, ASSAY_BAD_INPUT,
                       "%s has no names; it must have one per line, the "
                       "background's first",
                       path);
    return st;
}

/* ---- the job ----------------------------------------------------------- */

/* Anything that exists counts as a file, even a folder: reading it shows what
 * it is if it is not a model. */
static bool run_settings_is_file_name(const char *word)
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

enum assay_status run_find_model(const char *word, struct model_source *model,
                                 struct error *err)
{
    struct nearest nearest = nearest_to(word);

    *model = (struct model_source){.name = model_full_name(word)};
    if (model->name)
        return ASSAY_OK;
    if (run_settings_is_file_name(word)) {
        model->name = word;
        model->is_file = true;
        return access(word, F_OK) == 0 ? model_kind_check(word, err) : ASSAY_OK;
    }
    for (const char *const *known = model_names(); *known; known++)
        nearest_offer(&nearest, *known);
    return message_unknown("unknown model", &nearest,
                           "'assay help run' lists the built-in ones; ONNX and "
                           "Keras files work too",
                           err);
}

/* Made before the model runs: afterwards a failure would be noticed late. */
static enum assay_status run_settings_make_folder(const char *path,
                                                  struct error *err)
{
    struct str inside = {0};
    struct stat info;
    enum assay_status st;

    if (!path)
        return ASSAY_OK;
    if (stat(path, &info) == 0)
        return S_ISDIR(info.st_mode)
                   ? ASSAY_OK
                   : error_set(err, ASSAY_NOT_FOUND,
                               "--drawn: %s is not a folder; name another",
                               path);
    st = str_printf(&inside, "%s/drawn", path)
             ? error_nomem(err, strlen(path), "the name of a folder")
             : cache_make_folders(inside.text, err);
    str_release(&inside);
    if (st)
        error_context(err, "--drawn");
    return st;
}

enum { DETECTOR = 1, CLASSIFIER = 2, MODEL_FILE = 4 };

static unsigned run_settings_kind_of(const struct model_source *model)
{
    if (model->is_file)
        return MODEL_FILE;
    return model_is_detector(model) ? DETECTOR : CLASSIFIER;
}

/* An option that would change nothing is refused: whoever gives it expects it
 * to do something. */
static enum assay_status
run_settings_check_kind(const struct run_settings *settings,
                        const struct model_source *model, struct error *err)
{
    static const struct run_settings none = RUN_DEFAULTS;
    static const char own[] = "built-in models; a file has its own";
    static const char sizes[] = "detectors; other models have --input size=";
    static const char files[] =
        "model files; built-in models need no such option";
    const struct {
        const char *name;
        bool is_given;
        unsigned kinds;
        const char *takers;
    } options[] = {
        {"weights", settings->weights, DETECTOR | CLASSIFIER, own},
        {"classes", settings->classes, DETECTOR | CLASSIFIER, own},
        {"variant", settings->variant, DETECTOR | CLASSIFIER, own},
        {"min-size", settings->min_size != none.min_size, DETECTOR, sizes},
        {"max-size", settings->max_size != none.max_size, DETECTOR, sizes},
        {"norm", settings->norm, DETECTOR, "detectors"},
        {"decode", settings->decode, MODEL_FILE, files},
        {"shape", settings->shapes.n, MODEL_FILE, files},
        {"set", settings->set.n, MODEL_FILE, files},
        {"iou", !isnan(settings->iou), MODEL_FILE, files},
        {"allow-outside", settings->may_read_outside, MODEL_FILE, files},
    };

    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (options[i].is_given &&
            !(options[i].kinds & run_settings_kind_of(model)))
            return error_set(err, ASSAY_BAD_USAGE,
                             "--%s does not apply to %s; it is for %s",
                             options[i].name, model->name, options[i].takers);
    }
    return ASSAY_OK;
}

static void run_settings_set_build(struct model_source *model,
                                   const struct run_settings *settings)
{
    struct model_options *build = &model->build;

    *build =
        model_options_for(model->name, (enum model_variant)settings->variant);
    build->n_images = settings->batch;
    if (settings->classes)
        build->n_classes = settings->classes;
    build->min_size = settings->min_size;
    build->max_size = settings->max_size;
    build->norm = (enum model_norm)settings->norm;
    if (model->weights)
        build->norm_eps = weights_norm_eps(model->weights);
}

/* Torchvision's preset, or the one that the weights were published with. */
static struct recipe
run_settings_classifier_recipe(const struct model_source *model,
                               enum model_variant variant)
{
    const struct published *published =
        model->weights ? published_of_file(model->weights) : NULL;
    struct recipe recipe = recipe_of_variant(variant);

    if (published && published->trained == TRAINED_SHORTER_232)
        recipe.shorter = 232;
    for (int c = 0; c < 3; c++) {
        if (published && published->trained == TRAINED_HALF_NORM)
            recipe.mean[c] = recipe.std[c] = 0.5;
    }
    return recipe;
}

/* How photographs come in and outputs are read. */
static enum assay_status
run_settings_set_ends(struct run_job *job, const struct run_settings *settings,
                      struct error *err)
{
    struct session_options *options = &job->options.session;
    const char *recipe = input_words_recipe(settings->input);
    const struct model_source *model = &options->model;
    struct vision_options *vision = &options->vision;
    bool is_classifier = model_is_classifier(model);

    if (model->is_file)
        vision->decode = run_decode(settings->decode);
    else
        vision->decode = is_classifier ? DECODE_CLASSES : DECODE_DETECTOR;
    vision->recipe = vision->decode == DECODE_NONE
                         ? recipe_defaults()
                         : decoder_of(vision->decode)->recipe;
    if (is_classifier)
        vision->recipe = run_settings_classifier_recipe(
            model, (enum model_variant)settings->variant);
    if (settings->input && vision->decode == DECODE_DETECTOR)
        return error_set(err, ASSAY_BAD_USAGE,
                         "--input does not apply to %s, which resizes "
                         "photographs itself; use --min-size and --max-size",
                         model->name);
    if (job->inputs.image && !model->is_file)
        return error_set(err, ASSAY_BAD_USAGE,
                         "--input: %s has one input; leave the name '%s' out",
                         model->name, job->inputs.image);
    return recipe ? recipe_read(recipe, &vision->recipe, err) : ASSAY_OK;
}

/* The score below which nothing counts, and the overlap that is one object. */
static void run_settings_set_thresholds(struct session_options *options,
                                        const struct run_settings *settings)
{
    struct vision_options *vision = &options->vision;
    const struct decoder *decoder = decoder_of(vision->decode);

    vision->score = settings->score;
    vision->iou = settings->iou;
    if (isnan(vision->iou))
        vision->iou = decoder ? decoder->iou : 0.45;
    if (isnan(vision->score) &&
        (options->model.weights || options->model.is_file))
        vision->score = decoder ? decoder->score : 0.5;
}

/* model: as run_find_model() returned it. */
static enum assay_status
run_settings_check_in_flight(const struct run_settings *settings,
                             const struct device *device, struct error *err)
{
    if (!settings->in_flight)
        return ASSAY_OK;
    if (!device || device->space->is_host)
        return error_set(err, ASSAY_BAD_USAGE,
                         "--in-flight needs a GPU (--device cuda:0); the "
                         "processors run one pass at a time");
    if (settings->is_plain)
        return error_set(err, ASSAY_BAD_USAGE,
                         "--plain runs one kernel per module, and passes in "
                         "flight are one launch; leave out one of the two");
    return ASSAY_OK;
}

static enum assay_status
run_settings_set_session(struct run_job *job,
                         const struct run_settings *settings,
                         const struct model_source *model, struct error *err)
{
    struct session_options *options = &job->options.session;
    enum assay_status st;

    *options = (struct session_options){
        .model = *model,
        .vision = {.image_input = job->inputs.image,
                   .settings = job->inputs.settings,
                   .n_settings = job->inputs.n_settings,
                   .is_random = settings->is_random || job->photos.n == 0,
                   .labels = job->labels.n ? job->labels.items : NULL,
                   .n_labels = job->labels.n},
        .n_threads = look_threads(settings->threads),
        .precision = (enum precision)settings->precision,
        .may_replay = !settings->is_plain,
        .is_plain = settings->is_plain,
        .detail = (enum engine_detail)settings->detail,
        .tuning_seconds = settings->tuning_seconds,
        .choices_path = job->choices.n ? job->choices.text : NULL,
    };
    options->model.file = (struct model_file_options){
        .shapes = job->shapes.items,
        .n_shapes = job->shapes.n,
        .may_read_outside = settings->may_read_outside,
        .outside_hint = RUN_OUTSIDE_HINT,
    };
    options->model.weights = settings->weights;
    options->model.seed = (uint64_t)settings->seed;
    run_settings_set_build(&options->model, settings);
    st = look_device(settings->device, &options->device, err);
    if (!st)
        st = run_settings_check_in_flight(settings, options->device, err);
    if (!st)
        st = run_settings_set_ends(job, settings, err);
    run_settings_set_thresholds(options, settings);
    return st;
}

/* "all" or a number of iterations. */
static enum assay_status
run_settings_read_keep(const char *text, uint64_t *n_keep, struct error *err)
{
    struct error ignored = {0};
    int64_t n = 0;

    if (!text)
        return ASSAY_OK;
    *n_keep = UINT64_MAX;
    if (strcmp(text, "all") == 0)
        return ASSAY_OK;
    if (value_integer(text, &n, &ignored) || n < 1 || n > 1000000000)
        return error_set(err, ASSAY_BAD_USAGE,
                         "--keep needs 'all' or a number of iterations, not "
                         "'%s'",
                         text);
    *n_keep = (uint64_t)n;
    return ASSAY_OK;
}

static enum assay_status
run_settings_set_options(struct run_job *job,
                         const struct run_settings *settings,
                         const struct model_source *model, struct error *err)
{
    uint64_t at_least = job->photos.n > 5 ? job->photos.n : 5;
    uint64_t n_keep = 0;
    enum assay_status st = run_settings_read_keep(settings->keep, &n_keep, err);

    if (st)
        return st;
    job->options = (struct profile_options){
        .n_images = settings->images ? (uint64_t)settings->images : at_least,
        .precision_goal = settings->images ? 0 : settings->precision_goal,
        .time_limit = settings->time_limit,
        .n_warm_up = (uint64_t)settings->warm_up,
        .run_path = settings->output,
        .drawn_dir = settings->drawn_dir,
        .n_keep = n_keep,
        .n_in_flight = (size_t)settings->in_flight,
    };
    return run_settings_set_session(job, settings, model, err);
}

void run_find_choices(struct str *path)
{
    if (cache_path("kernels.txt", path, NULL) ||
        cache_make_folders(path->text, NULL))
        str_clear(path);
}

static enum assay_status
run_settings_check_photographs(const struct run_settings *settings,
                               const struct words *operands, bool is_file,
                               struct error *err)
{
    if (operands->n > 1 && settings->is_random)
        return error_set(err, ASSAY_BAD_USAGE,
                         "--random takes no photographs; leave '%s' out",
                         operands->items[1]);
    if (operands->n == 1 && !settings->is_random && !is_file)
        return error_set(err, ASSAY_BAD_USAGE,
                         "missing a photograph; --random runs without one");
    return ASSAY_OK;
}

enum assay_status run_job_make(struct run_job *job,
                               const struct run_settings *settings,
                               const struct words *operands, struct error *err)
{
    struct model_source model;
    enum assay_status st = run_find_model(operands->items[0], &model, err);

    if (!st)
        st = run_settings_check_kind(settings, &model, err);
    if (!st)
        st = run_settings_check_photographs(settings, operands, model.is_file,
                                            err);
    if (!st)
        st = run_settings_make_folder(settings->drawn_dir, err);
    for (size_t i = 1; !st && i < operands->n; i++)
        st = photos_add(&job->photos, operands->items[i], err);
    if (!st && settings->labels)
        st = labels_read(&job->labels, settings->labels, err);
    if (!st)
        st = shapes_read(&settings->shapes, &job->shapes, err);
    if (!st)
        st = input_words_read(&job->inputs, settings->input, &settings->set,
                              err);
    if (!st) {
        run_find_choices(&job->choices);
        st = run_settings_set_options(job, settings, &model, err);
    }
    return st;
}

void run_job_release(struct run_job *job)
{
    photos_release(&job->photos);
    labels_release(&job->labels);
    shapes_release(&job->shapes);
    input_words_release(&job->inputs);
    str_release(&job->choices);
}

/* Boxes are drawn if there is a score to draw them from. */
static bool run_settings_may_draw(const struct vision_options *options)
{
    const struct decoder *decoder = decoder_of(options->decode);

    return !options->is_random && !isnan(options->score) && decoder &&
           decoder->has_boxes;
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
    if (run_settings_may_draw(&job->options.session.vision))
        st = photos_name_drawn(&drawn, photos->paths, photos->n, err);
    for (size_t i = 0; !st && i < drawn.n; i++)
        file_roles_write_in(roles, "the drawn photograph", folder,
                            drawn.paths[i]);
    photos_release(&drawn);
    return st;
}
