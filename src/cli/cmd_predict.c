/* cli/cmd_predict.c - assay predict: what a network will cost on a device. */
#include "cli/command.h"

#include "base/mem.h"
#include "base/processor.h"
#include "base/vec.h"
#include "cli/predict_show.h"
#include "cli/result.h"
#include "cli/run_settings.h"
#include "predict/campaign_names.h"
#include "predict/describe_graph.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct settings {
    struct run_settings run;
    const char *on;
    struct range batch;
    uint64_t memory;
    int stage;
    const char *family;
    int64_t level;
    bool json, anyway;
    const char *output;
};

/* An empty range stands for none: nobody can give one. */
static const struct settings defaults = {
    .run = RUN_DEFAULTS, .batch = {1, 0}, .level = -1};

enum { largest_batch = 1 << 16 };

#define FIELD(field) OPTION_FIELD(struct settings, field)

#define RUN_FIELD(field) FIELD(run.field)

static const struct option options[] = {
    {.kind = OPTION_SECTION, .help = "The device"},
    {OPT_FILE("on", "FILE"),
     .help = "its fingerprint, written by `assay fingerprint fit`", FIELD(on)},
    {OPT_SIZE("memory", "SIZE", 1 << 20, 0x1p60),
     .help = "its memory if it differs from the measured device's: 7.6GiB",
     .shown_default = "that of the measured device", FIELD(memory)},
    {.kind = OPTION_SECTION, .help = "The question"},
    {OPT_RANGE("batch", "N"), .letter = 'b',
     .help = "images per batch: 32, or 1..256 for the curve and the largest "
             "batch that fits",
     .shown_default = "1 to the largest measured batch", FIELD(batch)},
    {OPT_CHOICE("stage", "STAGE", stage_names), .help = "what a step is",
     .shown_default = "training", FIELD(stage)},
    {OPT_FLAG("anyway"),
     .help = "predict even if the network is unlike all that were measured",
     FIELD(anyway)},
    {.kind = OPTION_SECTION, .help = "The model"},
    {OPT_TEXT("family", "NETWORK"),
     .help = "the network that it was pruned from",
     .shown_default = "its name, without a level at the end", FIELD(family)},
    {OPT_INTEGER("level", "PERCENT", 0, 95),
     .help = "percentage of its filters that were pruned",
     .shown_default = "estimated from its multiply-adds", FIELD(level)},
    RUN_MODEL_OPTIONS(RUN_FIELD),
    {.kind = OPTION_SECTION, .help = "Output"},
    OPTION_JSON("print JSON", FIELD(json)),
    OPTION_RESULT(FIELD(output)),
    {.kind = OPTION_END},
};

/* ---- the network -------------------------------------------------------- */

/* Number of images in an input: n of [n,c,h,w], or one photograph. */
static int64_t predict_images_of(const struct model_inputs *inputs)
{
    const struct shape *first = inputs->shapes;

    return inputs->n && first->rank == 4 && first->dims[0] > 0 ? first->dims[0]
                                                               : 1;
}

static enum assay_status predict_describe(const struct session_options *job,
                                          struct description *out,
                                          struct error *err)
{
    struct model_inputs inputs = {0};
    struct survey survey = {0};
    struct graph *graph = NULL;
    struct pool *pool = NULL;
    enum assay_status st = pool_new(&pool, err);

    if (!st)
        st = model_open(&job->model, pool, &graph, err);
    if (!st)
        st =
            model_inputs_shapes(&inputs, &job->model, &job->vision, graph, err);
    if (!st)
        st = survey_graph(&survey, graph, inputs.shapes, err);
    if (!st)
        st = describe_graph(graph, &survey, predict_images_of(&inputs), out,
                            err);
    survey_release(&survey);
    model_inputs_release(&inputs);
    graph_free(graph);
    pool_free(pool);
    return st;
}

static enum assay_status predict_describe_model(const struct settings *settings,
                                                const char *model,
                                                struct description *out,
                                                struct error *err)
{
    const char *name = network_model(model);
    struct words operands = {&name, 1};
    struct run_settings run = settings->run;
    struct run_job job = {0};
    enum assay_status st;

    run.is_random = true;
    st = run_job_make(&job, &run, &operands, err);
    if (!st)
        st = predict_describe(&job.options.session, out, err);
    run_job_release(&job);
    if (!st && settings->level >= 0)
        out->level = settings->level;
    return st;
}

/* ---- the curve ---------------------------------------------------------- */

static enum assay_status predict_one(const struct prediction *prediction,
                                     const struct description *description,
                                     int64_t batch, struct predicted *out,
                                     struct error *err)
{
    enum assay_status st = ASSAY_OK;

    *out = (struct predicted){.batch = batch, .fit = FIT_MAYBE};
    for (int t = 0; !st && t < N_TARGETS; t++) {
        if (prediction->has[t])
            st = fingerprint_predict(prediction->fingerprint, prediction->stage,
                                     (enum target)t, description, (double)batch,
                                     &out->of[t], err);
    }
    if (!st && prediction->has[TARGET_MEMORY])
        out->fit =
            estimate_fits(&out->of[TARGET_MEMORY], prediction->usable_mb);
    return st;
}

