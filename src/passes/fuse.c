/* passes/fuse.c - see fuse.h.
 *
 * Each rule replaces the node after a convolution by a changed copy of the
 * convolution: there, everything that it reads has been made, even a residual
 * that is made after the convolution. Nodes that nothing reads are removed at
 * the end. */
#include "passes/fuse.h"

#include "base/mem.h"
#include "base/str.h"
#include "ops/convolution/conv2d.h"
#include "ops/convolution/conv_transpose2d.h"
#include "ops/math/clip.h"
#include "ops/math/unary_math.h"
#include "ops/norm/batch_norm.h"
#include "ops/norm/normalize.h"
#include "ops/ops.h"
#include "ops/product/linear.h"
#include "passes/fuse_internal.h"

#include <math.h>

static bool scope_lies_in(const struct graph *graph, uint32_t scope,
                          uint32_t outer)
{
    while (scope != GRAPH_NONE && scope != outer)
        scope = graph_scope(graph, scope)->parent;
    return scope == outer;
}

enum assay_status fuse_note_scope(struct graph *graph, size_t at,
                                  uint32_t scope, struct error *err)
{
    const struct node *node = graph_node(graph, at);

    if (scope == GRAPH_NONE || scope_lies_in(graph, node->scope, scope))
        return ASSAY_OK;
    for (size_t i = 0; i < node->n_stands_for; i++) {
        if (node->stands_for[i] == scope)
            return ASSAY_OK;
    }
    return graph_stand_for(graph, at, scope, err);
}

uint32_t fuse_sole_maker(const struct graph *graph, uint32_t value,
                         const struct op_class *op)
{
    const struct value *made;

    if (value == GRAPH_NONE)
        return GRAPH_NONE;
    made = graph_value(graph, value);
    if (made->kind != VALUE_COMPUTED ||
        graph_node(graph, made->producer)->op != op ||
        graph_use_count(graph, value) != 1)
        return GRAPH_NONE;
    return made->producer;
}

enum assay_status fuse_into(struct graph *graph, size_t at, uint32_t maker,
                            struct error *err)
{
    struct node *node = graph_node_edit(graph, at);
    uint32_t *outputs = node->outputs, scope = node->scope;

    graph_inputs_drop(graph, at);
    *node = *graph_node(graph, maker);
    node->outputs = outputs;
    graph_node_edit(graph, maker)->n_inputs = 0; /* they moved */
    return fuse_note_scope(graph, at, scope, err);
}

/* Whether a node is a ReLU, or a Clip that begins at 0 such as a ReLU6; *limit:
 * its upper limit, 0: none. */
static bool find_limit(const struct node *node, float *limit)
{
    const struct clip_attrs *clip;

    *limit = 0;
    if (node->op == &op_relu)
        return true;
    if (node->op != &op_clip)
        return false;
    clip = clip_attrs(node);
    *limit = isinf(clip->high) ? 0 : clip->high;
    return clip->low == 0 && clip->high > 0;
}

static bool *relu_flag(const struct node *node)
{
    if (node->op == &op_conv2d)
        return &((struct conv2d_attrs *)node->attrs)->has_relu;
    if (node->op == &op_linear)
        return &((struct linear_attrs *)node->attrs)->has_relu;
    if (node->op == &op_batch_norm)
        return &((struct batch_norm_attrs *)node->attrs)->has_relu;
    return &((struct conv_transpose2d_attrs *)node->attrs)->has_relu;
}

static enum assay_status fuse_relu(struct graph *graph, size_t at,
                                   struct error *err)
{
    static const struct op_class *const makers[] = {
        &op_conv2d, &op_linear, &op_conv_transpose2d, &op_batch_norm};
    const struct node *node = graph_node(graph, at);
    size_t n = node->op == &op_clip ? 1 : sizeof makers / sizeof *makers;
    float limit;

