/* formats/onnx_nodes.c - see onnx_frame.h: nodes in an order in which they can
 * run, each through the mapping of its op type. */
#include "formats/onnx_frame.h"

#include "base/mem.h"

#include <string.h>

static bool is_onnx_domain(const char *domain)
{
    return !domain[0] || strcmp(domain, "ai.onnx") == 0;
}

int64_t onnx_frame_opset(const struct onnx_opset *opsets, size_t n,
                         const char *domain)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(opsets[i].domain, domain) == 0 ||
            (is_onnx_domain(domain) && is_onnx_domain(opsets[i].domain)))
            return opsets[i].version;
    }
    return 0;
}

const struct onnx_function *onnx_function_find(const struct onnx_model *model,
                                               const struct onnx_node *node)
{
    for (size_t i = 0; i < model->n_functions; i++) {
        const struct onnx_function *function = &model->functions[i];

        if (strcmp(function->name, node->op_type) == 0 &&
            strcmp(function->domain, node->domain) == 0)
            return function;
    }
    return NULL;
}

/* ---- one node ---------------------------------------------------------- */

static enum assay_status check_ends(const struct onnx_op *op,
                                    struct onnx_call *call)
{
    size_t needed = (size_t)op->min_inputs;

    if (op->max_inputs == ONNX_ANY && op->min_inputs && call->n_inputs > needed)
        needed = call->n_inputs;
    if (op->max_inputs != ONNX_ANY && call->n_inputs > (size_t)op->max_inputs)
        return error_set(call->err, ASSAY_BAD_INPUT,
                         "it has %zu inputs, %d is the most", call->n_inputs,
                         op->max_inputs);
    if (!call->n_outputs)
        return error_set(call->err, ASSAY_BAD_INPUT, "it has no output");
    for (size_t i = 0; i < needed; i++) {
        if (onnx_input(call, i) == GRAPH_NONE)
            return error_set(call->err, ASSAY_BAD_INPUT,
                             "its input %zu is left out", i);
    }
    return ASSAY_OK;
}

/* The nodes of a function in the place of the one that calls it. */
static void import_function(struct onnx_call *call,
                            const struct onnx_function *function)
{
    struct onnx_frame *around = call->frame;
    struct onnx_frame frame = {.importer = around->importer,
                               .target = around->target,
                               .caller = call,
                               .opsets = function->opsets,
                               .n_opsets = function->n_opsets,
                               .scope = around->scope,
                               .depth = around->depth + 1};

    if (frame.depth > ONNX_MAX_DEPTH)
        onnx_fail(call, ASSAY_UNSUPPORTED,
                  "functions call each other more than %d deep",
                  ONNX_MAX_DEPTH);
    for (size_t i = 0; !call->st && i < call->place->n_modules; i++)
        call->st = graph_scope_add(
            around->target->graph, frame.scope, call->place->modules[i].name,
            i + 1 < call->place->n_modules ? "Module" : function->name,
            call->place->modules[i].is_container, &frame.scope, call->err);
    for (size_t i = 0; !call->st && i < function->n_inputs; i++) {
        if (onnx_input(call, i) != GRAPH_NONE)
            call->st = onnx_frame_bind(&frame, function->inputs[i],
                                       onnx_input(call, i), call->err);
    }
    if (!call->st)
        call->st = onnx_nodes_import(&frame, function->nodes, function->n_nodes,
                                     call->err);
    for (size_t i = 0; i < call->n_outputs && i < function->n_outputs; i++) {
        if (!call->st)
            call->st = onnx_frame_find(&frame, function->outputs[i],
                                       &call->outputs[i], call->err);
    }
    map_release(&frame.names);
}

static void import_call(struct onnx_call *call)
{
    struct onnx_frame *frame = call->frame;
    const struct onnx_function *function =
        onnx_function_find(frame->importer->model, call->node);
    const struct onnx_op *op;

    if (function) {
        import_function(call, function);
        return;
    }
    op = is_onnx_domain(call->node->domain)
             ? onnx_op_find(call->node->op_type, call->opset)
             : NULL;
    if (!op) /* onnx_check_ops() has found the others */
        onnx_fail(call, ASSAY_UNSUPPORTED, "it is not supported");
    else if (!(call->st = check_ends(op, call)))
        op->import(call);
}

static enum assay_status find_inputs(struct onnx_call *call)
{
    for (size_t i = 0; i < call->n_inputs; i++) {
        const char *name = call->node->inputs[i];
        enum assay_status st;

        call->inputs[i] = GRAPH_NONE;
        if (!name[0])
            continue;
        st = onnx_frame_find(call->frame, name, &call->inputs[i], call->err);
        if (st)
            return st;
        if (call->inputs[i] == GRAPH_NONE && !call->frame->caller)
            return error_set(call->err, ASSAY_BAD_INPUT,
                             "it reads '%.80s', which nothing makes; is an "
                             "initializer missing?",
                             name);
    }
    return ASSAY_OK;
}

static enum assay_status bind_outputs(struct onnx_call *call)
{
    for (size_t i = 0; i < call->n_outputs; i++) {
        const char *name = call->node->outputs[i];
        enum assay_status st;

        if (!name[0])
            continue;
        if (call->outputs[i] == GRAPH_NONE)
            return error_set(call->err, ASSAY_UNSUPPORTED,
                             "its output %zu, '%.80s', is not supported", i,
                             name);
        st = onnx_frame_bind(call->frame, name, call->outputs[i], call->err);
        if (st)
            return st;
    }
    return ASSAY_OK;
}

static void name_node(const struct onnx_node *node, size_t at,
                      struct error *err)
{
    if (node->name[0])
        error_context(err, "node %.100s (%.40s)", node->name, node->op_type);
    else
        error_context(err, "node %zu (%.40s)", at, node->op_type);
}

static enum assay_status import_node(struct onnx_frame *frame,
                                     const struct onnx_node *node,
                                     const struct onnx_place *place, size_t at,
                                     struct error *err)
{
    struct onnx_call call = {
        .frame = frame,
        .node = node,
        .place = place,
        .opset = onnx_frame_opset(frame->opsets, frame->n_opsets, node->domain),
        .n_inputs = node->n_inputs,
        .n_outputs = node->n_outputs,
        .err = err,
    };
    size_t n_ids = node->n_inputs + node->n_outputs;
    uint32_t *ids = mem_array(n_ids, sizeof *ids);

    if (!ids)
        return error_nomem(err, n_ids * sizeof *ids, "the nodes of a model");
    call.inputs = ids;
    call.outputs = ids + node->n_inputs;
    for (size_t i = 0; i < node->n_outputs; i++)
        call.outputs[i] = GRAPH_NONE;
    call.st = find_inputs(&call);
    if (!call.st)
        import_call(&call);
    if (!call.st)
        call.st = bind_outputs(&call);
    if (call.st && frame->depth < 2) /* more would hide what failed */
        name_node(node, at, err);
    mem_free(ids);
    return call.st;
}

enum assay_status onnx_nodes_import(struct onnx_frame *frame,
                                    const struct onnx_node *nodes, size_t n,
                                    struct error *err)
{
    struct arena *arena = &frame->importer->texts;
    struct onnx_place *places = NULL;
    uint32_t *order = NULL;
    enum assay_status st = onnx_nodes_sort(nodes, n, &order, err);

    if (!st)
        st = onnx_places_make(nodes, n, arena, &places, err);
    for (size_t i = 0; !st && i < n; i++)
        st = import_node(frame, &nodes[order[i]], &places[order[i]], order[i],
                         err);
    mem_free(order);
    return st;
}
