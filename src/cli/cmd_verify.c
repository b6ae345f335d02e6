/* cli/cmd_verify.c - assay verify: compares a model's outputs with its test
 * vectors. */
#include "cli/command.h"

#include "backend/backend.h"
#include "base/json.h"
#include "cli/look.h"
#include "cli/result.h"
#include "cli/run_settings.h"
#include "verify/verify.h"
#include "views/line.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct settings {
    const char *data;
    double rtol, atol;
    struct words shapes;
    const char *device;
    int64_t threads;
    bool quantised, plain, allow_outside, json;
};

static const struct settings defaults = {.rtol = 1e-3, .atol = 1e-3};

#define FIELD(field) OPTION_FIELD(struct settings, field)

static const struct option options[] = {
    {OPT_FILE("data", "DIR"),
     .help = "folder with input_0.pb and output_0.pb, or with folders "
             "test_data_set_0 and so on",
     .shown_default = "the model's folder", FIELD(data)},
    {OPT_NUMBER("rtol", "X", 0, 1),
     .help = "allowed difference as a share of the expected value",
     .shown_default = "0.001", FIELD(rtol)},
    {OPT_NUMBER("atol", "X", 0, 1e9),
     .help = "allowed difference on top of that", .shown_default = "0.001",
     FIELD(atol)},
    {OPT_FLAG("quantised"),
     .help = "accept a difference of one quantisation step", FIELD(quantised)},
    RUN_SHAPE_OPTION(FIELD(shapes)),
    {OPT_FLAG("plain"), .help = "one kernel per node, nothing fused",
     FIELD(plain)},
    OPTION_DEVICE(FIELD(device)),
    OPTION_THREADS(FIELD(threads)),
    RUN_OUTSIDE_OPTION(FIELD(allow_outside)),
    OPTION_JSON("print JSON", FIELD(json)),
    {.kind = OPTION_END},
};

/* ---- showing ------------------------------------------------------------ */

enum verify_cell { CELL_SET, CELL_OUTPUT, CELL_TYPE, CELL_SHAPE, N_CELLS };

enum { cell_size = 64, cell_gap = 2, end_columns = 9 + 1 + 7 };

static const char *const titles[N_CELLS] = {"set", "output", "type", "shape"};

static const char *verify_cell_of(const struct verify_output *output,
                                  enum verify_cell cell, char text[cell_size])
{
    switch (cell) {
    case CELL_SET:
        return output->set;
    case CELL_OUTPUT:
        return output->name;
    case CELL_TYPE:
        return dtype_name(output->dtype);
    case CELL_SHAPE:
    case N_CELLS:
        break;
    }
    return shape_text(&output->shape, text, cell_size);
}

static size_t verify_larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* As wide as the widest text of a column; on a narrow screen names are
 * shortened first, then shapes and sets. */
static void verify_find_columns(const struct verify_report *report,
                                const struct term *term,
                                size_t columns[N_CELLS])
{
    static const enum verify_cell shrinking[] = {CELL_OUTPUT, CELL_SHAPE,
                                                 CELL_SET};
    static const size_t least = 8;
    size_t sum = end_columns;
    char text[cell_size];

    for (int c = 0; c < N_CELLS; c++) {
        columns[c] = strlen(titles[c]);
        for (size_t i = 0; i < report->n_outputs; i++)
            columns[c] = verify_larger(
                columns[c],
                text_columns(verify_cell_of(&report->outputs[i],
                                            (enum verify_cell)c, text)));
        sum += columns[c] + cell_gap;
    }
    for (size_t i = 0; i < sizeof shrinking / sizeof *shrinking; i++) {
        size_t *own = &columns[shrinking[i]];

        while (sum > (size_t)term->width && *own > least) {
            sum--;
            --*own;
        }
    }
}

/* How far a quantised output is off, in its steps. */
static void verify_show_steps(const struct verify_output *output,
                              struct sink *sink, const struct term *term)
{
    struct line line = line_after(sink, term, 1, 4);
    double steps = output->largest / output->step;
    double n = 1;
    char text[200];

    if (isnan(output->step) || !output->n_different)
        return;
    for (int i = 0; i < output->shape.rank; i++)
        n *= (double)output->shape.dims[i];
    snprintf(text, sizeof text,
             "%.3g %% of the elements, by at most %.0f quantisation step%s of "
             "%.4g%s",
             100 * (double)output->n_different / n, steps,
             steps < 1.5 ? "" : "s", output->step,
             !verify_is_within_steps(output, 1) ? ""
             : output->is_match                 ? ": accepted"
                                : ": values were rounded the other way; "
                                  "--quantised accepts that");
    sink_puts(sink, " ");
    line_words(&line, text);
    line_end(&line);
}