    for (size_t i = 0; find_limit(node, &limit) && i < n; i++) {
        uint32_t maker = fuse_sole_maker(graph, node->inputs[0], makers[i]);

        if (maker == GRAPH_NONE || *relu_flag(graph_node(graph, maker)))
            continue;
        *relu_flag(graph_node(graph, maker)) = true;
        if (makers[i] == &op_conv2d)
            ((struct conv2d_attrs *)graph_node(graph, maker)->attrs)
                ->relu_limit = limit;
        return fuse_into(graph, at, maker, err);
    }
    return ASSAY_OK;
}

/* Lets its readers read its input. */
static enum assay_status drop_dropout(struct graph *graph, size_t at,
                                      struct error *err)
{
    const struct node *node = graph_node(graph, at);
    uint32_t x = node->inputs[0];
    const struct value *made = graph_value(graph, x);
    enum assay_status st = ASSAY_OK;

    if (made->kind != VALUE_COMPUTED)
        return ASSAY_OK;
    st = fuse_note_scope(graph, made->producer, node->scope, err);
    graph_replace_uses(graph, node->outputs[0], x);
    graph_inputs_drop(graph, at);
    return st;
}

bool fuse_conv_is_open(const struct graph *graph, uint32_t maker)
{
    const struct node *node;

    if (maker == GRAPH_NONE)
        return false;
    node = graph_node(graph, maker);
    return !conv2d_attrs(node)->has_relu && !conv2d_attrs(node)->activation &&
           node->inputs[CONV2D_RESIDUAL] == GRAPH_NONE;
}

static enum assay_status fuse_add(struct graph *graph, size_t at,
                                  struct error *err)
{
    const struct node *add = graph_node(graph, at);

    for (size_t i = 0; i < 2; i++) {
        uint32_t maker = fuse_sole_maker(graph, add->inputs[i], &op_conv2d);
        uint32_t other = add->inputs[1 - i];
        enum assay_status st;

        if (!fuse_conv_is_open(graph, maker))
            continue;
        st = fuse_into(graph, at, maker, err);
        graph_input_set(graph, at, CONV2D_RESIDUAL, other);
        return st;
    }
    return ASSAY_OK;
}

/* Whether it is a HardSigmoid with the numbers of a HardSwish. */
static bool is_gate_of_swish(const struct node *node)
{
    const struct unary_attrs *attrs = node->attrs;

    return fabs(attrs->alpha - 1.0 / 6) < 1e-6 && attrs->beta == 0.5;
}

/* Of a product of x and an op of x; else GRAPH_NONE. */
static uint32_t find_gate(const struct graph *graph, const struct node *mul,
                          const struct op_class *op)
{
    for (size_t i = 0; i < 2; i++) {
        uint32_t maker = fuse_sole_maker(graph, mul->inputs[i], op);

        if (maker != GRAPH_NONE &&
            graph_node(graph, maker)->inputs[0] == mul->inputs[1 - i])
            return maker;
    }
    return GRAPH_NONE;
}

/* x * sigmoid(x), x * hard_sigmoid(x) */
static enum assay_status fuse_gated(struct graph *graph, size_t at,
                                    struct error *err)
{
    const struct node *mul = graph_node(graph, at);
    const struct op_class *op = &op_silu;
    uint32_t maker = find_gate(graph, mul, &op_sigmoid);
    enum assay_status st;

    if (maker == GRAPH_NONE) {
        op = &op_hard_swish;
        maker = find_gate(graph, mul, &op_hard_sigmoid);
        if (maker == GRAPH_NONE || !is_gate_of_swish(graph_node(graph, maker)))
            return ASSAY_OK;
    }
    st = fuse_into(graph, at, maker, err);
    graph_node_edit(graph, at)->op = op;
    return st;
}

