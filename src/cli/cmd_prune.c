/* cli/cmd_prune.c - assay prune: removes filters from a model. */
#include "cli/command.h"

#include "base/json.h"
#include "base/units.h"
#include "cli/model_graph.h"
#include "cli/result.h"
#include "passes/prune.h"
#include "views/model_title.h"

#include <inttypes.h>
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

#define RUN_FIELD(field) FIELD(run.field)

static const struct option options[] = {
    {.kind = OPTION_SECTION, .help = "What to remove"},
    {OPT_NUMBER("percent", "P", 0, 0), .letter = 'p',
     .help = "percentage of the filters to remove, 0 to 95", FIELD(percent)},
    {OPT_CHOICE("mode", "MODE", modes),
     .help = "choose filters at random, those with the smallest weights, or at "
             "random with more from the first or the last layers",
     .shown_default = "random", FIELD(mode)},
    OPTION_SEED("seed for the random choice", FIELD(run.seed)),
    {OPT_INTEGER("repeats", "N", 1, 1000),
     .help = "make this many networks, x_0.net and so on, with consecutive "
             "seeds",
     .shown_default = "1", FIELD(repeats)},
    {OPT_FLAG("linear"),
     .help = "remove outputs of fully connected layers, too",
     FIELD(has_linear)},
    {.kind = OPTION_SECTION, .help = "The model"},
    RUN_WEIGHTS_OPTION("weights of a built-in model; those of the remaining "
                       "filters are written",
                       FIELD(run.weights)),
    RUN_MODEL_OPTIONS(RUN_FIELD),
    {.kind = OPTION_SECTION, .help = "Output"},
    OPTION_OUTPUT("FILE", "write the network to FILE.net or FILE.onnx",
                  FIELD(output)),
    {OPT_FLAG("all"), .help = "show every group of layers", FIELD(has_all)},
    OPTION_JSON("print JSON", FIELD(has_json)),
    {.kind = OPTION_END},
};

/* ---- the result --------------------------------------------------------- */

enum { PRUNE_BEFORE, PRUNE_AFTER };

struct prune_view {
    const char *model, *mode, *input;
    struct prune_options options;
    struct prune_report report;
    uint64_t parameters[2], macs[2]; /* PRUNE_BEFORE, PRUNE_AFTER */
    const char *path;                /* of what was written; NULL: nothing */
    const char *saved;               /* the same, with sizes and weights */
};

enum { most_groups = 8 }; /* without --all */

/* "25.6 M to 12.8 M (-50 %)" */
static void prune_put_change(struct sink *sink, const char *title,
                             double before, double after, const char *unit)
{
    char from[UNITS_MAX], to[UNITS_MAX], change[UNITS_MAX];

    sink_printf(sink, "%-8s %s to %s%s", title, units_count(from, before),
                units_count(to, after), unit);
    if (before > 0)
        sink_printf(sink, " (%s)",
                    units_percent(change, after / before - 1, 1));
}

static void prune_put_groups(const struct prune_view *view, bool has_all,
                             struct sink *sink)
{
    const struct prune_report *report = &view->report;
    size_t n = has_all || report->n_groups <= most_groups ? report->n_groups
                                                          : most_groups;

    sink_printf(sink, "\n%-44s %7s %9s %7s\n", "filters that go together",
                "layers", "channels", "kept");
    for (size_t i = 0; i < n; i++) {
        const struct prune_group *group = &report->groups[i];

        sink_printf(sink, "%-44.44s %7zu %9zu %7zu\n", group->name,
                    group->n_layers, group->channels, group->kept);
    }
    if (n < report->n_groups)
        sink_printf(sink, "... and %zu more (--all)\n", report->n_groups - n);
}

static void prune_show_table(const struct prune_view *view, bool has_all,
                             struct sink *sink)
{
    const struct prune_report *report = &view->report;

    sink_printf(sink, "model    %s   %g %% of the filters, %s", view->model,
                view->options.percent, view->mode);
    if (view->options.mode != PRUNE_L1)
        sink_printf(sink, " (seed %" PRIu64 ")", view->options.seed);
    sink_printf(sink, "\nfilters  %zu to %zu", report->filters,
                report->kept_filters);
    if (report->bound_filters)
        sink_printf(sink, "; %zu of them cannot be pruned",
                    report->bound_filters);
    sink_puts(sink, "\n");
    prune_put_change(sink, "params", (double)view->parameters[PRUNE_BEFORE],
                     (double)view->parameters[PRUNE_AFTER], "");
    sink_puts(sink, "\n");
    prune_put_change(sink, "work", (double)view->macs[PRUNE_BEFORE],
                     (double)view->macs[PRUNE_AFTER], " MACs");
    sink_printf(sink, "   %s\n", view->input);
    prune_put_groups(view, has_all, sink);
    if (view->path)
        sink_printf(sink, "\nwrote    %s\n", view->saved);
}