static void verify_show_difference(const struct verify_output *output,
                                   struct sink *sink, const struct term *term)
{
    struct line line = line_after(sink, term, 1, 4);
    char text[160], shape[cell_size];

    if (output->dtype != output->wanted_dtype ||
        !shape_equal(&output->shape, &output->wanted_shape))
        snprintf(text, sizeof text, "expected %s %s",
                 dtype_name(output->wanted_dtype),
                 shape_text(&output->wanted_shape, shape, sizeof shape));
    else
        snprintf(text, sizeof text,
                 "%zu element%s differ%s, the first at %zu: %.7g instead of "
                 "%.7g",
                 output->n_different, output->n_different == 1 ? "" : "s",
                 output->n_different == 1 ? "s" : "", output->at, output->got,
                 output->wanted);
    sink_puts(sink, " ");
    line_words(&line, text);
    line_end(&line);
    verify_show_steps(output, sink, term);
}

static void verify_show_rows(const struct verify_report *report,
                             struct sink *sink, const struct term *term)
{
    size_t columns[N_CELLS];
    char text[cell_size];

    verify_find_columns(report, term, columns);
    for (int c = 0; c < N_CELLS; c++)
        text_fit(sink, term, titles[c], columns[c] + cell_gap, ALIGN_LEFT);
    sink_puts(sink, "largest\n");
    for (size_t i = 0; i < report->n_outputs; i++) {
        const struct verify_output *output = &report->outputs[i];

        for (int c = 0; c < N_CELLS; c++) {
            text_fit(sink, term,
                     verify_cell_of(output, (enum verify_cell)c, text),
                     columns[c], ALIGN_LEFT);
            sink_repeat(sink, " ", cell_gap);
        }
        sink_printf(sink, "%-9.2g %s\n", output->largest,
                    output->is_match ? "ok" : "DIFFERS");
        if (!output->is_match)
            verify_show_difference(output, sink, term);
        else
            verify_show_steps(output, sink, term);
    }
}

static void verify_show_table(const struct verify_report *report,
                              const char *model,
                              const struct settings *settings,
                              struct sink *sink, const struct term *term)
{
    const char *s = report->n_outputs == 1 ? "" : "s";
    struct line line = line_begin(sink, term, "model");
    char text[160];

    line_item(&line, model);
    line_printf(&line, "%zu node%s", report->n_nodes,
                report->n_nodes == 1 ? "" : "s");
    line_printf(&line, "%" PRIu64 " elements in initializers",
                report->parameters);
    line_end(&line);
    line = line_begin(sink, term, "expected");
    snprintf(text, sizeof text,
             "|got - expected| <= %g + %g * |expected|, in %zu set%s",
             settings->atol, settings->rtol, report->n_sets,
             report->n_sets == 1 ? "" : "s");
    line_sentence(&line, text);
    line_end(&line);
    sink_puts(sink, "\n");
    verify_show_rows(report, sink, term);
    sink_puts(sink, "\n");
    line = line_begin(sink, term, "result");
    if (report->n_failed)
        line_printf(&line, "%zu of %zu output%s not as expected",
                    report->n_failed, report->n_outputs, s);
    else
        line_printf(&line, "%zu output%s, all as expected", report->n_outputs,
                    s);
    line_end(&line);
}

static void verify_write_output(struct json_writer *json,
                                const struct verify_output *output)
{
    char shape[64];

    json_inline_object_begin(json);
    json_member_string(json, "set", output->set);
    json_member_string(json, "output", output->name);
    json_member_string(json, "type", dtype_name(output->dtype));
    json_member_string(json, "shape",
                       shape_text(&output->shape, shape, sizeof shape));
    json_member_string(json, "wanted_type", dtype_name(output->wanted_dtype));
    json_member_string(json, "wanted_shape",
                       shape_text(&output->wanted_shape, shape, sizeof shape));
    json_member_bool(json, "matches", output->is_match);
    json_member_int(json, "n_different", (int64_t)output->n_different);
    json_member_double(json, "largest_difference", output->largest);
    if (!isnan(output->step))
        json_member_double(json, "quantisation_step", output->step);
    json_object_end(json);
}

static void verify_show_json(const struct verify_report *report,
                             const char *model, const struct settings *settings,
                             struct sink *sink)
{
    struct json_writer json = json_writer(sink, 2);

    json_object_begin(&json);
    json_member_string(&json, "model", model);
    json_member_int(&json, "nodes", (int64_t)report->n_nodes);
    json_member_int(&json, "parameters", (int64_t)report->parameters);
    json_member_double(&json, "rtol", settings->rtol);
    json_member_double(&json, "atol", settings->atol);
    json_member_int(&json, "sets", (int64_t)report->n_sets);
    json_member_int(&json, "failed", (int64_t)report->n_failed);
    json_key(&json, "outputs");
    json_array_begin(&json);
    for (size_t i = 0; i < report->n_outputs; i++)
        verify_write_output(&json, &report->outputs[i]);
    json_array_end(&json);
    json_object_end(&json);
    sink_puts(sink, "\n");
}

