/* cli/cmd_tax.c - assay tax: what PyTorch adds to a model, by running the same
 * model in Assay's engine. */
#include "cli/command.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/units.h"
#include "cli/inputs.h"
#include "cli/interrupt.h"
#include "cli/messages.h"
#include "cli/result.h"
#include "cli/run_settings.h"
#include "cli/tax_model.h"
#include "cli/tax_rows.h"
#include "views/line.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct settings {
    struct run_settings run;
    const char *model;
    int64_t iters, depth;
    bool all, is_json;
    const char *output;
};

static const struct settings defaults = {
    .run = RUN_DEFAULTS, .iters = 10, .depth = 2};

#define FIELD(field) OPTION_FIELD(struct settings, field)

static const struct option options[] = {
    {OPT_TEXT("model", "MODEL"), .letter = 'm',
     .help = "the same model: a name, or a file that PyTorch exported to ONNX",
     .shown_default = "the built-in model with as many parameters",
     FIELD(model)},
    RUN_ITERS_OPTION("iterations to measure", .shown_default = "10",
                     FIELD(iters)),
    OPTION_THREADS_TO("threads to compute with",
                      .shown_default = "as many as PyTorch had",
                      FIELD(run.threads)),
    {OPT_INTEGER("depth", "N", 0, RUN_MAX_DEPTH), .letter = 'd',
     .help = "levels of modules to show", .shown_default = "2", FIELD(depth)},
    {OPT_FLAG("all"), .letter = 'a', .help = "show every module", FIELD(all)},
    OPTION_JSON("print JSON", FIELD(is_json)),
    OPTION_RESULT(FIELD(output)),
    {.kind = OPTION_END},
};

/* Start from {0}. */
struct tax {
    struct run *live, *plain, *fused;
    struct tax_model model;
    struct tax_match match; /* what is run: name is also a file's */
    struct tax_rows rows;
    struct str size; /* "size=64x64" */
};

static void tax_release(struct tax *tax)
{
    tax_rows_release(&tax->rows);
    str_release(&tax->size);
    run_free(tax->live);
    run_free(tax->plain);
    run_free(tax->fused);
}

/* ---- running it ---------------------------------------------------------- */

/* Settings for the model that the run tells of. */
static enum assay_status tax_settle(struct tax *tax,
                                    struct run_settings *settings,
                                    int64_t iters, struct error *err)
{
    const struct tax_model *model = &tax->model;
    struct model_source source;
    enum assay_status st = run_find_model(tax->match.name, &source, err);

    if (st)
        return st;
    settings->is_random = true;
    settings->precision_goal = 0;
    settings->batch = model->batch;
    settings->images = iters * model->batch;
    settings->device = model->device;
    if (!settings->threads)
        settings->threads = model->threads;
    if (source.is_file)
        return ASSAY_OK;
    settings->classes = tax->match.classes;
    if (model_is_detector(&source)) {
        settings->norm = tax->match.norm;
        settings->min_size =
            model->height < model->width ? model->height : model->width;
        settings->max_size =
            model->height < model->width ? model->width : model->height;
        return ASSAY_OK;
    }
    if (str_printf(&tax->size, "size=%lldx%lld", (long long)model->width,
                   (long long)model->height))
        return error_nomem(err, tax->size.n, "a size");
    settings->input = tax->size.text;
    return ASSAY_OK;
}

static bool tax_is_on_gpu(const struct tax *tax)
{
    return tax->model.device && strncmp(tax->model.device, "cuda", 4) == 0;
}

static enum assay_status tax_run_engine(struct tax *tax,
                                        const struct run_settings *settings,
                                        struct error *err)
{
    const char *name = tax->match.name;
    const struct words operands = {&name, 1};
    struct run_job job = {0};
    struct recipe *recipe = &job.options.session.vision.recipe;
    enum assay_status st = run_job_make(&job, settings, &operands, err);

    if (!st) {
        job.options.stop = interrupt_watch();
        recipe->width = (int)tax->model.width;
        recipe->height = (int)tax->model.height;
        st = profile_model(&job.options, &tax->fused, err);
    }
    if (!st) {
        /* PyTorch asks cuDNN which kernel it would choose. */
        job.options.session.is_plain = true;
        job.options.session.tunes_plain = tax_is_on_gpu(tax);
        st = profile_model(&job.options, &tax->plain, err);
    }
    run_job_release(&job);
    return st;
}

