/* cli/cmd_export.c - assay export: writes a model to a file. */
#include "cli/command.h"

#include "cli/model_graph.h"
#include "cli/result.h"

struct settings {
    struct run_settings run;
    const char *output;
};

static const struct settings defaults = {.run = RUN_DEFAULTS};

#define FIELD(field)     OPTION_FIELD(struct settings, field)
#define RUN_FIELD(field) FIELD(run.field)

static const struct option options[] = {
    OPTION_OUTPUT("FILE", "write to FILE.onnx or FILE.net", FIELD(output)),
    RUN_WEIGHTS_OPTION("weights of a built-in model",
                       .shown_default = "random weights", FIELD(run.weights)),
    OPTION_SEED("seed for the random weights", FIELD(run.seed)),
    RUN_MODEL_OPTIONS(RUN_FIELD),
    {.kind = OPTION_END},
};

static enum assay_status export_show(const struct model_graph *model,
                                     struct error *err)
{
    struct str text = {0};
    enum assay_status st =
        str_printf(&text, "wrote    %s\n", str_text(&model->saved))
            ? error_nomem(err, text.n, "a line")
            : result_print(text.text, err);

    str_release(&text);
    return st;
}

/* Ops that ONNX does not have are no obstacle to a network description. */
static enum assay_status export_save(struct model_graph *model,
                                     const char *path, struct error *err)
{
    enum assay_status st =
        model_graph_save(model, model->graph, path, NULL, err);
    struct error cause = *err;

    if (st != ASSAY_UNSUPPORTED)
        return st;
    *err = (struct error){0};
    return error_set(err, st, "%.200s; -o FILE.net can hold it", cause.text);
}

static enum assay_status run_export(const struct arguments *arguments,
                                    struct error *err)
{
    struct settings settings = *(const struct settings *)arguments->settings;
    struct model_graph model = {0};
    enum assay_status st = ASSAY_OK;

    if (!settings.output)
        st = error_set(err, ASSAY_BAD_USAGE,
                       "missing the output: -o FILE.onnx or -o FILE.net");
    if (!st)
        st = model_graph_check_path(settings.output, err);
    if (!st)
        st = model_graph_check_roles(settings.output, &settings.run,
                                     &arguments->operands, err);
    if (!st)
        st = model_graph_open(&model, &settings.run, &arguments->operands, err);
    if (!st)
        st = export_save(&model, settings.output, err);
    if (!st)
        st = export_show(&model, err);
    model_graph_release(&model);
    return st;
}

const struct command cmd_export = {
    .name = "export",
    .section = "Models",
    .purpose = "write a model as ONNX or as a network description",
    .usage = TEXTS("export [options] MODEL -o FILE.onnx",
                   "export [options] FILE.net -o FILE.onnx"),
    .operands = RUN_MODEL_OPERAND,
    .description =
        TEXTS("ONNX files use opset 13, or the first later one that has all "
              "ops. The number of images stays open, their size is fixed. The "
              "built-in detectors have ops that ONNX does not know; they can "
              "only be written as FILE.net."),
    .options = options,
    .examples = EXAMPLES(
        {"export resnet18 -w resnet18.pth -o resnet18.onnx",
         "for other runtimes"},
        {"export yolo.onnx -o yolo.net", "to read what it is made of"}),
    .settings_bytes = sizeof(struct settings),
    .defaults = &defaults,
    .run = run_export,
};
