/* session/model_describe.c - describes a graph in terms of the public
 * interface. */
#include "session/public_model.h"

#include "backend/backend.h"
#include "ops/ops.h"
#include "session/footprint_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The two lists must stay the same. */
_Static_assert((int)ASSAY_F32 == (int)DTYPE_F32 &&
                   (int)ASSAY_BF16 == (int)DTYPE_BF16 &&
                   (int)ASSAY_U8 == (int)DTYPE_U8 &&
                   (int)ASSAY_I64 == (int)DTYPE_I64 &&
                   (int)ASSAY_BOOL == (int)DTYPE_BOOL,
               "types of the public interface");
_Static_assert((int)ASSAY_MAX_RANK == (int)SHAPE_MAX_RANK, "dimensions");

struct assay_tensor model_describe_tensor(const struct tensor *tensor)
{
    struct assay_tensor out = {
        /* Plug-ins get the rarer types as their bytes. */
        .dtype = tensor->dtype <= DTYPE_BOOL ? (enum assay_dtype)tensor->dtype
                                             : ASSAY_U8,
        .rank = tensor->shape.rank,
        .n_elements = tensor_elements(tensor),
        .n_bytes = tensor_bytes(tensor),
        .data = tensor->buffer ? tensor_data(tensor) : NULL,
    };

    memcpy(out.dims, tensor->shape.dims, sizeof out.dims);
    return out;
}

static bool is_parameter(const struct value *value)
{
    return value->kind == VALUE_PARAMETER || value->kind == VALUE_BUFFER;
}

static enum assay_status describe_parameters(struct assay_model *model,
                                             struct error *err)
{
    size_t n_values = graph_value_count(model->graph);

    model->parameters =
        arena_alloc(&model->memory, (n_values + 1) * sizeof *model->parameters);
    if (!model->parameters)
        return error_nomem(err, n_values * sizeof *model->parameters,
                           "a list of parameters");
    for (uint32_t i = 0; i < n_values; i++) {
        const struct value *value = graph_value(model->graph, i);

        if (!is_parameter(value))
            continue;
        model->parameters[model->n_parameters++] = (struct assay_parameter){
            .name = value->name,
            .is_trained = value->kind == VALUE_PARAMETER,
            .tensor = model_describe_tensor(
                &(struct tensor){.dtype = value->dtype, .shape = value->shape}),
        };
    }
    return ASSAY_OK;
}

void model_describe_data(struct assay_model *model)
{
    size_t n = 0;

    for (uint32_t i = 0; i < graph_value_count(model->graph); i++) {
        const struct value *value = graph_value(model->graph, i);

        if (is_parameter(value))
            model->parameters[n++].tensor = model_describe_tensor(&value->data);
    }
}

static struct assay_layer describe_layer(const struct layer *layer)
{
    struct assay_layer out = {
        .path = layer->path,
        .class_name = layer->class_name,
        .calls = layer->calls,
        .is_known = layer->is_known,
        .rank = layer->is_known ? layer->output.rank : 0,
        .output_bytes = layer->output_bytes,
        .parameters = layer->parameters,
        .parameter_bytes = layer->parameter_bytes,
        .macs = layer->macs,
        .flops = layer->flops,
        .mean_ns = NAN,
    };

    memcpy(out.dims, layer->output.dims, sizeof out.dims);
    return out;
}

static enum assay_status describe_layers(struct assay_model *model,
                                         struct error *err)
{
    size_t n = model->layers.n;

    model->public_layers =
        arena_alloc(&model->memory, (n + 1) * sizeof *model->public_layers);
    if (!model->public_layers)
        return error_nomem(err, n * sizeof *model->public_layers,
                           "a list of layers");
    for (size_t i = 0; i < n; i++) {
        model->public_layers[i] = describe_layer(&model->layers.items[i]);
        model->totals.n_unknown += !model->layers.items[i].is_known;
    }
    return ASSAY_OK;
}

static enum assay_status describe_inputs(struct assay_model *model,
                                         struct error *err)
{
    size_t n = model->inputs.n;

