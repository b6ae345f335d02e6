/* passes/integers.c - see integers.h. New nodes are appended and sorted into
 * their places at the end; what nothing reads any more is removed then. */
#include "passes/integers.h"

#include "base/mem.h"
#include "ops/math/cast.h"
#include "ops/movement/resize.h"
#include "ops/ops.h"
#include "ops/product/quantize.h"
#include "passes/integers_internal.h"

/* ---- what a graph says --------------------------------------------------- */

const struct node *integers_maker(const struct graph *graph, uint32_t value)
{
    const struct value *made;

    if (value == GRAPH_NONE)
        return NULL;
    made = graph_value(graph, value);
    return made->kind == VALUE_COMPUTED ? graph_node(graph, made->producer)
                                        : NULL;
}

const struct node *integers_sole_maker(const struct graph *graph,
                                       uint32_t value,
                                       const struct op_class *op)
{
    const struct node *maker = integers_maker(graph, value);

    return maker && maker->op == op && graph_use_count(graph, value) == 1
               ? maker
               : NULL;
}

const struct tensor *integers_data(const struct graph *graph, uint32_t value,
                                   enum dtype dtype)
{
    const struct tensor *data;

    if (value == GRAPH_NONE)
        return NULL;
    data = &graph_value(graph, value)->data;
    return data->buffer && data->dtype == dtype ? data : NULL;
}

/* A single zero of 8 bits. */
static bool integers_read_zero(const struct graph *graph, uint32_t value,
                               struct step *step)
{
    const struct tensor *u8 = integers_data(graph, value, DTYPE_U8);
    const struct tensor *i8 = integers_data(graph, value, DTYPE_I8);
    const struct tensor *zero = u8 ? u8 : i8;

    if (!zero || tensor_elements(zero) != 1)
        return false;
    step->zero_value = value;
    step->dtype = zero->dtype;
    step->zero = u8 ? *(const uint8_t *)tensor_data(u8)
                    : *(const int8_t *)tensor_data(i8);
    return true;
}

static bool integers_set_step(const struct graph *graph, uint32_t q,
                              uint32_t scale_value, uint32_t zero_value,
                              struct step *step)
{
    const struct tensor *scale = integers_data(graph, scale_value, DTYPE_F32);

    *step = (struct step){.q = q, .scale_value = scale_value};
    if (!scale || tensor_elements(scale) != 1)
        return false;
    step->scale = *tensor_f32(scale);
    return step->scale > 0 && integers_read_zero(graph, zero_value, step);
}

/* Scale and zero of a QuantizeLinear or DequantizeLinear; step->q is what a
 * DequantizeLinear reads. False if they are not single constants. */
static bool integers_read_step(const struct graph *graph,
                               const struct node *node, struct step *step)
{
    const struct quantize_attrs *attrs = node->attrs;

    return node->n_inputs > 2 && !attrs->block &&
           (node->op == &op_quantize_linear || !attrs->has_dtype ||
            attrs->dtype == DTYPE_F32) &&
           integers_set_step(graph, node->inputs[0], node->inputs[1],
                             node->inputs[2], step);
}

bool integers_dequantised(const struct graph *graph, uint32_t value,
                          struct step *step)
{
    const struct node *maker = integers_maker(graph, value);
    const struct value *held;

    if (maker)
        return maker->op == &op_dequantize_linear &&
               integers_read_step(graph, maker, step);
    if (value == GRAPH_NONE)
        return false;
    held = graph_value(graph, value);
    return held->is_dequantised &&
           integers_set_step(graph, held->from.quantised, held->from.scale,
                             held->from.zero, step) &&
           integers_data(graph, held->from.quantised, step->dtype);
}

bool integers_same_step(const struct step *a, const struct step *b)
{
    return a->dtype == b->dtype && a->scale == b->scale && a->zero == b->zero;
}

/* ---- nodes --------------------------------------------------------------- */

enum assay_status integers_add(struct integers *pass, const struct node *like,
                               const struct op_class *op, const void *attrs,
                               const uint32_t *inputs, size_t n_inputs,
                               size_t n_outputs, uint32_t *outputs)
{
    struct node_description description = {.op = op,
                                           .attrs = attrs,
                                           .scope = like->scope,
                                           .name = like->name,
                                           .inputs = inputs,
                                           .n_inputs = n_inputs,
                                           .n_outputs = n_outputs};

    return graph_node_add(pass->graph, &description, outputs, pass->err);
}