/* On a GPU the host's times are those of launching. */
static enum assay_status tax_pair(struct tax *tax, struct error *err)
{
    bool is_device = tax_is_on_gpu(tax);
    const struct tax_run sides[N_TAX_SIDES] = {
        {tax->live, tax->model.top, is_device},
        {tax->plain, run_model_scope(tax->plain), is_device},
        {tax->fused, run_model_scope(tax->fused), is_device}};
    enum assay_status st = tax_rows_build(&tax->rows, sides, err);

    if (!st && isnan(tax->rows.items[0].ns[TAX_TORCH]))
        st = error_set(
            err, ASSAY_BAD_INPUT,
            "the run has no times of the GPU; record it without --no-gpu");
    return st;
}

/* ---- the screen ---------------------------------------------------------- */

enum { NAME_COLUMNS = 44, MS_COLUMNS = 11 };

static void tax_put_ms(struct sink *sink, const struct term *term, double ns)
{
    char text[UNITS_MAX] = "-";

    if (!isnan(ns))
        units_ms(text, ns);
    text_fit(sink, term, text, MS_COLUMNS, ALIGN_RIGHT);
}

static enum assay_status tax_put_row(const struct tax_row *row,
                                     struct result *result)
{
    struct sink *sink = result->sink;
    struct str name = {0};
    char times[UNITS_MAX + 1] = "-";
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < row->depth; i++)
        st = str_append(&name, "  ");
    if (!st)
        st = str_printf(&name, row->class_name[0] ? "%s (%s)" : "%s",
                        row->depth ? row->name : "model", row->class_name);
    text_fit(sink, &result->term, str_text(&name), NAME_COLUMNS, ALIGN_LEFT);
    tax_put_ms(sink, &result->term, row->ns[TAX_TORCH]);
    tax_put_ms(sink, &result->term, row->ns[TAX_PLAIN]);
    str_clear(&name);
    if (row->done_by && !st) {
        st = str_printf(&name, "in %s", row->done_by);
        text_fit(sink, &result->term, str_text(&name), MS_COLUMNS, ALIGN_RIGHT);
    } else {
        tax_put_ms(sink, &result->term, row->ns[TAX_FUSED]);
        if (row->ns[TAX_FUSED] > 0)
            units_number(times, row->ns[TAX_TORCH] / row->ns[TAX_FUSED]);
    }
    text_fit(sink, &result->term, times, MS_COLUMNS - 3, ALIGN_RIGHT);
    sink_puts(sink, "\n");
    str_release(&name);
    return st;
}

static bool tax_is_shown(const struct settings *settings,
                         const struct tax_row *row, double whole_ns)
{
    static const double small = 0.02;

    return settings->all || ((int64_t)row->depth <= settings->depth &&
                             row->ns[TAX_TORCH] >= small * whole_ns);
}

static void tax_put_head(const struct tax *tax, struct result *result)
{
    const struct tax_model *model = &tax->model;
    const char *input = run_fact(tax->fused, "input.note");
    struct line line = line_begin(result->sink, &result->term, "model");

    line_item(&line, tax->match.name);
    line_printf(&line, "%.2f M params", model->parameters / 1e6);
    line_printf(&line, "recorded with %lldx3x%lldx%lld",
                (long long)model->batch, (long long)model->height,
                (long long)model->width);
    if (input)
        line_item(&line, input);
    line_end(&line);
    line = line_begin(result->sink, &result->term, "sides");
    line_item(&line, run_fact(tax->live, "machine.library"));
    line_printf(&line, "Assay's engine, %s",
                run_fact(tax->fused, "machine.library")
                    ? run_fact(tax->fused, "machine.library")
                    : "portable kernels");
    line_printf(&line, "%s", model->device ? model->device : "cpu");
    if (model->is_training)
        line_item(&line, "PyTorch: the forward pass of a training");
    line_end(&line);
}

/* "PyTorch 61.1 ms = fused 35.1 + not fusing 5.1 + framework 20.9" */
static void tax_put_sum(const struct tax *tax, struct result *result)
{
    const double *ns = tax->rows.items[0].ns;
    struct line line = line_begin(result->sink, &result->term, "tax");
    char whole[UNITS_MAX], fused[UNITS_MAX], share[UNITS_MAX];
    double rest = ns[TAX_TORCH] - ns[TAX_PLAIN];
    double fusing = ns[TAX_PLAIN] - ns[TAX_FUSED];

    line_printf(&line, "PyTorch %s ms = engine %s", units_ms(whole, ns[0]),
                units_ms(fused, ns[TAX_FUSED]));
    line_word(&line, "%+.1f that fusing saves %+.1f of framework and kernels",
              fusing / 1e6, rest / 1e6);
    line_printf(&line, "%s of PyTorch's time",
                units_percent(share, (rest + fusing) / ns[TAX_TORCH], 0));
    line_end(&line);
}

