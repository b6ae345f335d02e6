/* cli/cmd_prune.c - assay prune: a model with fewer filters. */
#include "cli/command.h"

#include "cli/model_graph.h"
#include "cli/prune_show.h"
#include "cli/result.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct settings {
    struct run_settings run;
    double percent;
    int mode;
    int64_t repeats;
    bool has_linear, has_all, has_json;
    const char *output;
};

static const struct settings defaults = {
    .run = RUN_DEFAULTS, .percent = NAN, .repeats = 1};

static const char *const modes[] = {"random", "l1", "random_weighted", NULL};

#define FIELD(field) OPTION_FIELD(struct settings, field)

static const struct option options[] = {
    {.kind = OPTION_SECTION, .help = "What goes"},
    {.name = "percent",
     .letter = 'p',
     .kind = OPTION_NUMBER,
     .value = "P",
     .help = "share of the filters that go, 0 to 95",
     FIELD(percent)},
    {.name = "mode",
     .kind = OPTION_CHOICE,
     .value = "MODE",
     .choices = modes,
     .help = "by lot; those with the smallest weights; by lot, with more from "
             "the first or the last layers",
     .shown_default = "random",
     FIELD(mode)},
    {.name = "seed",
     .kind = OPTION_INTEGER,
     .value = "N",
     .max = 9007199254740992.0,
     .help = "of what is drawn: the same for a seed",
     .shown_default = "0",
     FIELD(run.seed)},
    {.name = "repeats",
     .kind = OPTION_INTEGER,
     .value = "N",
     .min = 1,
     .max = 1000,
     .help = "so many networks, with seeds that follow: x_0.net and so on",
     .shown_default = "1",
     FIELD(repeats)},
    {.name = "linear",
     .kind = OPTION_FLAG,
     .help = "outputs of fully connected layers are filters, too",
     FIELD(has_linear)},
    {.kind = OPTION_SECTION, .help = "The model"},
    {.name = "weights",
     .letter = 'w',
     .kind = OPTION_FILE,
     .value = "FILE",
     .is_once = true,
     .help = "weights of a built-in model; what is left of them is written",
     FIELD(run.weights)},
    RUN_MODEL_OPTIONS,
    {.kind = OPTION_SECTION, .help = "What comes of it"},
    {.name = "output",
     .letter = 'o',
     .kind = OPTION_FILE,
     .role = ROLE_OUTPUT,
     .value = "FILE",
     .help = "write the network there: FILE.net or FILE.onnx",
     FIELD(output)},
    {.name = "all",
     .kind = OPTION_FLAG,
     .help = "show every group of layers",
     FIELD(has_all)},
    OPTION_JSON("show it as JSON", FIELD(has_json)),
    {.kind = OPTION_END},
};

/* One network of those that are asked for. */
struct task {
    const struct settings *settings;
    struct model_graph *model;
    bool is_filled; /* with random weights, for their norms */
    struct prune_view view;
    struct str path;
};

/* x.net, or x_3.net where several are made. */
static enum assay_status name_output(struct task *task, int64_t number,
                                     struct error *err)
{
    const char *path = task->settings->output;
    const char *dot = strrchr(path, '.');
    enum assay_status st;

    str_clear(&task->path);
    if (task->settings->repeats == 1)
        st = str_append(&task->path, path);
    else
        st = str_printf(&task->path, "%.*s_%lld%s", (int)(dot - path), path,
                        (long long)number, dot);
    return st ? error_nomem(err, strlen(path), "a file name") : ASSAY_OK;
}

/* Every network that is asked for, before the first is made. */
static enum assay_status check_outputs(struct task *task,
                                       const struct words *operands,
                                       struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (int64_t i = 0; !st && i < task->settings->repeats; i++) {
        st = name_output(task, i, err);
        if (!st)
            st = model_graph_check_roles(task->path.text, &task->settings->run,
                                         operands, err);
    }
    return st;
}

/* Random weights were only there to be compared. */
static void forget_weights(struct graph *graph)
{
    for (uint32_t i = 0; i < graph_value_count(graph); i++) {
        enum value_kind kind = graph_value(graph, i)->kind;

        if (kind == VALUE_PARAMETER || kind == VALUE_BUFFER)
            graph_release_data(graph, i);
    }
}

static enum assay_status save(struct task *task, struct graph *pruned,
                              struct error *err)
{
    const struct prune_options *asked = &task->view.options;
    char note[160];

    snprintf(note, sizeof note,
             "%s without %g %% of its filters (%s, seed %llu)",
             graph_name(task->model->graph), asked->percent, modes[asked->mode],
             (unsigned long long)asked->seed);
    if (task->is_filled)
        forget_weights(pruned);
    return model_graph_save(task->model, pruned, task->path.text, note, err);
}