/* Notes that a node does the work of a scope that it does not lie in. */
static enum assay_status integers_note(struct integers *pass, uint32_t at,
                                       uint32_t scope)
{
    const struct node *node = graph_node(pass->graph, at);
    uint32_t around = node->scope;

    while (around != GRAPH_NONE && around != scope)
        around = graph_scope(pass->graph, around)->parent;
    if (scope == around)
        return ASSAY_OK;
    for (size_t i = 0; i < node->n_stands_for; i++) {
        if (node->stands_for[i] == scope)
            return ASSAY_OK;
    }
    return graph_stand_for(pass->graph, at, scope, pass->err);
}

enum assay_status integers_replace(struct integers *pass,
                                   const struct node *node, uint32_t by)
{
    const struct value *made = graph_value(pass->graph, by);
    uint32_t scope = node->scope;

    graph_replace_uses(pass->graph, node->outputs[0], by);
    if (made->kind != VALUE_COMPUTED || scope == GRAPH_NONE)
        return ASSAY_OK;
    return integers_note(pass, made->producer, scope);
}

/* ---- ops that only move numbers ------------------------------------------ */

static bool integers_is_move(const struct op_class *op)
{
    static const struct op_class *const moves[] = {
        &op_concat,  &op_split,          &op_slice,         &op_max_pool2d,
        &op_reshape, &op_transpose,      &op_expand,        &op_squeeze,
        &op_flatten, &op_unsqueeze,      &op_flatten_at,    &op_identity,
        &op_gather,  &op_depth_to_space, &op_space_to_depth};

    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
        if (moves[i] == op)
            return true;
    }
    return false;
}

/* A Resize that takes the nearest element moves numbers, too. */
static bool integers_moves(const struct node *node)
{
    const struct resize_attrs *resize = node->attrs;

    if (node->op == &op_resize)
        return resize->mode == RESIZE_NEAREST && resize->place != RESIZE_CROP;
    return integers_is_move(node->op);
}

/* All inputs in the step of the result, one after another. */
static enum assay_status integers_concat(struct integers *pass,
                                         const struct node *concat,
                                         const struct step *to, uint32_t *out)
{
    enum { most = 64 };
    const struct node kept = *concat;
    struct step from[most];
    uint32_t inputs[most];
    enum assay_status st = ASSAY_OK;

    if (kept.n_inputs > most)
        return ASSAY_OK;
    for (size_t i = 0; i < kept.n_inputs; i++) {
        if (!integers_dequantised(pass->graph, kept.inputs[i], &from[i]))
            return ASSAY_OK;
    }
    for (size_t i = 0; !st && i < kept.n_inputs; i++)
        st = integers_requantise(pass, &kept, &from[i], to, &inputs[i]);
    if (!st)
        st = integers_add(pass, &kept, kept.op, kept.attrs, inputs,
                          kept.n_inputs, 1, out);
    return st;
}

/* A copy of the node that reads the integers, made once for all outputs. */
static enum assay_status integers_move_all(struct integers *pass, uint32_t at,
                                           uint32_t q)
{
    enum { most = 64 };
    const struct node kept = *graph_node(pass->graph, at);
    uint32_t inputs[most], outputs[most];
    enum assay_status st;

    if (pass->moved[at] != GRAPH_NONE || kept.n_inputs > most ||
        kept.n_outputs > most)
        return ASSAY_OK;
    for (size_t i = 0; i < kept.n_inputs; i++)
        inputs[i] = i ? kept.inputs[i] : q;
    st = integers_add(pass, &kept, kept.op, kept.attrs, inputs, kept.n_inputs,
                      kept.n_outputs, outputs);
    if (!st)
        pass->moved[at] = graph_value(pass->graph, outputs[0])->producer;
    return st;
}