/* Into a convolution, with an activation or a residual that comes before. */
static enum assay_status fuse_activation(struct graph *graph, size_t at,
                                         enum conv2d_activation activation,
                                         struct error *err)
{
    const struct node *node = graph_node(graph, at);
    uint32_t maker = fuse_sole_maker(graph, node->inputs[0], &op_conv2d);
    const struct unary_attrs *numbers = node->attrs;
    struct conv2d_attrs *attrs;

    if (maker == GRAPH_NONE)
        return ASSAY_OK;
    attrs = graph_node(graph, maker)->attrs;
    if (attrs->has_relu || attrs->activation)
        return ASSAY_OK;
    attrs->activation = activation;
    if (activation == CONV2D_LEAKY_RELU)
        attrs->slope = (float)numbers->alpha;
    return fuse_into(graph, at, maker, err);
}

/* ---- batch norm ------------------------------------------------------- */

/* A convolution and the norm to fold into it. */
struct pair {
    const struct node *conv, *norm;
    const struct tensor *bias, *scale; /* may be NULL */
    const struct tensor *norms[BATCH_NORM_INPUTS];
};

const struct tensor *fuse_data(const struct graph *graph, uint32_t value)
{
    const struct tensor *data;

    if (value == GRAPH_NONE)
        return NULL;
    data = &graph_value(graph, value)->data;
    return data->buffer && data->dtype == DTYPE_F32 ? data : NULL;
}

static uint32_t scale_value(const struct node *conv)
{
    return conv->n_inputs > CONV2D_SCALE ? conv->inputs[CONV2D_SCALE]
                                         : GRAPH_NONE;
}

/* Gets a list of n numbers; false if the value is not one. */
static bool get_list(const struct graph *graph, uint32_t value, int64_t n,
                     const struct tensor **list)
{
    *list = fuse_data(graph, value);
    return *list && (*list)->shape.rank == 1 && (*list)->shape.dims[0] == n;
}

/* False if any of the data is computed or missing, or does not fit. */
static bool get_pair(const struct graph *graph, size_t at, uint32_t maker,
                     struct pair *pair)
{
    const struct node *conv = graph_node(graph, maker);
    const struct tensor *weight = fuse_data(graph, conv->inputs[CONV2D_WEIGHT]);
    uint32_t bias = conv->inputs[CONV2D_BIAS], scale = scale_value(conv);
    int64_t n;

    *pair = (struct pair){.conv = conv, .norm = graph_node(graph, at)};
    if (!weight || weight->shape.rank != 4)
        return false;
    n = weight->shape.dims[0];
    if ((bias != GRAPH_NONE && !get_list(graph, bias, n, &pair->bias)) ||
        (scale != GRAPH_NONE && !get_list(graph, scale, n, &pair->scale)))
        return false;
    for (size_t i = BATCH_NORM_WEIGHT; i < BATCH_NORM_INPUTS; i++) {
        if (!get_list(graph, pair->norm->inputs[i], n, &pair->norms[i]))
            return false;
    }
    return true;
}

static void fold_data(const struct pair *pair, const struct tensor *scale,
                      const struct tensor *bias)
{
    for (size_t c = 0; c < tensor_elements(bias); c++) {
        float factor, shift;

        batch_norm_affine(pair->norm, pair->norms, (int64_t)c, &factor, &shift);
        tensor_f32(scale)[c] =
            pair->scale ? tensor_f32(pair->scale)[c] * factor : factor;
        tensor_f32(bias)[c] =
            pair->bias ? tensor_f32(pair->bias)[c] * factor + shift : shift;
    }
}

enum assay_status fuse_constant(struct graph *graph, uint32_t named_after,
                                const char *what, struct tensor data,
                                uint32_t *value, struct error *err)
{
    struct str name = {0};
    enum assay_status st;

    if (str_printf(&name, "%s, folded %s",
                   graph_value(graph, named_after)->name, what)) {
        tensor_release(&data);
        return error_nomem(err, sizeof name, "the name of a constant");
    }
    st = graph_constant(graph, name.text, data, value, err);
    str_release(&name);
    return st;
}

