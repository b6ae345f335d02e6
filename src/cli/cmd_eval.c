/* cli/cmd_eval.c - assay eval: scores the result files of any detector. */
#include "cli/command.h"

#include "cli/eval_show.h"
#include "cli/messages.h"
#include "cli/plot_file.h"
#include "cli/result.h"

#include <string.h>

static eval_show *const formats[] = {
    [FORMAT_TABLE] = eval_show_table,
    [FORMAT_JSON] = eval_show_json,
    [FORMAT_CSV] = eval_show_csv,
    [FORMAT_MARKDOWN] = eval_show_markdown,
};

static const char *const eval_datasets[] = {
    [EVAL_COCO] = "coco", [EVAL_VOC] = "voc", NULL};
static const char *const eval_overlaps[] = {
    [COCO_BOXES] = "bbox", [COCO_MASKS] = "segm", NULL};
static const char *const eval_splits[] = {"test", "train", NULL};

struct settings {
    const char *results, *annotations;
    int dataset, overlap, split;
    double least_overlap;
    const char *plot, *class;
    int format;
    const char *output;
};

static const struct settings defaults = {.least_overlap = 0.5};

#define FIELD(field) OPTION_FIELD(struct settings, field)

static const struct option options[] = {
    {OPT_FILE("results", "PATH"), .letter = 'r', .is_once = true,
     .help = "the detections: COCO's JSON, or VOC's text files (a folder of "
             "one file per class, or one of these files)",
     FIELD(results)},
    {OPT_FILE("annotations", "PATH"), .letter = 'a', .is_once = true,
     .help = "the true objects: COCO's JSON of instances, or a folder of VOC's "
             "XML files",
     FIELD(annotations)},
    {OPT_CHOICE("dataset", "NAME", eval_datasets),
     .help = "whose file formats and rules", .shown_default = "coco",
     FIELD(dataset)},
    {OPT_CHOICE("iou", "KIND", eval_overlaps),
     .help = "what overlaps: boxes or masks (coco)", .shown_default = "bbox",
     FIELD(overlap)},
    {OPT_NUMBER("min-overlap", "X", 0.01, 1),
     .help = "the IoU from which a box is found (voc)", .shown_default = "0.5",
     FIELD(least_overlap)},
    {OPT_CHOICE("split", "NAME", eval_splits),
     .help = "which part, if the annotations are a dataset's folder",
     .shown_default = "test", FIELD(split)},
    {.kind = OPTION_SECTION, .help = "Output"},
    {OPT_FILE("plot", "FILE"), .role = ROLE_OUTPUT,
     .help = "draw precision over recall: .png, .svg or .pdf", FIELD(plot)},
    {OPT_TEXT("class", "NAME"),
     .help = "draw the curves of this class (--plot)",
     .shown_default = "the mean of all", FIELD(class)},
    OPTION_FORMATS(FIELD(format)),
    OPTION_RESULT(FIELD(output)),
    {.kind = OPTION_END},
};

static enum assay_status eval_check(const struct arguments *arguments,
                                    struct error *err)
{
    const struct settings *settings = arguments->settings;
    bool is_voc = settings->dataset == EVAL_VOC;
    enum sheet_format format;

    if (!settings->results || !settings->annotations)
        return error_set(err, ASSAY_BAD_USAGE,
                         "missing --%s; both --results and --annotations are "
                         "needed",
                         settings->results ? "annotations" : "results");
    if (is_voc && settings->overlap == COCO_MASKS)
        return error_set(err, ASSAY_BAD_USAGE,
                         "--iou segm is for --dataset coco: VOC's results have "
                         "no masks");
    if (!is_voc && settings->least_overlap != defaults.least_overlap)
        return error_set(err, ASSAY_BAD_USAGE,
                         "--min-overlap is for --dataset voc: COCO's figures "
                         "are over 0.50 to 0.95");
    if (settings->class && !settings->plot)
        return error_set(err, ASSAY_BAD_USAGE,
                         "--class needs --plot, whose curves it chooses");
    return settings->plot ? plot_file_format(settings->plot, &format, err)
                          : ASSAY_OK;
}