/* On a GPU the rest of the tax: its times are above, and the host launches. */
static void tax_put_host(const struct tax *tax, struct result *result)
{
    const double *ns = tax->rows.host_ns;
    const char *one = run_fact(tax->fused, "device.one_launch_ms");
    struct line line = line_begin(result->sink, &result->term, "host");
    char torch[UNITS_MAX], fused[UNITS_MAX];

    if (!tax_is_on_gpu(tax) || isnan(ns[TAX_TORCH]) || isnan(ns[TAX_FUSED]))
        return;
    line_printf(&line, "PyTorch %s ms per call, engine %s",
                units_ms(torch, ns[TAX_TORCH]), units_ms(fused, ns[TAX_FUSED]));
    if (one)
        line_printf(&line, "as one launch %s ms", one);
    line_sentence(&line, "the times above are the device's");
    line_end(&line);
}

/* Multiply-adds below a scope in an iteration; 0 if none are known. */
static double tax_macs(const struct run *run, uint32_t top)
{
    double sum = 0;

    for (uint32_t id = 0; id < run_scope_count(run); id++) {
        const struct scope_work *work = run_work(run, id);
        uint32_t above = id;

        while (above != RUN_NONE && above != top)
            above = run_scope(run, above)->parent;
        if (above == top && work && work->macs > 0)
            sum += work->macs;
    }
    return sum;
}

/* The work of a detector depends on what it finds. */
static void tax_put_work(const struct tax *tax, struct result *result)
{
    static const double much = 0.05;
    struct line line = line_begin(result->sink, &result->term, "work");
    double torch = tax_macs(tax->live, tax->model.top);
    double engine = tax_macs(tax->plain, run_model_scope(tax->plain));
    char text[2][UNITS_MAX];

    if (!(torch > 0) || fabs(engine / torch - 1) <= much)
        return;
    line_printf(&line, "%s GMAC in PyTorch, %s in the engine",
                units_number(text[0], torch / 1e9),
                units_number(text[1], engine / 1e9));
    line_sentence(&line, "what a detector finds depends on its weights and "
                         "images, so modules after the proposals are not "
                         "comparable");
    line_end(&line);
}

static void tax_put_alone(const struct tax_alone *alone, const char *what,
                          struct result *result)
{
    struct line line = line_begin(result->sink, &result->term, "alone");
    char ms[UNITS_MAX];

    if (!alone->n)
        return;
    line_printf(&line, "%zu %s, %s ms", alone->n, what,
                units_ms(ms, alone->ns));
    if (alone->longest[0])
        line_printf(&line, "the longest: %s", alone->longest);
    line_end(&line);
}

static enum assay_status tax_show(const struct tax *tax,
                                  const struct settings *settings,
                                  struct result *result, struct error *err)
{
    const struct tax_rows *rows = &tax->rows;
    enum assay_status st = ASSAY_OK;
    size_t n_hidden = 0;

    tax_put_head(tax, result);
    sink_printf(result->sink, "\n%-*s%*s%*s%*s%*s\n", NAME_COLUMNS, "module",
                MS_COLUMNS, "PyTorch ms", MS_COLUMNS, "plain ms", MS_COLUMNS,
                "fused ms", MS_COLUMNS - 3, "times");
    for (size_t i = 0; !st && i < rows->n; i++) {
        if (i == 0 ||
            tax_is_shown(settings, &rows->items[i], rows->items[0].ns[0]))
            st = tax_put_row(&rows->items[i], result);
        else
            n_hidden++;
    }
    if (n_hidden)
        sink_printf(result->sink,
                    "hidden   %zu modules under 2 %% or below level %lld "
                    "(--depth, --all)\n",
                    n_hidden, (long long)settings->depth);
    sink_puts(result->sink, "\n");
    tax_put_sum(tax, result);
    tax_put_host(tax, result);
    tax_put_work(tax, result);
    tax_put_alone(&rows->torch_alone, "modules of PyTorch have no partner",
                  result);
    tax_put_alone(&rows->engine_alone,
                  "ops of the engine are not modules in PyTorch", result);
    return st ? error_nomem(err, NAME_COLUMNS, "a row")
              : sink_status(result->sink, err);
}

static void tax_write_ns(struct json_writer *json, const char *key, double ns)
{
    json_key(json, key);
    json_write_double(json, ns / 1e6); /* NaN is null */
}