static enum assay_status make_folded(struct graph *graph, struct pool *pool,
                                     const struct pair *pair, uint32_t *scale,
                                     uint32_t *bias, struct error *err)
{
    const struct shape *channels = &pair->norms[BATCH_NORM_WEIGHT]->shape;
    uint32_t weight = pair->conv->inputs[CONV2D_WEIGHT];
    struct tensor s, b = {0};
    enum assay_status st = tensor_new(pool, DTYPE_F32, channels, &s, err);

    if (!st)
        st = tensor_new(pool, DTYPE_F32, channels, &b, err);
    if (st) {
        tensor_release(&s);
        return st;
    }
    fold_data(pair, &s, &b);
    st = fuse_constant(graph, weight, "scale", s, scale, err);
    if (st) {
        tensor_release(&b);
        return st;
    }
    return fuse_constant(graph, weight, "bias", b, bias, err);
}

static enum assay_status fold_batch_norm(struct graph *graph, size_t at,
                                         struct pool *pool, struct error *err)
{
    uint32_t maker = fuse_sole_maker(
        graph, graph_node(graph, at)->inputs[BATCH_NORM_X], &op_conv2d);
    enum assay_status st = ASSAY_OK;
    uint32_t scale, bias;
    struct pair pair;

    if (batch_norm_attrs(graph_node(graph, at))->has_relu ||
        !fuse_conv_is_open(graph, maker) || !get_pair(graph, at, maker, &pair))
        return ASSAY_OK;
    if (graph_node(graph, maker)->n_inputs == CONV2D_SCALE)
        st = graph_input_append(graph, maker, GRAPH_NONE, err);
    if (!st)
        st = make_folded(graph, pool, &pair, &scale, &bias, err);
    if (st)
        return st;
    st = fuse_into(graph, at, maker, err);
    graph_input_set(graph, at, CONV2D_SCALE, scale);
    graph_input_set(graph, at, CONV2D_BIAS, bias);
    return st;
}

/* ---- the pass ---------------------------------------------------------- */

static enum assay_status fuse_mul(struct graph *graph, size_t at,
                                  struct pool *pool, struct error *err)
{
    enum assay_status st = fuse_gated(graph, at, err);

    if (st || graph_node(graph, at)->op != &op_mul)
        return st;
    return fold_channels(graph, at, pool, err);
}

/* What constants were computed from stays, for the pass that makes integer
 * nodes of them. */
static void keep_sources(const struct graph *graph, bool *is_kept)
{
    for (uint32_t i = 0; i < graph_value_count(graph); i++) {
        const struct value *value = graph_value(graph, i);

        if (!value->is_dequantised || !graph_use_count(graph, i))
            continue;
        is_kept[value->from.quantised] = true;
        is_kept[value->from.scale] = true;
        if (value->from.zero != GRAPH_NONE)
            is_kept[value->from.zero] = true;
    }
}

/* Without memory to tell, everything stays. */
static void release_unread(struct graph *graph)
{
    bool *is_kept = mem_array(graph_value_count(graph), sizeof *is_kept);

    if (!is_kept)
        return;
    keep_sources(graph, is_kept);
    for (uint32_t i = 0; i < graph_value_count(graph); i++) {
        if (graph_value(graph, i)->data.buffer && !is_kept[i] &&
            !graph_use_count(graph, i))
            graph_release_data(graph, i);
    }
    mem_free(is_kept);
}

