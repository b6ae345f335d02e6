/* cli/model_graph.c - see model_graph.h. */
#include "cli/model_graph.h"

#include "base/str.h"
#include "cli/file_roles.h"
#include "cli/result.h"
#include "formats/net/net.h"
#include "formats/onnx/onnx_write.h"

#include <stdio.h>
#include <string.h>

static enum assay_status load_graph(struct model_graph *model,
                                    struct error *err)
{
    const struct model_source *source = &model->job.options.session.model;
    struct sink problems = sink_to_file(stderr, "standard error");
    enum assay_status st = pool_new(&model->pool, err);

    if (!st)
        st = model_open(source, model->pool, &model->graph, err);
    return !st && source->weights
               ? model_load_weights(source, model->graph, model->pool,
                                    &problems, err)
               : st;
}

enum assay_status model_graph_open(struct model_graph *model,
                                   struct run_settings *settings,
                                   const struct words *operands,
                                   struct error *err)
{
    const struct session_options *options = &model->job.options.session;
    enum assay_status st;

    settings->is_random = true; /* no photographs */
    st = run_job_make(&model->job, settings, operands, err);
    if (!st)
        st = load_graph(model, err);
    if (!st)
        st = model_inputs_shapes(&model->inputs, &options->model,
                                 &options->vision, model->graph, err);
    if (!st)
        st = model_inputs_text(&model->inputs, model->graph, &model->input_text,
                               err);
    return st;
}

enum assay_status model_graph_fill(struct model_graph *model,
                                   struct graph *graph, struct error *err)
{
    return model_fill(graph, model->pool, model->job.options.session.model.seed,
                      err);
}

void model_graph_release(struct model_graph *model)
{
    str_release(&model->input_text);
    str_release(&model->saved);
    model_inputs_release(&model->inputs);
    graph_free(model->graph);
    pool_free(model->pool);
    run_job_release(&model->job);
}

enum assay_status model_graph_macs(const struct model_graph *model,
                                   const struct graph *graph, uint64_t *macs,
                                   struct error *err)
{
    struct survey survey = {0};
    enum assay_status st =
        survey_graph(&survey, graph, model->inputs.shapes, err);

    *macs = 0;
    for (size_t i = 0; !st && i < graph_node_count(graph); i++)
        *macs += survey.costs[i].macs;
    survey_release(&survey);
    return st;
}

/* ---- files -------------------------------------------------------------- */

enum assay_status model_graph_check_path(const char *path, struct error *err)
{
    if (str_ends_with(path, ".net") || str_ends_with(path, ".onnx"))
        return ASSAY_OK;
    return error_set(err, ASSAY_BAD_USAGE,
                     "cannot write a model to '%s'; use FILE.net or FILE.onnx",
                     path);
}

static enum assay_status
model_graph_name_after(struct graph *graph, const char *path, struct error *err)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    struct str text = {0};
    enum assay_status st;

    if (str_append_n(&text, name, (size_t)(strrchr(path, '.') - name)))
        st = error_nomem(err, strlen(name), "the name of a model");
    else
        st = graph_set_name(graph, str_text(&text), graph_class(graph), err);
    str_release(&text);
    return st;
}

/* Inputs keep their sizes but not the number of images. Photographs for
 * detectors may have any size. */
static struct shape model_graph_open_shape(const struct shape *shape)
{
    struct shape open = *shape;

    if (open.rank == 4)
        open.dims[0] = -1;
    else if (open.rank == 3)
        open.dims[1] = open.dims[2] = -1;
    return open;
}

/* The weights of a .net are next to it: those of the model that is read, and
 * those that are written, which may be a checkpoint of a training. */
enum assay_status model_graph_check_roles(const char *path,
                                          const struct run_settings *settings,
                                          const struct words *operands,
                                          struct error *err)
{
    struct str own = {0}, weights = {0};
    struct file_roles roles = {0};
    enum assay_status st = net_weights_path(path, &weights, err);

    if (!st)
        st = net_weights_path(operands->items[0], &own, err);
    if (!st) {
        file_roles_write(&roles, "--output", path);
        if (str_ends_with(path, ".net"))
            file_roles_write(&roles, "the weights file", weights.text);
        file_roles_read(&roles, operands->items[0]);
        file_roles_read(&roles, settings->weights);
        if (str_ends_with(operands->items[0], ".net"))
            file_roles_read(&roles, own.text);
        st = file_roles_check(&roles, err);
    }
    file_roles_release(&roles);
    str_release(&weights);
    str_release(&own);
    return st;
}

static enum assay_status
model_graph_save_net(struct model_graph *model, const struct graph *graph,
                     const struct survey *survey, const char *path,
                     const char *note, struct error *err)
{
    struct net_notes notes = {.text = note, .survey = survey};
    struct str weights = {0};
    enum assay_status st = net_weights_path(path, &weights, err);

    if (!st)
        st = net_save(graph, path, &notes, err);
    if (!st)
        st = result_list(path, &model->saved, err);
    if (!st && graph_has_data(graph))
        st = result_list(weights.text, &model->saved, err);
    str_release(&weights);
    return st;
}

static enum assay_status model_graph_save_onnx(struct model_graph *model,
                                               struct graph *graph,
                                               const struct survey *survey,
                                               const char *path,
                                               struct error *err)
{
    struct shape shapes[16];
    size_t n = graph_input_count(graph);
    enum assay_status st = model_graph_fill(model, graph, err);

    if (st)
        return st;
    if (n > sizeof shapes / sizeof *shapes)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "%zu inputs are too many to write", n);
    for (size_t i = 0; i < n; i++)
        shapes[i] = *graph_input_shape(graph, i);
    st = onnx_save(graph, shapes, survey, path, err);
    return st ? st : result_list(path, &model->saved, err);
}

enum assay_status model_graph_save(struct model_graph *model,
                                   struct graph *graph, const char *path,
                                   const char *note, struct error *err)
{
    struct survey survey = {0};
    enum assay_status st = model_graph_check_path(path, err);

    str_clear(&model->saved);
    if (!st)
        st = model_graph_name_after(graph, path, err);
    if (!st)
        st = survey_graph(&survey, graph, model->inputs.shapes, err);
    for (size_t i = 0; !st && i < graph_input_count(graph); i++) {
        struct shape shape = model_graph_open_shape(&model->inputs.shapes[i]);

        if (!graph_input_shape(graph, i))
            graph_declare_input(graph, graph_input_at(graph, i), &shape);
    }
    if (!st && str_ends_with(path, ".net"))
        st = model_graph_save_net(model, graph, &survey, path, note, err);
    else if (!st)
        st = model_graph_save_onnx(model, graph, &survey, path, err);
    survey_release(&survey);
    return st;
}