/* The first and the last, and the powers of two between them. */
static int64_t predict_next_shown(int64_t batch, int64_t last)
{
    int64_t power = 1;

    while (power <= batch)
        power *= 2;
    return power < last ? power : last;
}

static enum assay_status
predict_draw_curve(struct prediction *prediction,
                   const struct description *description, int64_t first,
                   int64_t last, struct error *err)
{
    size_t capacity = 0;
    int64_t batch = first;
    enum assay_status st = ASSAY_OK;

    for (;; batch = predict_next_shown(batch, last)) {
        struct predicted *moved = vec_reserve(
            prediction->rows, &capacity, prediction->n_rows + 1, sizeof *moved);

        if (!moved)
            return error_nomem(err, sizeof *moved, "a batch size");
        prediction->rows = moved;
        st = predict_one(prediction, description, batch,
                         &moved[prediction->n_rows], err);
        if (st)
            return st;
        prediction->n_rows++;
        if (batch >= last)
            return ASSAY_OK;
    }
}

/* The largest batches of the range that fit; 0: none. Demand does not always
 * grow with the batch, so all are tried. */
static enum assay_status
predict_find_largest(struct prediction *prediction,
                     const struct description *description, int64_t first,
                     int64_t last, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    prediction->last = last;
    if (!prediction->has[TARGET_MEMORY] || isnan(prediction->usable_mb))
        return st;
    for (int64_t batch = first; !st && batch <= last; batch++) {
        struct predicted row;
        const struct estimate *memory = &row.of[TARGET_MEMORY];

        st = predict_one(prediction, description, batch, &row, err);
        if (st)
            break;
        if (memory->demand <= prediction->usable_mb)
            prediction->largest = batch;
        if (row.fit == FIT_YES)
            prediction->surely = batch;
        if (row.fit != FIT_NO)
            prediction->maybe = batch;
    }
    return st;
}

static enum assay_status predict_find_range(const struct settings *settings,
                                            const struct prediction *prediction,
                                            bool is_given, int64_t *first,
                                            int64_t *last, struct error *err)
{
    double least, most;

    fingerprint_batches(prediction->fingerprint, prediction->stage, &least,
                        &most);
    *first = 1;
    *last = (int64_t)fmax(most, 1);
    if (!is_given)
        return ASSAY_OK;
    if (settings->batch.first)
        *first = (int64_t)fmin((double)settings->batch.first, 1e9);
    if (settings->batch.last != UINT64_MAX)
        *last = (int64_t)fmin((double)settings->batch.last, 1e9);
    if (*first > *last || *last > largest_batch || !settings->batch.last)
        return error_set(err, ASSAY_BAD_USAGE,
                         "--batch must be between 1 and %d", largest_batch);
    return ASSAY_OK;
}

/* ---- the command -------------------------------------------------------- */

static enum assay_status predict_show(const struct prediction *prediction,
                                      const struct settings *settings,
                                      struct error *err)
{
    struct result result;
    enum assay_status st = result_open(settings->output, &result, err);

    if (st)
        return st;
    if (settings->json)
        prediction_show_json(prediction, result.sink);
    else
        prediction_show_table(prediction, result.sink, &result.term);
    return result_close(&result, ASSAY_OK, err);
}

static enum assay_status predict_check_stage(struct prediction *prediction,
                                             const char *path,
                                             struct error *err)
{
    bool has_any = false;

    for (int t = 0; t < N_TARGETS; t++) {
        prediction->has[t] = fingerprint_has(prediction->fingerprint,
                                             prediction->stage, (enum target)t);
        has_any = has_any || prediction->has[t];
    }
    return has_any ? ASSAY_OK
                   : error_set(err, ASSAY_UNSUPPORTED,
                               "%s has no predictions for %s; try the other "
                               "--stage",
                               path, stage_names[prediction->stage]);
}

/* A network unlike all that were measured is refused, or noted. */
static enum assay_status predict_check_network(
    struct prediction *prediction, const struct description *description,
    const struct settings *settings, struct error *why, struct error *err)
{
    struct description shown = *description;

    shown.network = (char *)prediction->network;
    if (!fingerprint_check(prediction->fingerprint, prediction->stage, &shown,
                           why))
        return ASSAY_OK;
    prediction->outside = why->text;
    return settings->anyway
               ? ASSAY_OK
               : error_set(err, why->status,
                           "%s; --anyway predicts it regardless", why->text);
}

/* The fingerprint's name for a network that it was learned from; else NULL. */
static const char *predict_find_network(const struct fingerprint *fingerprint,
                                        const char *name)
{
    const struct data_set *data = fingerprint_data(fingerprint);

    for (size_t i = 0; i < data->n_descriptions; i++) {
        if (strcmp(data->descriptions[i].network, network_canonical(name)) == 0)
            return data->descriptions[i].network;
    }
    return NULL;
}

/* "resnet50_30" and "resnet50_30_2" are levels of resnet50: `assay prune` and
 * campaigns use such names. */