static enum assay_status integers_move(struct integers *pass, uint32_t value,
                                       const struct node *op,
                                       const struct step *to, uint32_t *out)
{
    const struct value *made = graph_value(pass->graph, value);
    uint32_t at = made->producer;
    int output = made->output;
    struct step from;
    enum assay_status st;

    if (op->op == &op_concat)
        return integers_concat(pass, op, to, out);
    if (at >= pass->n_nodes || op->n_bodies ||
        !integers_dequantised(pass->graph, op->inputs[0], &from))
        return ASSAY_OK;
    st = integers_move_all(pass, at, from.q);
    if (st || pass->moved[at] == GRAPH_NONE)
        return st;
    from.q = graph_node(pass->graph, pass->moved[at])->outputs[output];
    return integers_requantise(pass, graph_node(pass->graph, at), &from, to,
                               out);
}

/* ---- sums and products of two values ------------------------------------- */

/* A ReLU that QuantizeLinear does, too, is passed over: nothing below the
 * smallest number is left. */
static const struct node *integers_skip_relu(const struct graph *graph,
                                             const struct node *op,
                                             const struct step *to)
{
    int least = to->dtype == DTYPE_I8 ? -128 : 0;
    const struct node *before;

    if (op->op != &op_relu || to->zero != least)
        return op;
    before = integers_maker(graph, op->inputs[0]);
    return before && graph_use_count(graph, op->inputs[0]) == 1 &&
                   (before->op == &op_add || before->op == &op_sum ||
                    before->op == &op_mul)
               ? before
               : op;
}

static enum assay_status integers_binary(struct integers *pass,
                                         const struct node *op,
                                         const struct step *to, uint32_t *out)
{
    bool is_product = op->op == &op_mul;
    struct step a, b;
    enum assay_status st;

    if (op->n_inputs != 2 ||
        !integers_dequantised(pass->graph, op->inputs[0], &a) ||
        !integers_dequantised(pass->graph, op->inputs[1], &b))
        return ASSAY_OK;
    st = integers_combine(pass, op, &a, &b, to, out);
    if (!st && *out == GRAPH_NONE) {
        uint32_t inputs[] = {
            a.q,           a.scale_value, a.zero_value,    b.q,
            b.scale_value, b.zero_value,  to->scale_value, to->zero_value};

        st = integers_add(pass, op,
                          is_product ? &op_qlinear_mul : &op_qlinear_add, NULL,
                          inputs, sizeof inputs / sizeof *inputs, 1, out);
    }
    return st;
}

/* ---- the pass ------------------------------------------------------------ */

/* The op before a QuantizeLinear and those before it become one. */
static enum assay_status integers_quantised(struct integers *pass,
                                            const struct node *quantize)
{
    const struct node kept = *quantize;
    uint32_t value = kept.inputs[0], out = GRAPH_NONE;
    const struct node *maker = integers_maker(pass->graph, value);
    struct step to, from;
    enum assay_status st = ASSAY_OK;

    if (!maker || !integers_read_step(pass->graph, &kept, &to))
        return ASSAY_OK;
    maker = integers_skip_relu(pass->graph, maker, &to);
    if (maker->op == &op_dequantize_linear) {
        if (integers_read_step(pass->graph, maker, &from))
            st = integers_requantise(pass, maker, &from, &to, &out);
    } else if (integers_moves(maker)) {
        st = integers_move(pass, value, maker, &to, &out);
    } else if (maker->op == &op_add || maker->op == &op_sum ||
               maker->op == &op_mul) {
        st = integers_binary(pass, maker, &to, &out);
    } else if (graph_use_count(pass->graph, value) == 1) {
        st = integers_product(pass, maker, &to, &out);
        if (!st && out == GRAPH_NONE)
            st = integers_activate(pass, maker, &to, &out);
    }
    return st || out == GRAPH_NONE ? st : integers_replace(pass, &kept, out);
}

/* The input of an integer node whose type its result has; GRAPH_NONE: of
 * another node. */
static uint32_t integers_typed_by(const struct node *node)
{
    enum { quantize_zero = 2, lookup_table = 1 };
    const struct op_class *op = node->op;
    size_t input = SIZE_MAX;

    if (op == &op_quantize_linear)
        input = quantize_zero;
    else if (op == &op_lookup)
        input = lookup_table;
    else if (op == &op_qlinear_conv || op == &op_qlinear_matmul ||
             op == &op_qlinear_add || op == &op_qlinear_mul)
        input = QLINEAR_Y_ZERO;
    return input < node->n_inputs ? node->inputs[input] : GRAPH_NONE;
}

