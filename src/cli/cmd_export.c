/* cli/cmd_export.c - assay export: a model as a file that others read. */
#include "cli/command.h"

#include "cli/model_graph.h"
#include "cli/result.h"

struct settings {
    struct run_settings run;
    const char *output;
};

static const struct settings defaults = {.run = RUN_DEFAULTS};

#define FIELD(field) OPTION_FIELD(struct settings, field)

static const struct option options[] = {
    {.name = "output",
     .letter = 'o',
     .kind = OPTION_FILE,
     .role = ROLE_OUTPUT,
     .value = "FILE",
     .help = "where it goes: FILE.onnx or FILE.net",
     FIELD(output)},
    {.name = "weights",
     .letter = 'w',
     .kind = OPTION_FILE,
     .value = "FILE",
     .is_once = true,
     .help = "weights of a built-in model",
     .shown_default = "random ones",
     FIELD(run.weights)},
    {.name = "seed",
     .kind = OPTION_INTEGER,
     .value = "N",
     .max = 9007199254740992.0,
     .help = "of random weights",
     .shown_default = "0",
     FIELD(run.seed)},
    RUN_MODEL_OPTIONS,
    {.kind = OPTION_END},
};

static enum assay_status show(const struct model_graph *model,
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

static enum assay_status run_export(const struct arguments *arguments,
                                    struct error *err)
{
    struct settings settings = *(const struct settings *)arguments->settings;
    struct model_graph model = {0};
    enum assay_status st = ASSAY_OK;

    if (!settings.output)
        st = error_set(err, ASSAY_BAD_USAGE,
                       "where to? -o FILE.onnx or -o FILE.net says");
    if (!st)
        st = model_graph_check_path(settings.output, err);
    if (!st)
        st = model_graph_check_roles(settings.output, &settings.run,
                                     &arguments->operands, err);
    if (!st)
        st = model_graph_open(&model, &settings.run, &arguments->operands, err);
    if (!st)
        st = model_graph_save(&model, model.graph, settings.output, NULL, err);
    if (!st)
        st = show(&model, err);
    model_graph_release(&model);
    return st;
}

const struct command cmd_export = {
    .name = "export",
    .section = "Models",
    .purpose = "write a model as ONNX or as a network description",
    .usage =
        (const char *const[]){"export [options] MODEL -o FILE.onnx",
                              "export [options] FILE.net -o FILE.onnx", NULL},
    .operands = RUN_MODEL_OPERAND,
    .description =
        (const char *const[]){
            "ONNX files are of opset 13, or of the first later one that has "
            "all ops. The number of images stays free, their size is fixed. "
            "Detectors of the zoo have ops that ONNX does not know; as "
            "FILE.net "
            "they can be written.",
            NULL,
        },
    .options = options,
    .examples =
        (const struct example[]){
            {"export resnet18 -w resnet18.pth -o resnet18.onnx",
             "for other runtimes"},
            {"export yolo.onnx -o yolo.net", "to read what it is made of"},
            {NULL, NULL},
        },
    .settings_bytes = sizeof(struct settings),
    .defaults = &defaults,
    .run = run_export,
};
