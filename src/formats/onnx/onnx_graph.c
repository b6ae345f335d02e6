/* formats/onnx/onnx_graph.c - see onnx_frame_internal.h: imports a graph of the
 * file. */
#include "formats/onnx/onnx_frame_internal.h"

#include "base/mem.h"

#include <inttypes.h>

/* ---- initializers ------------------------------------------------------- */

/* Takes the data. Initializers of the model's own graph become named
 * parameters, those of a body become constants. */
static enum assay_status onnx_graph_add_data(struct onnx_frame *frame,
                                             const char *name,
                                             struct tensor data,
                                             struct error *err)
{
    struct graph *graph = frame->target->graph;
    uint32_t value;
    enum assay_status st;

    if (name[0] && map_find_text(&frame->names, name, NULL)) {
        tensor_release(&data);
        return error_set(err, ASSAY_BAD_INPUT,
                         "two initializers are called '%.80s'", name);
    }
    if (frame->outer) {
        st = graph_constant(graph, "", data, &value, err);
    } else {
        st = graph_parameter(graph, GRAPH_NONE, name, VALUE_PARAMETER,
                             data.dtype, &data.shape, &value, err);
        if (st)
            tensor_release(&data);
        else
            st = graph_set_data(graph, value, data, err);
    }
    return st ? st : onnx_frame_bind(frame, name, value, err);
}

static enum assay_status add_initializers(struct onnx_frame *frame,
                                          const struct onnx_graph *graph,
                                          struct error *err)
{
    struct onnx_data *from = &frame->importer->data;
    enum assay_status st = ASSAY_OK;
    struct tensor data;

    for (size_t i = 0; !st && i < graph->n_initializers; i++) {
        const struct onnx_tensor *tensor = &graph->initializers[i];

        st = onnx_data_load(from, tensor, &data, err);
        if (!st)
            st = onnx_graph_add_data(frame, tensor->name, data, err);
    }
    for (size_t i = 0; !st && i < graph->n_sparse_initializers; i++) {
        const struct onnx_sparse_tensor *sparse =
            &graph->sparse_initializers[i];

        st = onnx_data_load_sparse(from, sparse, &data, err);
        if (!st)
            st = onnx_graph_add_data(frame, sparse->values->name, data, err);
    }
    return st;
}

/* ---- inputs ------------------------------------------------------------- */

static bool onnx_graph_is_text(const struct onnx_type *type)
{
    enum { text = 8 };

    return type->tensor && type->tensor->elem_type == text;
}

/* Lists of tensors, texts and optional lists are packed. An optional tensor has
 * the tensor's type if it is there. */
static enum assay_status
onnx_graph_read_type(const struct onnx_value_info *info, enum dtype *dtype,
                     struct error *err)
{
    const struct onnx_type *type = info->type;

    *dtype = DTYPE_F32;
    if (type && type->optional)
        type = type->optional->element;
    if (!type) /* bodies may leave it out */
        return ASSAY_OK;
    if (type->n_sequence || onnx_graph_is_text(type)) {
        *dtype = DTYPE_SEQUENCE;
        return ASSAY_OK;
    }
    if (!type->tensor)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "it is %s; tensors, sequences of them and optional "
                         "ones are supported",
                         type->n_map ? "a map" : "a sparse tensor");
    if (type->tensor->elem_type == 0 ||
        onnx_dtype(type->tensor->elem_type, dtype))
        return ASSAY_OK;
    return error_set(err, ASSAY_UNSUPPORTED,
                     "its type %" PRId64 " (complex numbers) is not supported",
                     type->tensor->elem_type);
}

static enum assay_status
onnx_graph_read_shape(const struct onnx_value_info *info, struct shape *shape,
                      bool *has_shape, struct error *err)
{
    const struct onnx_shape *from;

    *has_shape = info->type && info->type->tensor &&
                 info->type->tensor->shape && !onnx_graph_is_text(info->type);
    if (!*has_shape)
        return ASSAY_OK;
    from = info->type->tensor->shape;
    *shape = (struct shape){0};
    if (from->n_dims > SHAPE_MAX_RANK)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "it has %zu dimensions; at most %d are supported",
                         from->n_dims, SHAPE_MAX_RANK);
    shape->rank = (int)from->n_dims;
    for (size_t i = 0; i < from->n_dims; i++) {
        bool is_free = !from->dims[i].n_value ||
                       (from->dims[i].value <= 0 && from->dims[i].param[0]);

        shape->dims[i] = is_free ? -1 : from->dims[i].value;
        if (shape->dims[i] < -1)
            return error_set(err, ASSAY_BAD_INPUT,
                             "its size %zu is %" PRId64
                             "; sizes cannot be negative",
                             i, from->dims[i].value);
    }
    return ASSAY_OK;
}