enum assay_status fuse_graph(struct graph *graph, struct pool *pool,
                             struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < graph_node_count(graph); i++) {
        const struct op_class *op = graph_node(graph, i)->op;

        if (op == &op_mul || op == &op_div) {
            st = fuse_spelled_out(graph, i, err);
            op = graph_node(graph, i)->op;
        }
        if (st)
            break;
        if (op == &op_conv2d)
            st = fuse_focus(graph, i, pool, err);
        else if (op == &op_batch_norm)
            st = fold_batch_norm(graph, i, pool, err);
        else if (op == &op_add)
            st = fuse_add(graph, i, err);
        else if (op == &op_relu || op == &op_clip)
            st = fuse_relu(graph, i, err);
        else if (op == &op_mul)
            st = fuse_mul(graph, i, pool, err);
        else if (op == &op_sum)
            st = fold_channels(graph, i, pool, err);
        else if (op == &op_dropout)
            st = drop_dropout(graph, i, err);
        if (!st && conv2d_activation_of(graph_node(graph, i)->op))
            st = fuse_activation(
                graph, i, conv2d_activation_of(graph_node(graph, i)->op), err);
        for (size_t k = 0; !st && k < graph_node(graph, i)->n_bodies; k++)
            st = fuse_graph(graph_node(graph, i)->bodies[k], pool, err);
    }
    graph_sweep(graph);
    release_unread(graph);
    return st;
}

/* ---- training ----------------------------------------------------------- */

/* The norm that makes a value with one reader and has no activation yet; else
 * GRAPH_NONE. */
static uint32_t open_norm(const struct graph *graph, uint32_t value)
{
    uint32_t maker = fuse_sole_maker(graph, value, &op_batch_norm_training);
    const struct normalize_attrs *attrs;

    if (maker == GRAPH_NONE)
        return GRAPH_NONE;
    attrs = graph_node(graph, maker)->attrs;
    return attrs->has_relu ? GRAPH_NONE : maker;
}

/* Readers of a node read the norm instead, which stays where it is, with its
 * running statistics. */
static enum assay_status norm_stand_in(struct graph *graph, size_t at,
                                       uint32_t norm, struct error *err)
{
    const struct node *node = graph_node(graph, at);

    graph_replace_uses(graph, node->outputs[0],
                       graph_node(graph, norm)->outputs[0]);
    return fuse_note_scope(graph, norm, node->scope, err);
}

static enum assay_status fuse_norm_relu(struct graph *graph, size_t at,
                                        float limit, struct error *err)
{
    uint32_t norm = open_norm(graph, graph_node(graph, at)->inputs[0]);
    struct normalize_attrs *attrs;

    if (norm == GRAPH_NONE)
        return ASSAY_OK;
    attrs = graph_node(graph, norm)->attrs;
    attrs->has_relu = true;
    attrs->relu_limit = limit;
    return norm_stand_in(graph, at, norm, err);
}

static bool is_made_before(const struct graph *graph, uint32_t value,
                           uint32_t node)
{
    const struct value *made = graph_value(graph, value);

    return made->kind != VALUE_COMPUTED || made->producer < node;
}

/* If two norms are added, the later one takes the sum. */
static enum assay_status fuse_norm_add(struct graph *graph, size_t at,
                                       struct error *err)
{
    const struct node *add = graph_node(graph, at);

    for (size_t i = 0; i < 2; i++) {
        uint32_t norm = open_norm(graph, add->inputs[i]);
        uint32_t other = add->inputs[1 - i];
        enum assay_status st;

        if (norm == GRAPH_NONE || norm_has_residual(graph_node(graph, norm)) ||
            !is_made_before(graph, other, norm))
            continue;
        st = graph_input_append(graph, norm, other, err);
        if (st)
            return st;
        graph_inputs_drop(graph, at);
        return norm_stand_in(graph, at, norm, err);
    }
    return ASSAY_OK;
}

static enum assay_status fuse_norm(struct graph *graph, size_t at,
                                   struct error *err)
{
    const struct node *node = graph_node(graph, at);
    float limit;

    if (find_limit(node, &limit))
        return fuse_norm_relu(graph, at, limit, err);
    return node->op == &op_add ? fuse_norm_add(graph, at, err) : ASSAY_OK;
}

enum assay_status fuse_training(struct graph *graph, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < graph_node_count(graph); i++)
        st = fuse_norm(graph, i, err);
    graph_sweep(graph);
    return st;
}