static const char *predict_find_family(const struct fingerprint *fingerprint,
                                       const char *name)
{
    const char *found = predict_find_network(fingerprint, name);
    char shorter[128];
    size_t n = strlen(name);
    int64_t number;

    for (int i = 0; !found && i < 2 && n < sizeof shorter; i++) {
        if (!name_take_number(name, &n, &number))
            return NULL;
        snprintf(shorter, sizeof shorter, "%.*s", (int)n, name);
        found = predict_find_network(fingerprint, shorter);
    }
    return found;
}

/* A description under the name of its family; borrows everything. */
static enum assay_status
predict_name_family(struct prediction *prediction,
                    const struct settings *settings,
                    const struct description *description,
                    struct description *as, struct error *err)
{
    const char *name =
        settings->family ? settings->family : description->network;

    *as = *description;
    prediction->family =
        settings->family ? predict_find_network(prediction->fingerprint, name)
                         : predict_find_family(prediction->fingerprint, name);
    if (prediction->family)
        as->network = (char *)prediction->family;
    else if (settings->family || settings->level >= 0)
        return error_set(
            err, ASSAY_BAD_USAGE,
            "%s: the fingerprint was not learned from '%s'; 'assay "
            "fingerprint show' lists the networks%s",
            settings->family ? "--family" : "--level", name,
            settings->family ? "" : ", --family chooses one");
    return ASSAY_OK;
}

/* As the user named it; for a file, the name in it. */
static const char *predict_shown_name(const char *model,
                                      const struct description *description)
{
    return model_full_name(network_model(model)) ? model : description->network;
}

static enum assay_status predict_networks(struct prediction *prediction,
                                          const struct arguments *arguments,
                                          struct error *err)
{
    const struct settings *settings = arguments->settings;
    const char *model = arguments->operands.items[0];
    struct description description = {0}, as = {0};
    struct error why = {0};
    int64_t first = 1, last = 1;
    bool has_range = settings->batch.first <= settings->batch.last;
    enum assay_status st = predict_check_stage(prediction, settings->on, err);

    if (!st)
        st = predict_find_range(settings, prediction, has_range, &first, &last,
                                err);
    if (!st)
        st = predict_describe_model(settings, model, &description, err);
    if (!st) {
        prediction->network = predict_shown_name(model, &description);
        prediction->uncounted = description.uncounted;
        prediction->n_uncounted = description.n_uncounted;
    }
    if (!st)
        st = predict_check_network(prediction, &description, settings, &why,
                                   err);
    if (!st)
        st = predict_name_family(prediction, settings, &description, &as, err);
    prediction->capacity_mb = fingerprint_capacity_mb(prediction->fingerprint);
    prediction->memory_mb = settings->memory ? (double)settings->memory / 0x1p20
                                             : prediction->capacity_mb;
    prediction->usable_mb = fingerprint_usable_mb(
        prediction->fingerprint, prediction->stage, prediction->memory_mb);
    if (!st)
        st = predict_draw_curve(prediction, &as, first, last, err);
    if (!st)
        st = predict_find_largest(prediction, &as, first, last, err);
    if (!st)
        st = predict_show(prediction, settings, err);
    mem_free(prediction->rows);
    description_release(&description);
    return st;
}

static enum assay_status run_predict(const struct arguments *arguments,
                                     struct error *err)
{
    const struct settings *settings = arguments->settings;
    struct prediction prediction = {.stage = (enum stage)settings->stage};
    struct fingerprint *fingerprint = NULL;
    enum assay_status st;

    if (!settings->on)
        return error_set(err, ASSAY_BAD_USAGE,
                         "missing --on FILE, the fingerprint of a device");
    st = fingerprint_read(settings->on, processor_count(), &fingerprint, err);
    prediction.fingerprint = fingerprint;
    if (!st)
        st = predict_networks(&prediction, arguments, err);
    fingerprint_free(fingerprint);
    return st;
}

const struct command cmd_predict = {
    .name = "predict",
    .section = "Models",
    .purpose = "predict what a network costs on a device, without running it",
    .usage = TEXTS("predict MODEL --on FILE [options]",
                   "predict FILE.onnx --on FILE [options]"),
    .operands = RUN_MODEL_OPERAND,
    .description = TEXTS(
        "Predicts how long a step takes and how much memory it needs, with "
        "90 % intervals, and the largest batch that fits. A network that "
        "is unlike all that the fingerprint was learned from is refused, "
        "with what is unlike and by how much. MODEL is any model of `assay "
        "run`."),
    .options = options,
    .examples = EXAMPLES(
        {"predict mobilenet_v2 --on tx2.fp --batch 32", "one batch size"},
        {"predict my.onnx --on tx2.fp --batch 1..256 --memory 7.6GiB",
         "the curve, and the largest batch that fits"},
        {"predict r30.net --on tx2.fp --family resnet50",
         "a pruned network, predicted from other levels of its family"}),
    .settings_bytes = sizeof(struct settings),
    .defaults = &defaults,
    .run = run_predict,
};