static enum assay_status prune_one(struct task *task, int64_t number,
                                   struct error *err)
{
    const struct settings *settings = task->settings;
    struct prune_view *view = &task->view;
    struct model_graph *model = task->model;
    struct graph *pruned = NULL;
    enum assay_status st;

    view->options =
        (struct prune_options){.percent = settings->percent,
                               .mode = (enum prune_mode)settings->mode,
                               .seed = (uint64_t)(settings->run.seed + number),
                               .has_linear = settings->has_linear};
    st = graph_prune(model->graph, model->inputs.shapes, &view->options,
                     model->pool, &pruned, &view->report, err);
    if (!st) {
        view->parameters[PRUNE_AFTER] = graph_parameter_elements(pruned);
        st = model_graph_macs(model, pruned, &view->macs[PRUNE_AFTER], err);
    }
    if (!st && settings->output) {
        st = name_output(task, number, err);
        if (!st)
            st = save(task, pruned, err);
        view->path = str_text(&task->path);
        view->saved = str_text(&model->saved);
    }
    graph_free(pruned);
    return st;
}

static enum assay_status show(const struct task *task, struct error *err)
{
    struct result result;
    enum assay_status st = result_open(NULL, &result, err);

    if (st)
        return st;
    if (task->settings->has_json)
        prune_show_json(&task->view, result.sink);
    else
        prune_show_table(&task->view, task->settings->has_all, result.sink);
    return result_close(&result, sink_status(result.sink, err), err);
}

/* What the report says of the model as it was. */
static enum assay_status look_at_model(struct task *task, struct error *err)
{
    struct model_graph *model = task->model;

    task->view.model = graph_name(model->graph);
    task->view.mode = modes[task->settings->mode];
    task->view.input = str_text(&model->input_text);
    task->view.parameters[PRUNE_BEFORE] =
        graph_parameter_elements(model->graph);
    return model_graph_macs(model, model->graph, &task->view.macs[PRUNE_BEFORE],
                            err);
}

static enum assay_status open_model(struct task *task, struct run_settings *run,
                                    const struct words *operands,
                                    struct error *err)
{
    enum assay_status st = model_graph_open(task->model, run, operands, err);

    if (!st && task->settings->mode == PRUNE_L1 &&
        !graph_has_data(task->model->graph)) {
        task->is_filled = true;
        st = model_graph_fill(task->model, task->model->graph, err);
    }
    return st ? st : look_at_model(task, err);
}

static enum assay_status run_prune(const struct arguments *arguments,
                                   struct error *err)
{
    struct settings settings = *(const struct settings *)arguments->settings;
    struct model_graph model = {0};
    struct task task = {.settings = &settings, .model = &model};
    enum assay_status st = ASSAY_OK;

    if (isnan(settings.percent))
        st = error_set(err, ASSAY_BAD_USAGE,
                       "how many filters go? --percent 30 says");
    else if (settings.repeats > 1 && settings.mode == PRUNE_L1)
        st = error_set(err, ASSAY_BAD_USAGE,
                       "--mode l1 draws nothing: all repeats would be the "
                       "same");
    if (!st && settings.output)
        st = model_graph_check_path(settings.output, err);
    if (!st && settings.output)
        st = check_outputs(&task, &arguments->operands, err);
    if (!st)
        st = open_model(&task, &settings.run, &arguments->operands, err);
    for (int64_t i = 0; !st && i < settings.repeats; i++) {
        st = prune_one(&task, i, err);
        if (!st)
            st = show(&task, err);
        prune_report_release(&task.view.report);
    }
    str_release(&task.path);
    model_graph_release(&model);
    return st;
}

const struct command cmd_prune = {
    .name = "prune",
    .section = "Models",
    .purpose = "remove filters of a model, and keep it a network",
    .usage =
        (const char *const[]){"prune [options] MODEL --percent P",
                              "prune [options] FILE.onnx --percent P", NULL},
    .operands = RUN_MODEL_OPERAND,
    .description =
        (const char *const[]){
            "Channels that depend on one another go together: both sides of "
            "an addition, the parts of a concatenation, depthwise and grouped "
            "convolutions, norms, the layers behind a flatten. Inputs and "
            "outputs keep their shapes. Every layer loses the same share; one "
            "that would lose all of its filters is named, and nothing is "
            "written.",
            "FILE.net is a text that `assay run`, `train`, `layers`, `metrics` "
            "and `export` read; what is left of weights lies in a safetensors "
            "file beside it.",
            NULL,
        },
    .options = options,
    .examples =
        (const struct example[]){
            {"prune resnet50 --percent 30 --seed 7 -o resnet50_30.net",
             "by lot, as a description without weights"},
            {"prune resnet50 -w resnet50.pth -p 30 --mode l1 -o small.onnx",
             "the smallest filters, with the weights of the others"},
            {"prune mobilenet_v2 -p 50", "what it would come to"},
            {NULL, NULL},
        },
    .settings_bytes = sizeof(struct settings),
    .defaults = &defaults,
    .run = run_prune,
};