    model->public_inputs =
        arena_alloc(&model->memory, (n + 1) * sizeof *model->public_inputs);
    if (!model->public_inputs)
        return error_nomem(err, n * sizeof *model->public_inputs,
                           "a list of inputs");
    for (size_t i = 0; i < n; i++) {
        uint32_t id = graph_input_at(model->graph, i);

        model->public_inputs[i] = model_describe_tensor(
            &(struct tensor){.dtype = graph_value(model->graph, id)->dtype,
                             .shape = model->inputs.shapes[i]});
    }
    return ASSAY_OK;
}

/* Scale and shift, per element that a batch norm makes. */
static uint64_t count_norm_macs(const struct assay_model *model)
{
    uint64_t macs = 0;

    for (size_t i = 0; i < graph_node_count(model->graph); i++) {
        const struct node *node = graph_node(model->graph, i);

        if (node->op == &op_batch_norm &&
            model->survey.is_known[node->outputs[0]])
            macs +=
                2 * tensor_elements(&model->survey.values[node->outputs[0]]);
    }
    return macs;
}

static enum assay_status model_describe_add_up(struct assay_model *model,
                                               struct error *err)
{
    struct assay_totals *totals = &model->totals;
    struct footprint footprint;
    enum assay_status st =
        footprint_estimate(model->graph, &model->survey, &footprint, err);

    totals->images = (uint64_t)model->options.model.build.n_images;
    totals->parameters = graph_parameter_elements(model->graph);
    totals->buffers = graph_buffer_elements(model->graph);
    for (size_t i = 0; i < model->n_parameters; i++) {
        const struct assay_parameter *parameter = &model->parameters[i];

        if (parameter->is_trained)
            totals->parameter_bytes += parameter->tensor.n_bytes;
        else
            totals->buffer_bytes += parameter->tensor.n_bytes;
    }
    totals->macs = model->layers.total.macs;
    totals->norm_macs = count_norm_macs(model);
    if (!st) {
        totals->input_bytes = footprint.input_bytes;
        totals->activation_bytes = footprint.activation_bytes;
    }
    return st;
}

enum assay_status model_describe(struct assay_model *model, struct error *err)
{
    const struct backend_class *backend = model->options.device->backend;
    enum assay_status st = describe_parameters(model, err);

    snprintf(model->backend, sizeof model->backend, "%s", backend->name);
    if (backend->library)
        backend->library(model->backend, sizeof model->backend);
    if (!st)
        st = describe_layers(model, err);
    if (!st)
        st = describe_inputs(model, err);
    if (!st)
        st = model_describe_add_up(model, err);
    if (!st && model->is_filled)
        model_describe_data(model);
    return st;
}

static const char *weights_text(const struct assay_model *model)
{
    if (model->options.model.is_file && !model->is_random)
        return model->options.model.name;
    if (!model->may_fill)
        return "none";
    return model->options.model.weights ? model->options.model.weights
                                        : model->random_text;
}

struct model_parts model_parts(const struct assay_model *model)
{
    return (struct model_parts){
        .graph = model->graph,
        .layers = &model->layers,
        .times = model->times,
        .input = str_text(&model->input_text),
        .weights = weights_text(model),
    };
}

/* ---- the public interface ----------------------------------------------- */

const char *assay_model_name(const struct assay_model *model)
{
    return graph_name(model->graph);
}

const char *assay_model_class(const struct assay_model *model)
{
    return graph_class(model->graph);
}

const char *assay_model_backend(const struct assay_model *model)
{
    return model->backend;
}

const struct assay_totals *assay_model_totals(const struct assay_model *model)
{
    return &model->totals;
}

const struct assay_layer *assay_model_layers(const struct assay_model *model,
                                             size_t *n)
{
    *n = model->layers.n;
    return model->public_layers;
}

const struct assay_parameter *
assay_model_parameters(const struct assay_model *model, size_t *n)
{
    *n = model->n_parameters;
    return model->parameters;
}

size_t assay_model_input_count(const struct assay_model *model)
{
    return model->inputs.n;
}

const struct assay_tensor *assay_model_input(const struct assay_model *model,
                                             size_t i, const char **name)
{
    if (name)
        *name =
            graph_value(model->graph, graph_input_at(model->graph, i))->name;
    return &model->public_inputs[i];
}