static enum assay_status
tax_write_json(const struct tax *tax, struct result *result, struct error *err)
{
    const struct run *run = tax->live;
    struct json_writer json = json_writer(result->sink, 2);
    struct str path = {0};
    enum assay_status st = ASSAY_OK;

    json_object_begin(&json);
    json_key(&json, "model");
    json_write_string(&json, tax->match.name);
    json_key(&json, "modules");
    json_array_begin(&json);
    for (size_t i = 0; !st && i < tax->rows.n; i++) {
        const struct tax_row *row = &tax->rows.items[i];

        str_clear(&path);
        st = run_scope_path_below(run, tax->model.top, row->scope[TAX_TORCH],
                                  &path);
        json_inline_object_begin(&json);
        json_key(&json, "path");
        json_write_string(&json, i ? str_text(&path) : "");
        json_key(&json, "class");
        json_write_string(&json, row->class_name);
        tax_write_ns(&json, "pytorch_ms", row->ns[TAX_TORCH]);
        tax_write_ns(&json, "plain_ms", row->ns[TAX_PLAIN]);
        tax_write_ns(&json, "fused_ms", row->ns[TAX_FUSED]);
        json_key(&json, "has_partner");
        json_write_bool(&json, row->scope[TAX_PLAIN] != RUN_NONE);
        json_key(&json, "fused_into");
        if (row->done_by)
            json_write_string(&json, row->done_by);
        else
            json_write_null(&json);
        json_object_end(&json);
    }
    json_array_end(&json);
    json_object_end(&json);
    sink_puts(result->sink, "\n");
    str_release(&path);
    return st ? error_nomem(err, NAME_COLUMNS, "a path")
              : sink_status(result->sink, err);
}

/* ---- the command --------------------------------------------------------- */

static enum assay_status tax_prepare(struct tax *tax,
                                     const struct settings *settings,
                                     const char *path, struct error *err)
{
    enum assay_status st = inputs_load(path, &tax->live, err);

    if (!st)
        st = tax_model_read(tax->live, &tax->model, err);
    if (!st && settings->model)
        tax->match.name = settings->model;
    if (!st && (!settings->model || model_full_name(settings->model))) {
        struct tax_match match;

        st = tax_model_match(&tax->model, &match, err);
        if (!st && !settings->model)
            tax->match = match;
        else if (settings->model && st == ASSAY_NOT_FOUND)
            st = ASSAY_OK; /* it was said which one it is */
        if (settings->model && match.name &&
            strcmp(match.name, model_full_name(settings->model)) == 0)
            tax->match = match;
    }
    return st;
}

static enum assay_status run_tax(const struct arguments *arguments,
                                 struct error *err)
{
    struct settings settings = *(const struct settings *)arguments->settings;
    struct result result;
    struct tax tax = {0};
    struct error unused = {0};
    enum assay_status st = result_open(settings.output, &result, err);

    if (st)
        return st;
    st = tax_prepare(&tax, &settings, arguments->operands.items[0],
                     settings.model ? &unused : err);
    if (st && settings.model)
        st = error_set(err, st, "%s", unused.text);
    if (!st)
        st = tax_settle(&tax, &settings.run, settings.iters, err);
    if (!st)
        st = tax_run_engine(&tax, &settings.run, err);
    if (!st)
        st = tax_pair(&tax, err);
    if (!st)
        st = settings.is_json ? tax_write_json(&tax, &result, err)
                              : tax_show(&tax, &settings, &result, err);
    tax_release(&tax);
    return result_close(&result, st, err);
}

const struct command cmd_tax = {
    .name = "tax",
    .section = "Runs",
    .purpose = "set PyTorch's times beside those of Assay's engine",
    .usage = TEXTS("tax [options] RUN"),
    .operands = {.min = 1,
                 .max = 1,
                 .missing = "a run file of `assay record`",
                 .endings = run_endings},
    .description = TEXTS(
        "Takes a run that was recorded in PyTorch, runs the same model in "
        "Assay's engine with the same sizes, threads and device, and shows "
        "both, module by module: what the framework adds, where, and what "
        "fusing would save.",
        "The engine runs twice: plain, one kernel per module as PyTorch does, "
        "and fused. A module that was fused into another one has no time of "
        "its own; compare the module around both. Modules are paired by their "
        "paths; what has no partner is listed."),
    .options = options,
    .examples = EXAMPLES(
        {"tax run.assay", "a torchvision model, found by its parameters"},
        {"tax run.assay --model net.onnx", "your own model, exported"}),
    .settings_bytes = sizeof(struct settings),
    .defaults = &defaults,
    .run = run_tax,
};