static enum assay_status
onnx_graph_add_input(struct onnx_frame *frame, const struct onnx_graph *graph,
                     const struct onnx_value_info *info, struct error *err)
{
    struct onnx_target *target = frame->target;
    struct tensor known = {0};
    bool has_shape = false;
    uint32_t value;
    enum assay_status st = onnx_graph_read_type(info, &known.dtype, err);

    if (!st)
        st = onnx_graph_read_shape(info, &known.shape, &has_shape, err);
    if (!st && !frame->outer)
        st = model_file_choose_shape(frame->importer->options, info->name,
                                     graph->n_inputs, &known.shape, &has_shape,
                                     err);
    if (!st)
        st = graph_input(target->graph, info->name, known.dtype, &value, err);
    if (st) {
        error_context(err, "input '%.80s'", info->name);
        return st;
    }
    /* Shapes that a body declares for its inputs are often wrong. */
    if (has_shape && !frame->outer) {
        graph_declare_input(target->graph, value, &known.shape);
        st = onnx_target_know(target, value, &known, err);
    }
    return st ? st : onnx_frame_bind(frame, info->name, value, err);
}

/* Old files list the initializers among the inputs. */
static enum assay_status add_inputs(struct onnx_frame *frame,
                                    const struct onnx_graph *graph,
                                    struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < graph->n_inputs; i++) {
        const char *name = graph->inputs[i].name;
        uint64_t value;

        if (!map_find_text(&frame->names, name, &value))
            st = onnx_graph_add_input(frame, graph, &graph->inputs[i], err);
        else if (graph_value(frame->target->graph, (uint32_t)value)->kind ==
                 VALUE_INPUT)
            st = error_set(err, ASSAY_BAD_INPUT,
                           "two inputs are called '%.80s'", name);
    }
    return st;
}

/* ---- the whole ---------------------------------------------------------- */

static enum assay_status add_outputs(struct onnx_frame *frame,
                                     const struct onnx_graph *graph,
                                     struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < graph->n_outputs; i++) {
        const char *name = graph->outputs[i].name;
        uint32_t value;

        st = onnx_frame_find(frame, name, &value, err);
        if (!st && value == GRAPH_NONE)
            st = error_set(err, ASSAY_BAD_INPUT, "no node makes output '%.80s'",
                           name);
        if (!st)
            st = graph_output(frame->target->graph, name, value, err);
    }
    return st;
}

enum assay_status onnx_graph_import(struct onnx_frame *frame,
                                    const struct onnx_graph *graph,
                                    struct error *err)
{
    enum assay_status st = add_initializers(frame, graph, err);

    if (!st)
        st = add_inputs(frame, graph, err);
    if (!st)
        st = onnx_nodes_import(frame, graph->nodes, graph->n_nodes, err);
    if (!st)
        st = add_outputs(frame, graph, err);
    return st;
}

void onnx_import_body(struct onnx_call *call, const char *attribute,
                      struct onnx_body *body)
{
    const struct onnx_attribute *found = onnx_attribute(call, attribute);
    struct onnx_frame *around = call->frame;
    struct onnx_target target = {0};
    struct onnx_frame frame = {.importer = around->importer,
                               .target = &target,
                               .outer = around,
                               .caller = around->caller,
                               .opsets = around->opsets,
                               .n_opsets = around->n_opsets,
                               .scope = GRAPH_NONE,
                               .depth = around->depth + 1};

    *body = (struct onnx_body){0};
    if (!found || !found->g)
        onnx_fail(call, ASSAY_BAD_INPUT, "it has no graph '%s'", attribute);
    if (frame.depth > ONNX_MAX_DEPTH)
        onnx_fail(call, ASSAY_UNSUPPORTED,
                  "graphs are nested more than %d deep", ONNX_MAX_DEPTH);
    if (!call->st)
        call->st = onnx_target_init(&target, call->err);
    if (!call->st)
        call->st = graph_set_name(target.graph, attribute, "Graph", call->err);
    if (!call->st)
        call->st = onnx_graph_import(&frame, found->g, call->err);
    if (!call->st) {
        *body = (struct onnx_body){.graph = target.graph,
                                   .captured = target.captured,
                                   .n_captured = target.n_captured};
        target.graph = NULL;
        target.captured = NULL;
    }
    map_release(&frame.names);
    onnx_target_release(&target);
}

void onnx_body_release(struct onnx_body *body)
{
    graph_free(body->graph);
    mem_free(body->captured);
    *body = (struct onnx_body){0};
}