static void prune_put_pair(struct json_writer *json, const char *key,
                           uint64_t before, uint64_t after)
{
    json_key(json, key);
    json_inline_object_begin(json);
    json_member_int(json, "before", (int64_t)before);
    json_member_int(json, "after", (int64_t)after);
    json_object_end(json);
}

static void prune_put_group(struct json_writer *json,
                            const struct prune_group *group)
{
    json_inline_object_begin(json);
    json_member_string(json, "name", group->name);
    json_member_int(json, "layers", (int64_t)group->n_layers);
    json_member_int(json, "channels", (int64_t)group->channels);
    json_member_int(json, "kept", (int64_t)group->kept);
    json_member_int(json, "filters", (int64_t)group->filters);
    json_member_int(json, "kept_filters", (int64_t)group->kept_filters);
    json_object_end(json);
}

static void prune_show_json(const struct prune_view *view, struct sink *sink)
{
    const struct prune_report *report = &view->report;
    struct json_writer json = json_writer(sink, 2);

    json_object_begin(&json);
    json_member_string(&json, "model", view->model);
    json_member_double(&json, "percent", view->options.percent);
    json_member_string(&json, "mode", view->mode);
    json_member_int(&json, "seed", (int64_t)view->options.seed);
    json_member_string(&json, "input", view->input);
    prune_put_pair(&json, "filters", report->filters, report->kept_filters);
    json_member_int(&json, "bound_filters", (int64_t)report->bound_filters);
    prune_put_pair(&json, "parameters", view->parameters[PRUNE_BEFORE],
                   view->parameters[PRUNE_AFTER]);
    prune_put_pair(&json, "macs", view->macs[PRUNE_BEFORE],
                   view->macs[PRUNE_AFTER]);
    json_key(&json, "groups");
    json_array_begin(&json);
    for (size_t i = 0; i < report->n_groups; i++)
        prune_put_group(&json, &report->groups[i]);
    json_array_end(&json);
    if (view->path)
        json_member_string(&json, "wrote", view->path);
    json_object_end(&json);
    sink_puts(sink, "\n");
}

/* ---- pruning ------------------------------------------------------------ */

/* Making one network after the other. */
struct prune_task {
    const struct settings *settings;
    struct model_graph *model;
    const char *file; /* what a model from a file is called; NULL: built in */
    bool is_filled;   /* with random weights, to compare their norms */
    struct prune_view view;
    struct str path;
};

/* x.net, or x_3.net with --repeats. */
static enum assay_status prune_name_output(struct prune_task *task,
                                           int64_t number, struct error *err)
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

/* All outputs are checked before the first network is made. */
static enum assay_status prune_check_outputs(struct prune_task *task,
                                             const struct words *operands,
                                             struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (int64_t i = 0; !st && i < task->settings->repeats; i++) {
        st = prune_name_output(task, i, err);
        if (!st)
            st = model_graph_check_roles(task->path.text, &task->settings->run,
                                         operands, err);
    }
    return st;
}

/* Random weights were needed only for their norms. */
static void prune_forget_weights(struct graph *graph)
{
    for (uint32_t i = 0; i < graph_value_count(graph); i++) {
        enum value_kind kind = graph_value(graph, i)->kind;

        if (kind == VALUE_PARAMETER || kind == VALUE_BUFFER)
            graph_release_data(graph, i);
    }
}

static enum assay_status prune_save(struct prune_task *task,
                                    struct graph *pruned, struct error *err)
{
    const struct prune_options *asked = &task->view.options;
    char note[160];

    snprintf(note, sizeof note,
             "%s without %g %% of its filters (%s, seed %llu)",
             graph_name(task->model->graph), asked->percent, modes[asked->mode],
             (unsigned long long)asked->seed);
    if (task->is_filled)
        prune_forget_weights(pruned);
    return model_graph_save(task->model, pruned, task->path.text, note, err);
}