/* A Cast to the type that the integers before it have anyway. Some exporters
 * write one after every QuantizeLinear. */
static enum assay_status integers_drop_cast(struct integers *pass,
                                            const struct node *cast)
{
    const struct cast_attrs *attrs = cast->attrs;
    const struct node *maker = integers_maker(pass->graph, cast->inputs[0]);
    const struct node kept = *cast;
    uint32_t like = maker ? integers_typed_by(maker) : GRAPH_NONE;

    if (like == GRAPH_NONE || !integers_data(pass->graph, like, attrs->dtype) ||
        dtype_bytes(attrs->dtype) != 1)
        return ASSAY_OK;
    return integers_replace(pass, &kept, kept.inputs[0]);
}

/* A product that no QuantizeLinear follows. */
static enum assay_status integers_real(struct integers *pass,
                                       const struct node *op)
{
    const struct node kept = *op;
    uint32_t out = GRAPH_NONE;
    enum assay_status st;

    if (graph_use_count(pass->graph, kept.outputs[0]) == 0)
        return ASSAY_OK;
    st = integers_product(pass, op, NULL, &out);
    return st || out == GRAPH_NONE ? st : integers_replace(pass, &kept, out);
}

/* Nodes move in memory when one is added: each step gets a copy. */
static enum assay_status integers_visit(struct integers *pass, size_t i,
                                        bool is_last)
{
    const struct node node = *graph_node(pass->graph, i);
    enum assay_status st = ASSAY_OK;

    if (is_last)
        return node.op == &op_conv2d || node.op == &op_linear ||
                       node.op == &op_matmul
                   ? integers_real(pass, &node)
                   : integers_finish(pass, &node);
    if (node.op == &op_quantize_linear)
        st = integers_quantised(pass, &node);
    else if (node.op == &op_cast)
        st = integers_drop_cast(pass, &node);
    else if (node.op == &op_mul)
        st = integers_scaled(pass, &node);
    else if (node.op == &op_sum || node.op == &op_add)
        st = integers_bias(pass, &node);
    return st;
}

static void integers_release_unread(struct graph *graph)
{
    for (uint32_t i = 0; i < graph_value_count(graph); i++) {
        if (graph_value(graph, i)->data.buffer && !graph_use_count(graph, i))
            graph_release_data(graph, i);
    }
}

static bool integers_has_any(const struct graph *graph)
{
    for (size_t i = 0; i < graph_node_count(graph); i++) {
        const struct op_class *op = graph_node(graph, i)->op;

        if (op == &op_quantize_linear || op == &op_dequantize_linear ||
            op == &op_conv_integer || op == &op_matmul_integer)
            return true;
    }
    return false;
}

enum assay_status integers_fuse(struct graph *graph, struct pool *pool,
                                struct error *err)
{
    struct integers pass = {.graph = graph,
                            .pool = pool,
                            .err = err,
                            .n_nodes = graph_node_count(graph)};
    enum assay_status st = ASSAY_OK;

    if (!integers_has_any(graph))
        return ASSAY_OK;
    pass.moved = mem_array(pass.n_nodes, sizeof *pass.moved);
    if (!pass.moved)
        return error_nomem(err, pass.n_nodes * sizeof *pass.moved,
                           "the nodes of a model");
    for (size_t i = 0; i < pass.n_nodes; i++)
        pass.moved[i] = GRAPH_NONE;
    for (int last = 0; last < 2; last++) {
        for (size_t i = 0; !st && i < pass.n_nodes; i++)
            st = integers_visit(&pass, i, last);
        if (!st && !last) {
            st = graph_sort(graph, err);
            graph_sweep(graph);
            pass.n_nodes = graph_node_count(graph);
        }
    }
    mem_free(pass.moved);
    if (!st)
        st = graph_sort(graph, err);
    graph_sweep(graph);
    integers_release_unread(graph);
    return st;
}