static enum assay_status verify_show(const struct verify_report *report,
                                     const char *model,
                                     const struct settings *settings,
                                     struct error *err)
{
    struct result result;
    enum assay_status st = result_open(NULL, &result, err);

    if (st)
        return st;
    if (settings->json)
        verify_show_json(report, model, settings, result.sink);
    else
        verify_show_table(report, model, settings, result.sink, &result.term);
    st = result_close(&result, ASSAY_OK, err);
    if (!st && report->n_failed)
        st = error_set(err, ASSAY_CHECK_FAILED,
                       "%s: %zu of %zu output%s from the test vectors", model,
                       report->n_failed, report->n_outputs,
                       report->n_outputs == 1  ? " differs"
                       : report->n_failed == 1 ? "s differs"
                                               : "s differ");
    return st;
}

/* ---- running ------------------------------------------------------------ */

static enum assay_status verify_do(const char *model, const char *data,
                                   const struct settings *settings,
                                   const struct shape_list *shapes,
                                   struct error *err)
{
    struct sink problems = sink_to_file(stderr, "standard error");
    struct verify_options verify = {
        .file = {.shapes = shapes->items,
                 .n_shapes = shapes->n,
                 .may_read_outside = settings->allow_outside,
                 .outside_hint = RUN_OUTSIDE_HINT,
                 .problems = &problems},
        .n_threads = look_threads(settings->threads),
        .is_plain = settings->plain,
        .rtol = settings->rtol,
        .atol = settings->atol,
        .is_quantised = settings->quantised,
    };
    struct verify_report report = {0};
    enum assay_status st = look_device(settings->device, &verify.device, err);

    if (!st)
        st = verify_model(model, data, &verify, &report, err);

    if (!st)
        st = verify_show(&report, model, settings, err);
    verify_report_release(&report);
    return st;
}

/* The model of a folder is its model.onnx; the vectors of a model are in its
 * folder. */
static enum assay_status verify_find_paths(const char *operand,
                                           struct str *model,
                                           struct str *folder,
                                           struct error *err)
{
    const char *slash = strrchr(operand, '/');
    struct stat info;
    enum assay_status st;

    if (stat(operand, &info) == 0 && S_ISDIR(info.st_mode)) {
        st = str_printf(model, "%s/model.onnx", operand);
        if (!st)
            st = str_append(folder, operand);
    } else {
        st = str_append(model, operand);
        if (!st)
            st = slash
                     ? str_append_n(folder, operand, (size_t)(slash - operand))
                     : str_append(folder, ".");
    }
    return st ? error_nomem(err, strlen(operand), "a file name") : ASSAY_OK;
}

static enum assay_status run_verify(const struct arguments *arguments,
                                    struct error *err)
{
    const struct settings *settings = arguments->settings;
    struct str model = {0}, folder = {0};
    struct shape_list shapes = {0};
    enum assay_status st =
        verify_find_paths(arguments->operands.items[0], &model, &folder, err);

    if (!st)
        st = shapes_read(&settings->shapes, &shapes, err);
    if (!st)
        st = verify_do(model.text,
                       settings->data ? settings->data : str_text(&folder),
                       settings, &shapes, err);
    shapes_release(&shapes);
    str_release(&model);
    str_release(&folder);
    return st;
}

const struct command cmd_verify = {
    .name = "verify",
    .section = "Models",
    .purpose = "compare an ONNX model's outputs with its test vectors",
    .usage =
        TEXTS("verify [options] DIR", "verify [options] MODEL [--data DIR]"),
    .operands = {.min = 1,
                 .max = 1,
                 .missing = "a model or its folder",
                 .endings = TEXTS(".onnx")},
    .description =
        TEXTS("Runs the model on the inputs of each set of test vectors and "
              "compares every output with the one stored with them. DIR holds "
              "model.onnx and test_data_set_0, test_data_set_1 and so on, the "
              "layout of the ONNX project's own tests."),
    .options = options,
    .examples =
        EXAMPLES({"verify mnist/", "mnist/model.onnx on mnist/test_data_set_*"},
                 {"verify yolo.onnx --data vectors/ --rtol 1e-4",
                  "a model whose vectors are elsewhere"}),
    .exit_codes = "1 if a value differs, 3 if the model or its vectors cannot "
                  "be used",
    .settings_bytes = sizeof(struct settings),
    .defaults = &defaults,
    .run = run_verify,
};