static enum assay_status eval_find_class(const struct eval *eval,
                                         const char *name, size_t *class,
                                         struct error *err)
{
    struct nearest nearest;

    *class = SIZE_MAX;
    if (!name)
        return ASSAY_OK;
    nearest = nearest_to(name);
    for (size_t i = 0; i < eval->n_classes; i++) {
        if (strcmp(eval->classes[i].name, name) == 0) {
            *class = i;
            return ASSAY_OK;
        }
        nearest_offer(&nearest, eval->classes[i].name);
    }
    return message_unknown("unknown class", &nearest,
                           "the table lists the classes", err);
}

static enum assay_status eval_write_plot(const struct settings *settings,
                                         const struct eval *eval,
                                         struct error *err)
{
    enum sheet_format format = SHEET_PNG;
    struct result result;
    size_t class = SIZE_MAX;
    enum assay_status st = eval_find_class(eval, settings->class, &class, err);

    if (!st)
        st = plot_file_format(settings->plot, &format, err);
    if (!st)
        st = result_open(settings->plot, &result, err);
    if (st)
        return st;
    st = eval_plot(eval, class, format, result.sink, err);
    return result_close(&result, st, err);
}

static enum assay_status run_eval(const struct arguments *arguments,
                                  struct error *err)
{
    const struct settings *settings = arguments->settings;
    const struct eval_options chosen = {
        .kind = (enum eval_kind)settings->dataset,
        .overlap = (enum coco_overlap)settings->overlap,
        .least_overlap = settings->least_overlap,
        .annotations = settings->annotations,
        .results = settings->results,
        .split = settings->split ? DATASET_TRAIN : DATASET_TEST};
    struct eval eval = {0};
    struct result result;
    enum assay_status st = eval_check(arguments, err);

    if (!st)
        st = result_open(settings->output, &result, err);
    if (st)
        return st;
    st = eval_run(&eval, &chosen, err);
    if (!st)
        formats[settings->format](&eval, result.sink, &result.term);
    st = result_close(&result, st, err);
    if (!st && settings->plot)
        st = eval_write_plot(settings, &eval, err);
    eval_release(&eval);
    return st;
}

const struct command cmd_eval = {
    .name = "eval",
    .section = "Models",
    .purpose = "score the result files of any detector: COCO's AP and AR, "
               "VOC's AP",
    .usage = TEXTS("eval [options] --results PATH --annotations PATH"),
    .description = TEXTS(
        "Computes COCO's 12 figures (AP, AP50, AP75, AR and so on), or "
        "Pascal VOC's average precision, from result files that any program "
        "wrote, and shows them by class. Needs neither the model nor the "
        "photographs. The figures equal those of the official tools.",
        "COCO: results are a JSON list of {image_id, category_id, score, bbox "
        "or segmentation}. VOC: results are text files named "
        "*_CLASS.txt with lines of 'IMAGE SCORE XMIN YMIN XMAX YMAX'.",
        "To evaluate a model that Assay runs itself, use `assay metrics "
        "--data`."),
    .options = options,
    .examples =
        EXAMPLES({"eval -r dt.json -a instances_val2017.json",
                  "COCO's figures of boxes"},
                 {"eval -r dt.json -a gt.json --iou segm --plot curve.png",
                  "of masks, with the curves as a picture"},
                 {"eval --dataset voc -r results/ -a VOCdevkit/VOC2007",
                  "Pascal VOC's average precision"},
                 {"eval -r dt.json -a gt.json --json -o figures.json",
                  "all digits, for a program"}),
    .settings_bytes = sizeof(struct settings),
    .defaults = &defaults,
    .run = run_eval,
};
