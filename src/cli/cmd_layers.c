/* cli/cmd_layers.c - assay layers: a model layer by layer. */
#include "cli/command.h"

#include "base/mem.h"
#include "cli/interrupt.h"
#include "cli/layers_show.h"
#include "cli/result.h"
#include "cli/run_settings.h"
#include "views/model_title.h"

static layers_show *const formats[] = {
    [FORMAT_TABLE] = layers_show_table,
    [FORMAT_JSON] = layers_show_json,
    [FORMAT_CSV] = layers_show_csv,
    [FORMAT_MARKDOWN] = layers_show_markdown,
};

struct settings {
    struct run_settings run;
    bool has_run;
    int format;
    const char *output;
};

static const struct settings defaults = {.run = RUN_DEFAULTS};

#define RUN_FIELD(field) FIELD(run.field)
#define FIELD(field)     OPTION_FIELD(struct settings, field)

static const struct option options[] = {
    {.kind = OPTION_SECTION, .help = "The model"},
    RUN_BUILD_OPTIONS(RUN_FIELD),
    RUN_BATCH_OPTION(FIELD(run.batch)),
    RUN_SHAPE_OPTIONS(RUN_FIELD),
    RUN_SET_OPTION(.shown_default = "random numbers, or the image's size if "
                                    "the name asks for it",
                   FIELD(run.set)),
    {.kind = OPTION_SECTION, .help = "Times"},
    {OPT_FLAG("run"),
     .help = "run the model on random values and show how long each layer "
             "takes",
     FIELD(has_run)},
    RUN_ITERS_OPTION("images to measure", .shown_default = "5",
                     FIELD(run.images)),
    OPTION_DEVICE(FIELD(run.device)),
    OPTION_THREADS(FIELD(run.threads)),
    {OPT_FLAG("plain"), .help = "one kernel per layer: nothing is fused",
     FIELD(run.is_plain)},
    {.kind = OPTION_SECTION, .help = "Output"},
    OPTION_FORMATS(FIELD(format)),
    OPTION_RESULT(FIELD(output)),
    {.kind = OPTION_END},
};

/* Start from {0}. */
struct layers_subject {
    struct run_job job;
    struct pool *pool;
    struct graph *graph;
    struct survey survey;
    struct layers layers;
    struct layer_time *times;
    struct str input;
    struct run *run;
};

static void layers_subject_release(struct layers_subject *subject)
{
    run_free(subject->run);
    str_release(&subject->input);
    mem_free(subject->times);
    layers_release(&subject->layers);
    survey_release(&subject->survey);
    graph_free(subject->graph);
    pool_free(subject->pool);
    run_job_release(&subject->job);
}

/* A built-in model gets no weights. */
static enum assay_status layers_open_graph(struct layers_subject *subject,
                                           struct error *err)
{
    enum assay_status st = pool_new(&subject->pool, err);

    return st ? st
              : model_open(&subject->job.options.session.model, subject->pool,
                           &subject->graph, err);
}

static enum assay_status layers_survey(struct layers_subject *subject,
                                       struct error *err)
{
    struct model_inputs inputs = {0};
    const struct session_options *session = &subject->job.options.session;
    enum assay_status st = model_inputs_shapes(
        &inputs, &session->model, &session->vision, subject->graph, err);

    if (!st)
        st = survey_graph(&subject->survey, subject->graph, inputs.shapes, err);
    if (!st)
        st = layers_list(&subject->layers, subject->graph, &subject->survey,
                         err);
    if (!st)
        st = model_inputs_text(&inputs, subject->graph, &subject->input, err);
    model_inputs_release(&inputs);
    return st;
}

static enum assay_status layers_measure(struct layers_subject *subject,
                                        struct error *err)
{
    struct profile_options *job = &subject->job.options;
    enum assay_status st;

    job->stop = interrupt_watch();
    st = profile_model(job, &subject->run, err);
    return st ? st
              : layer_times_read(subject->run, subject->graph, &subject->layers,
                                 &subject->times, err);
}

/* ---- the command -------------------------------------------------------- */

static enum assay_status cmd_layers_show(const struct layers_subject *subject,
                                         const struct settings *settings,
                                         const char *file, struct error *err)
{
    struct layers_view view = {.file = file,
                               .graph = subject->graph,
                               .layers = &subject->layers,
                               .times = subject->times,
                               .input = str_text(&subject->input)};
    struct result result;
    enum assay_status st = result_open(settings->output, &result, err);

    if (st)
        return st;
    for (size_t i = 0; i < subject->layers.n; i++)
        view.n_unknown += !subject->layers.items[i].is_known;
    formats[settings->format](&view, result.sink, &result.term);
    return result_close(&result, ASSAY_OK, err);
}

static enum assay_status show_layers(const struct arguments *arguments,
                                     struct error *err)
{
    struct settings settings = *(const struct settings *)arguments->settings;
    struct layers_subject subject = {0};
    enum assay_status st;

    settings.run.is_random = true;
    settings.run.precision_goal = 0;
    st = run_job_make(&subject.job, &settings.run, &arguments->operands, err);
    if (!st)
        st = layers_open_graph(&subject, err);
    if (!st)
        st = layers_survey(&subject, err);
    if (!st && settings.has_run)
        st = layers_measure(&subject, err);
    if (!st)
        st = cmd_layers_show(&subject, &settings,
                             model_file_title(arguments->operands.items[0]),
                             err);
    layers_subject_release(&subject);
    return st;
}

const struct command cmd_layers = {
    .name = "layers",
    .section = "Models",
    .purpose = "show a model layer by layer: shapes, parameters, MACs, times",
    .usage = TEXTS("layers [options] MODEL"),
    .operands = RUN_MODEL_OPERAND,
    .description =
        TEXTS("Lists the modules that compute, and the ops that modules run "
              "themselves, in the order of their calls: class, shape of the "
              "output, parameters, multiply-adds, memory. Nothing runs without "
              "--run. MODEL is any model of `assay run`, or an ONNX or Keras "
              "file."),
    .options = options,
    .examples = EXAMPLES(
        {"layers mobilenet_v2", "all layers, without running the model"},
        {"layers resnet50 --run --threads 2", "with the time of each"},
        {"layers yolo.onnx --csv -o layers.csv", "for a spreadsheet"}),
    .settings_bytes = sizeof(struct settings),
    .defaults = &defaults,
    .run = show_layers,
};
