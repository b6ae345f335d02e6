/* cli/tax_model.c - see tax_model.h. */
#include "cli/tax_model.h"

#include "models/models.h"
#include "session/session.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what a run tells ---------------------------------------------------- */

/* Whether the scope was called in iterations. */
static bool tax_model_ran(const struct run *run, uint32_t scope)
{
    struct scope_stats stats;

    return scope != RUN_NONE &&
           !run_scope_stats(run, scope, RUN_ANY, &stats, NULL) && stats.calls;
}

/* A call without gradients is what the engine does; else the forward pass of a
 * training. */
static enum assay_status tax_model_find_top(const struct run *run,
                                            struct tax_model *model,
                                            struct error *err)
{
    uint32_t forward = RUN_NONE;
    enum assay_status st;

    model->top = run_model_scope(run);
    if (tax_model_ran(run, model->top))
        return ASSAY_OK;
    for (uint32_t id = run_scope(run, RUN_ROOT)->first_child; id != RUN_NONE;
         id = run_scope(run, id)->next_sibling) {
        if (strcmp(run_scope(run, id)->name, "forward") == 0)
            forward = id;
    }
    model->top = forward;
    model->is_training = true;
    st = tax_model_ran(run, forward) ? ASSAY_OK : ASSAY_BAD_INPUT;
    return st ? error_set(err, st,
                          "the run has no model; it must be one of `assay "
                          "record`, `python -m assay` or ModelTiming")
              : ASSAY_OK;
}

static bool tax_model_is_below(const struct run *run, uint32_t id,
                               uint32_t above)
{
    while (id != RUN_NONE && id != above)
        id = run_scope(run, id)->parent;
    return id == above;
}

enum { MAX_SIDE = 65536 }; /* larger sizes are not believed */

/* Reads "8x3x64x64" and moves on after it. Returns how many sizes there are; 0
 * if that is not what is there. */
static size_t shape_read(const char **text, int64_t dims[4])
{
    for (size_t n = 0; n < 4; n++) {
        char *end;
        long long size = strtoll(*text, &end, 10);

        if (end == *text || size < 1 || size > MAX_SIDE)
            return 0;
        dims[n] = size;
        *text = end;
        if (**text != 'x')
            return n + 1;
        ++*text;
    }
    return 0;
}

/* Learns from the shapes of a layer's input and output: the size of images from
 * the first one, the classes from the last one whose output is a row of scores,
 * or, in *maps, maps of scores. */
static void tax_model_add_shapes(struct tax_model *model, const char *text,
                                 bool has_scores, int64_t *maps)
{
    static const char arrow[] = " -> ";
    int64_t from[4], to[4];
    size_t n_from = shape_read(&text, from), n_to = 0;

    if (n_from && strncmp(text, arrow, sizeof arrow - 1) == 0) {
        text += sizeof arrow - 1;
        n_to = shape_read(&text, to);
    }
    if (n_from == 4 && !model->batch) {
        model->batch = from[0];
        model->height = from[2];
        model->width = from[3];
    }
    if (n_from == 4 && n_to == 4)
        *maps = to[1];
    if (n_from == 2 && n_to == 2 && has_scores)
        model->classes = to[1];
}

static void tax_model_read_shapes(const struct run *run,
                                  struct tax_model *model)
{
    int64_t maps = 0;

    for (uint32_t id = 0; id < run_scope_count(run); id++) {
        const struct scope_text *text = run_text(run, id);
        bool has_scores = strcmp(run_scope(run, id)->name, "bbox_pred") != 0;

        if (text && tax_model_is_below(run, id, model->top))
            tax_model_add_shapes(model, text->shapes, has_scores, &maps);
    }
    if (!model->classes)
        model->classes = maps;
}

enum assay_status tax_model_read(const struct run *run, struct tax_model *model,
                                 struct error *err)
{
    double threads = run_fact_number(run, "settings.threads");
    const char *library = run_fact(run, "machine.library");
    enum assay_status st;

    *model = (struct tax_model){
        .parameters = run_fact_number(run, "model.parameters"),
        .device = run_fact(run, "model.device"),
        .precision = run_fact(run, "model.precision"),
        .threads = isnan(threads) ? 0 : (int64_t)threads};
    if (!library || strncmp(library, "PyTorch", 7) != 0)
        return error_set(err, ASSAY_BAD_INPUT,
                         "the run was not recorded in PyTorch; `assay record` "
                         "makes one");
    st = tax_model_find_top(run, model, err);
    if (st)
        return st;
    tax_model_read_shapes(run, model);
    if (!model->batch)
        return error_set(err, ASSAY_BAD_INPUT,
                         "the run has no layer with images as its input, so "
                         "the size is unknown");
    if (model->batch > SESSION_MAX_BATCH)
        return error_set(err, ASSAY_BAD_INPUT,
                         "a batch of %lld is too large for Assay's engine; "
                         "record one of at most %d",
                         (long long)model->batch, SESSION_MAX_BATCH);
    return ASSAY_OK;
}

/* ---- which model it is --------------------------------------------------- */

static enum assay_status tax_count_parameters(const char *name,
                                              const struct tax_match *match,
                                              double *out, struct error *err)
{
    struct model_options options = model_options_for(name, MODEL_IMAGENET);
    struct graph *graph = NULL;
    enum assay_status st;

    if (match->classes)
        options.n_classes = match->classes;
    options.norm = (enum model_norm)match->norm;
    st = model_build(name, &options, &graph, err);
    *out = 0;
    for (uint32_t i = 0; !st && i < graph_value_count(graph); i++) {
        const struct value *value = graph_value(graph, i);
        size_t n = 0;

        if (value->kind == VALUE_PARAMETER && shape_elements(&value->shape, &n))
            *out += (double)n;
    }
    graph_free(graph);
    return st;
}

static enum assay_status tax_try(const struct tax_model *model,
                                 const char *name, struct tax_match *match,
                                 struct error *err)
{
    const int64_t classes[] = {0, model->classes};
    double parameters;

    for (size_t i = 0; i < 4; i++) {
        struct tax_match tried = {name, classes[i / 2], (int)(i % 2)};
        enum assay_status st;

        if (tried.norm && model_task(name) != TASK_DETECTION)
            continue;
        st = tax_count_parameters(name, &tried, &parameters, err);
        if (st)
            return st;
        if (parameters == model->parameters) {
            *match = tried;
            break;
        }
    }
    return ASSAY_OK;
}

enum assay_status tax_model_match(const struct tax_model *model,
                                  struct tax_match *match, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    *match = (struct tax_match){0};
    for (const char *const *name = model_names(); !st && *name; name++) {
        if (!match->name && strcmp(model_full_name(*name), *name) == 0)
            st = tax_try(model, *name, match, err);
    }
    if (!st && !match->name)
        st = error_set(err, ASSAY_NOT_FOUND,
                       "no built-in model has the run's %.0f parameters; "
                       "export the model to ONNX and give it with --model FILE",
                       model->parameters);
    return st;
}
