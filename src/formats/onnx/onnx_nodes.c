/* formats/onnx/onnx_nodes.c - see onnx_frame_internal.h: imports nodes, each
 * with the mapping of its op type. */
#include "formats/onnx/onnx_frame_internal.h"

#include "base/mem.h"
#include "base/str.h"

#include <string.h>

/* ---- functions ---------------------------------------------------------- */

/* "domain", a NUL, "name". */
static enum assay_status
onnx_nodes_make_key(struct str *key, const char *domain, const char *name)
{
    str_clear(key);
    return str_append_n(key, domain, strlen(domain) + 1)
               ? ASSAY_NOMEM
               : str_append(key, name);
}

enum assay_status onnx_functions_note(struct onnx_importer *importer,
                                      struct error *err)
{
    const struct onnx_model *model = importer->model;
    struct str key = {0};
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < model->n_functions; i++) {
        const struct onnx_function *function = &model->functions[i];

        st = onnx_nodes_make_key(&key, function->domain, function->name);
        if (!st && map_find(&importer->functions, key.text, key.n, NULL))
            st = error_set(err, ASSAY_BAD_INPUT,
                           "it has two functions '%.80s' in the domain '%.80s'",
                           function->name, function->domain);
        if (!st)
            st = map_put(&importer->functions, key.text, key.n, i);
        if (st == ASSAY_NOMEM)
            error_nomem(err, key.n, "the functions of a model");
    }
    str_release(&key);
    return st;
}

/* If there is no memory for the key, searches the list. */
const struct onnx_function *
onnx_function_find(const struct onnx_importer *importer,
                   const struct onnx_node *node)
{
    const struct onnx_model *model = importer->model;
    struct str key = {0};
    uint64_t at = model->n_functions;

    if (!model->n_functions)
        return NULL;
    if (!onnx_nodes_make_key(&key, node->domain, node->op_type)) {
        map_find(&importer->functions, key.text, key.n, &at);
    } else {
        for (at = 0; at < model->n_functions; at++) {
            if (strcmp(model->functions[at].name, node->op_type) == 0 &&
                strcmp(model->functions[at].domain, node->domain) == 0)
                break;
        }
    }
    str_release(&key);
    return at < model->n_functions ? &model->functions[at] : NULL;
}

/* ---- one node ---------------------------------------------------------- */

static enum assay_status onnx_nodes_check_ends(const struct onnx_op *op,
                                               struct onnx_call *call)
{
    size_t needed = (size_t)op->min_inputs;

    if (op->max_inputs == ONNX_ANY && op->min_inputs && call->n_inputs > needed)
        needed = call->n_inputs;
    if (op->max_inputs != ONNX_ANY && call->n_inputs > (size_t)op->max_inputs)
        return error_set(call->err, ASSAY_BAD_INPUT,
                         "it has %zu inputs; at most %d are allowed",
                         call->n_inputs, op->max_inputs);
    if (!call->n_outputs)
        return error_set(call->err, ASSAY_BAD_INPUT, "it has no output");
    for (size_t i = 0; i < needed; i++) {
        if (onnx_input(call, i) == GRAPH_NONE)
            return error_set(call->err, ASSAY_BAD_INPUT,
                             "its input %zu is left out", i);
    }
    return ASSAY_OK;
}

/* Imports the nodes of a function in place of the one that calls it. */
static void onnx_nodes_import_function(struct onnx_call *call,
                                       const struct onnx_function *function)
{
    struct onnx_frame *around = call->frame;
    struct onnx_frame frame = {.importer = around->importer,
                               .target = around->target,
                               .caller = call,
                               .opsets = function->opsets,
                               .n_opsets = function->n_opsets,
                               .depth = around->depth + 1};

    if (frame.depth > ONNX_MAX_DEPTH)
        onnx_fail(call, ASSAY_UNSUPPORTED,
                  "functions call each other more than %d deep",
                  ONNX_MAX_DEPTH);
    frame.importer->n_unfolded += function->n_nodes;
    if (frame.importer->n_unfolded > ONNX_MAX_UNFOLDED)
        onnx_fail(call, ASSAY_UNSUPPORTED,
                  "its functions unfold to more than %d nodes",
                  ONNX_MAX_UNFOLDED);
    frame.scope = onnx_call_scope(call, function->name);
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

static void onnx_nodes_import_call(struct onnx_call *call)
{
    const struct onnx_function *function =
        onnx_function_find(call->frame->importer, call->node);
    const struct onnx_op *op = onnx_op_find(call->node, call->opset);

    if (function) {
        onnx_nodes_import_function(call, function);
        return;
    }
    if (!op) { /* onnx_check_ops() finds all, unless memory runs out */
        onnx_fail(call, ASSAY_UNSUPPORTED, "it is not supported");
        return;
    }
    call->st = onnx_nodes_check_ends(op, call);
    onnx_attributes_check(call);
    if (!call->st)
        op->import(call);
    onnx_attributes_check_asked(call);
}

static enum assay_status onnx_nodes_find_inputs(struct onnx_call *call)
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
                             "it reads '%.80s', which no node makes; an "
                             "initializer may be missing",
                             name);
    }
    return ASSAY_OK;
}

static enum assay_status onnx_nodes_bind_outputs(struct onnx_call *call)
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

static void onnx_nodes_name_node(const struct onnx_node *node, size_t at,
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
    uint64_t asked = 0;
    struct onnx_call call = {
        .frame = frame,
        .node = node,
        .place = place,
        .opset = onnx_opset_find(frame->opsets, frame->n_opsets, node->domain),
        .asked = &asked,
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
    call.st = onnx_nodes_find_inputs(&call);
    if (!call.st)
        onnx_nodes_import_call(&call);
    if (!call.st)
        call.st = onnx_nodes_bind_outputs(&call);
    if (call.st && frame->depth < 2) /* more would hide what failed */
        onnx_nodes_name_node(node, at, err);
    mem_free(ids);
    return call.st;
}

/* Called before any node is imported, when the frame has only the names of
 * inputs and initializers; outputs of nodes must not reuse them. */
static enum assay_status
onnx_nodes_check_outputs(const struct onnx_frame *frame,
                         const struct onnx_node *nodes, size_t n,
                         struct error *err)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < nodes[i].n_outputs; k++) {
            const char *name = nodes[i].outputs[k];

            if (!name[0] || !map_find_text(&frame->names, name, NULL))
                continue;
            error_set(err, ASSAY_BAD_INPUT,
                      "its output '%.80s' has the name of an input or an "
                      "initializer",
                      name);
            onnx_nodes_name_node(&nodes[i], i, err);
            return ASSAY_BAD_INPUT;
        }
    }
    return ASSAY_OK;
}

enum assay_status onnx_nodes_import(struct onnx_frame *frame,
                                    const struct onnx_node *nodes, size_t n,
                                    struct error *err)
{
    struct arena *arena = &frame->importer->texts;
    struct onnx_place *places = NULL;
    uint32_t *order = NULL;
    enum assay_status st = onnx_nodes_check_outputs(frame, nodes, n, err);

    if (!st)
        st = onnx_nodes_sort(nodes, n, &order, err);
    if (!st)
        st = onnx_places_make(nodes, n, arena, &places, err);
    for (size_t i = 0; !st && i < n; i++)
        st = import_node(frame, &nodes[order[i]], &places[order[i]], order[i],
                         err);
    mem_free(order);
    return st;
}