static enum assay_status prune_one(struct prune_task *task, int64_t number,
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
        st = prune_name_output(task, number, err);
        if (!st)
            st = prune_save(task, pruned, err);
        view->path = str_text(&task->path);
        view->saved = str_text(&model->saved);
    }
    graph_free(pruned);
    return st;
}

static enum assay_status prune_show(const struct prune_task *task,
                                    struct error *err)
{
    struct result result;
    enum assay_status st = result_open(NULL, &result, err);

    if (st)
        return st;
    if (task->settings->has_json)
        prune_show_json(&task->view, result.sink);
    else
        prune_show_table(&task->view, task->settings->has_all, result.sink);
    return result_close(&result, ASSAY_OK, err);
}

/* Fills in what the report says about the model before pruning. */
static enum assay_status prune_look_at_model(struct prune_task *task,
                                             struct error *err)
{
    struct model_graph *model = task->model;

    task->view.model = task->file ? task->file : graph_name(model->graph);
    task->view.mode = modes[task->settings->mode];
    task->view.input = str_text(&model->input_text);
    task->view.parameters[PRUNE_BEFORE] =
        graph_parameter_elements(model->graph);
    return model_graph_macs(model, model->graph, &task->view.macs[PRUNE_BEFORE],
                            err);
}

static enum assay_status prune_open_model(struct prune_task *task,
                                          struct run_settings *run,
                                          const struct words *operands,
                                          struct error *err)
{
    enum assay_status st = model_graph_open(task->model, run, operands, err);

    if (!st)
        task->file = model_file_title(operands->items[0]);
    if (!st && task->settings->mode == PRUNE_L1 &&
        !graph_has_data(task->model->graph)) {
        task->is_filled = true;
        st = model_graph_fill(task->model, task->model->graph, err);
    }
    return st ? st : prune_look_at_model(task, err);
}

static enum assay_status run_prune(const struct arguments *arguments,
                                   struct error *err)
{
    struct settings settings = *(const struct settings *)arguments->settings;
    struct model_graph model = {0};
    struct prune_task task = {.settings = &settings, .model = &model};
    enum assay_status st = ASSAY_OK;

    if (isnan(settings.percent))
        st = error_set(err, ASSAY_BAD_USAGE,
                       "missing how many filters to remove: --percent 30");
    else if (settings.repeats > 1 && settings.mode == PRUNE_L1)
        st = error_set(err, ASSAY_BAD_USAGE,
                       "--repeats needs a random --mode: with l1 all networks "
                       "would be the same");
    if (!st && settings.output)
        st = model_graph_check_path(settings.output, err);
    if (!st && settings.output)
        st = prune_check_outputs(&task, &arguments->operands, err);
    if (!st)
        st = prune_open_model(&task, &settings.run, &arguments->operands, err);
    for (int64_t i = 0; !st && i < settings.repeats; i++) {
        st = prune_one(&task, i, err);
        if (!st)
            st = prune_show(&task, err);
        prune_report_release(&task.view.report);
    }
    str_release(&task.path);
    model_graph_release(&model);
    return st;
}

const struct command cmd_prune = {
    .name = "prune",
    .section = "Models",
    .purpose = "remove filters from a model",
    .usage = TEXTS("prune [options] MODEL --percent P",
                   "prune [options] FILE.onnx --percent P"),
    .operands = RUN_MODEL_OPERAND,
    .description = TEXTS(
        "The result is a valid network: channels that depend on one "
        "another are removed together (both sides of an addition, the "
        "parts of a concatenation, depthwise and grouped convolutions, "
        "norms, the layers after a flatten), and inputs and outputs keep "
        "their shapes. Every layer loses the same share of filters; if one "
        "would lose all of them, it is named and nothing is written.",
        "FILE.net is a text that `assay run`, `train`, `layers`, `metrics` "
        "and `export` read; the remaining weights are in a safetensors "
        "file next to it."),
    .options = options,
    .examples = EXAMPLES(
        {"prune resnet50 --percent 30 --seed 7 -o resnet50_30.net",
         "chosen at random, as a description without weights"},
        {"prune resnet50 -w resnet50.pth -p 30 --mode l1 -o small.onnx",
         "without the smallest filters, with the other weights"},
        {"prune mobilenet_v2 -p 50", "show the result without writing it"}),
    .settings_bytes = sizeof(struct settings),
    .defaults = &defaults,
    .run = run_prune,
};
