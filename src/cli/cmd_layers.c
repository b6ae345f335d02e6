/* cli/cmd_layers.c - assay layers: a model layer by layer. */
#include "cli/command.h"

#include "base/mem.h"
#include "cli/interrupt.h"
#include "cli/layers_show.h"
#include "cli/result.h"
#include "cli/run_settings.h"
#include "detect/model_inputs.h"
#include "formats/model_file.h"
#include "metrics/measured_run.h"

static layers_show *const formats[] = {
    [FORMAT_TABLE] = layers_show_table,
    [FORMAT_JSON] = layers_show_json,
    [FORMAT_CSV] = layers_show_csv,
    [FORMAT_MARKDOWN] = layers_show_markdown,
};

struct settings {
    struct run_settings run; /* first: its options are those of assay run */
    bool has_run;
    int format;
    const char *output;
};

static const struct settings defaults = {.run = RUN_DEFAULTS};

#define FIELD(field) OPTION_FIELD(struct settings, field)

static const struct option options[] = {
    {.kind = OPTION_SECTION, .help = "The model"},
    RUN_BUILD_OPTIONS,
    {.name = "batch",
     .kind = OPTION_INTEGER,
     .value = "N",
     .min = 1,
     .max = DETECT_MAX_BATCH,
     .help = "images that are read at once",
     .shown_default = "1",
     FIELD(run.batch)},
    RUN_SHAPE_OPTIONS,
    {.kind = OPTION_SECTION, .help = "Times"},
    {.name = "run",
     .kind = OPTION_FLAG,
     .help = "run it on random values, and show what each layer takes",
     FIELD(has_run)},
    {.name = "iters",
     .letter = 'n',
     .kind = OPTION_INTEGER,
     .value = "N",
     .min = 1,
     .max = 1e9,
     .help = "images to measure",
     .shown_default = "5",
     FIELD(run.images)},
    OPTION_THREADS(FIELD(run.threads)),
    {.name = "plain",
     .kind = OPTION_FLAG,
     .help = "a kernel a layer: nothing is fused",
     FIELD(run.is_plain)},
    {.kind = OPTION_SECTION, .help = "How it is shown"},
    OPTION_FORMATS(FIELD(format)),
    OPTION_RESULT(FIELD(output)),
    {.kind = OPTION_END},
};

/* A model that is looked at. Start from {0}. */
struct subject {
    struct run_job job;
    struct pool *pool;
    struct graph *graph;
    struct survey survey;
    struct layers layers;
    struct layer_time *times;
    struct str input;
    struct run *run;
};

static void subject_release(struct subject *subject)
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

/* Without weights, where the model is built in. */
static enum assay_status open_graph(struct subject *subject, struct error *err)
{
    const struct detect_options *job = &subject->job.options;
    enum assay_status st = pool_new(&subject->pool, err);

    if (st)
        return st;
    if (job->is_onnx)
        return model_file_load(job->model, &job->onnx, subject->pool,
                               &subject->graph, err);
    return model_build(job->model, &job->build, &subject->graph, err);
}

static enum assay_status survey(struct subject *subject, struct error *err)
{
    struct model_inputs inputs = {0};
    enum assay_status st = model_inputs_shapes(&inputs, &subject->job.options,
                                               subject->graph, err);

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

static enum assay_status measure(struct subject *subject, struct error *err)
{
    struct detect_options *job = &subject->job.options;
    enum assay_status st;

    job->stop = interrupt_watch();
    st = measured_run(job, &subject->run, err);
    return st ? st
              : layer_times_read(subject->run, subject->graph, &subject->layers,
                                 &subject->times, err);
}

/* ---- the command ------------------------------------------------------------
 */

static enum assay_status show(const struct subject *subject,
                              const struct settings *settings,
                              struct error *err)
{
    struct layers_view view = {.graph = subject->graph,
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
    return result_close(&result, sink_status(result.sink, err), err);
}

static enum assay_status show_layers(const struct arguments *arguments,
                                     struct error *err)
{
    struct settings settings = *(const struct settings *)arguments->settings;
    struct subject subject = {0};
    enum assay_status st;

    settings.run.is_random = true;
    settings.run.precision_goal = 0;
    st = run_job_make(&subject.job, &settings.run, &arguments->operands, err);
    if (!st)
        st = open_graph(&subject, err);
    if (!st)
        st = survey(&subject, err);
    if (!st && settings.has_run)
        st = measure(&subject, err);
    if (!st)
        st = show(&subject, &settings, err);
    subject_release(&subject);
    return st;
}

const struct command cmd_layers = {
    .name = "layers",
    .section = "Models",
    .purpose = "show a model layer by layer: shapes, parameters, MACs, times",
    .usage = (const char *const[]){"layers [options] MODEL", NULL},
    .operands = RUN_MODEL_OPERAND,
    .description =
        (const char *const[]){
            "Lists the modules that compute, and the ops that modules do "
            "themselves, in the order they are called: class, the shape of the "
            "output, parameters, multiply-adds, memory. Nothing runs unless "
            "--run is given. MODEL is one of those of `assay run`, or a file "
            "of ONNX or Keras.",
            NULL,
        },
    .options = options,
    .examples =
        (const struct example[]){
            {"layers mobilenet_v2", "all layers, without running them"},
            {"layers resnet50 --run --threads 2", "and what each takes"},
            {"layers yolo.onnx --csv -o layers.csv", "for a spreadsheet"},
            {NULL, NULL},
        },
    .settings_bytes = sizeof(struct settings),
    .defaults = &defaults,
    .run = show_layers,
};
