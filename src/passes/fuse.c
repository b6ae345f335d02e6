/* passes/fuse.c - see fuse.h.
 *
 * Each rule puts a changed copy of the convolution where the node behind it
 * was: by then all it reads has been made, also a residual that comes later
 * than the convolution itself. What is left without a reader is swept out at
 * the end. */
#include "passes/fuse.h"

#include "base/str.h"
#include "ops/convolution/conv2d.h"
#include "ops/convolution/conv_transpose2d.h"
#include "ops/math/clip.h"
#include "ops/norm/batch_norm.h"
#include "ops/norm/normalize.h"
#include "ops/ops.h"
#include "ops/product/linear.h"

#include <math.h>

static bool lies_in(const struct graph *graph, uint32_t scope, uint32_t outer)
{
    while (scope != GRAPH_NONE && scope != outer)
        scope = graph_scope(graph, scope)->parent;
    return scope == outer;
}

/* Nothing to note for what the node's own place in the tree shows already. */
static enum assay_status note_scope(struct graph *graph, size_t at,
                                    uint32_t scope, struct error *err)
{
    const struct node *node = graph_node(graph, at);

    if (scope == GRAPH_NONE || lies_in(graph, node->scope, scope))
        return ASSAY_OK;
    for (size_t i = 0; i < node->n_stands_for; i++) {
        if (node->stands_for[i] == scope)
            return ASSAY_OK;
    }
    return graph_stand_for(graph, at, scope, err);
}

/* The node of that op that makes the value for one reader only, or
 * GRAPH_NONE. */
static uint32_t sole_maker(const struct graph *graph, uint32_t value,
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

/* The node becomes a copy of an earlier one, with its own outputs. The earlier
 * one reads nothing from here on, so that counts of readers stay right. */
static enum assay_status become(struct graph *graph, size_t at, uint32_t maker,
                                struct error *err)
{
    struct node *node = graph_node_edit(graph, at);
    uint32_t *outputs = node->outputs, scope = node->scope;

    graph_inputs_drop(graph, at);
    *node = *graph_node(graph, maker);
    node->outputs = outputs;
    graph_node_edit(graph, maker)->n_inputs = 0; /* they moved */
    return note_scope(graph, at, scope, err);
}

/* Where the node's kind says that a ReLU follows; NULL where it cannot. */
static bool *relu_flag(const struct node *node)
{
    if (node->op == &op_conv2d)
        return &((struct conv2d_attrs *)node->attrs)->has_relu;
    if (node->op == &op_linear)
        return &((struct linear_attrs *)node->attrs)->has_relu;
    if (node->op == &op_conv_transpose2d)
        return &((struct conv_transpose2d_attrs *)node->attrs)->has_relu;
    return NULL;
}

static enum assay_status fuse_relu(struct graph *graph, size_t at,
                                   struct error *err)
{
    static const struct op_class *const makers[] = {&op_conv2d, &op_linear,
                                                    &op_conv_transpose2d};

    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
        uint32_t maker =
            sole_maker(graph, graph_node(graph, at)->inputs[0], makers[i]);

        if (maker == GRAPH_NONE || *relu_flag(graph_node(graph, maker)))
            continue;
        *relu_flag(graph_node(graph, maker)) = true;
        return become(graph, at, maker, err);
    }
    return ASSAY_OK;
}

/* A ReLU6 and the like: a clip that begins at 0. */
static enum assay_status fuse_clip(struct graph *graph, size_t at,
                                   struct error *err)
{
    const struct node *node = graph_node(graph, at);
    const struct clip_attrs *clip = clip_attrs(node);
    uint32_t maker = sole_maker(graph, node->inputs[0], &op_conv2d);
    struct conv2d_attrs *conv;

    if (clip->low != 0 || !(clip->high > 0) || maker == GRAPH_NONE)
        return ASSAY_OK;
    conv = graph_node(graph, maker)->attrs;
    if (conv->has_relu)
        return ASSAY_OK;
    conv->has_relu = true;
    conv->relu_limit = isinf(clip->high) ? 0 : clip->high;
    return become(graph, at, maker, err);
}

/* Its readers read what it would have let pass. */
static enum assay_status drop_dropout(struct graph *graph, size_t at,
                                      struct error *err)
{
    const struct node *node = graph_node(graph, at);
    uint32_t x = node->inputs[0];
    const struct value *made = graph_value(graph, x);
    enum assay_status st = ASSAY_OK;

    if (made->kind != VALUE_COMPUTED)
        return ASSAY_OK;
    st = note_scope(graph, made->producer, node->scope, err);
    graph_replace_uses(graph, node->outputs[0], x);
    graph_inputs_drop(graph, at);
    return st;
}

/* Whether more may come behind the convolution's own sum. */
static bool is_open(const struct graph *graph, uint32_t maker)
{
    const struct node *node;

    if (maker == GRAPH_NONE)
        return false;
    node = graph_node(graph, maker);
    return !conv2d_attrs(node)->has_relu &&
           node->inputs[CONV2D_RESIDUAL] == GRAPH_NONE;
}

static enum assay_status fuse_add(struct graph *graph, size_t at,
                                  struct error *err)
{
    const struct node *add = graph_node(graph, at);

    for (size_t i = 0; i < 2; i++) {
        uint32_t maker = sole_maker(graph, add->inputs[i], &op_conv2d);
        uint32_t other = add->inputs[1 - i];
        enum assay_status st;

        if (!is_open(graph, maker))
            continue;
        st = become(graph, at, maker, err);
        graph_input_set(graph, at, CONV2D_RESIDUAL, other);
        return st;
    }
    return ASSAY_OK;
}

/* x times its own sigmoid. */
static enum assay_status fuse_silu(struct graph *graph, size_t at,
                                   struct error *err)
{
    const struct node *mul = graph_node(graph, at);

    for (size_t i = 0; i < 2; i++) {
        uint32_t x = mul->inputs[1 - i];
        uint32_t maker = sole_maker(graph, mul->inputs[i], &op_sigmoid);
        enum assay_status st;

        if (maker == GRAPH_NONE || graph_node(graph, maker)->inputs[0] != x)
            continue;
        st = become(graph, at, maker, err);
        graph_node_edit(graph, at)->op = &op_silu;
        return st;
    }
    return ASSAY_OK;
}

/* ---- batch norm ------------------------------------------------------- */

/* What goes into a folded pair. */
struct pair {
    const struct node *conv, *norm;
    const struct tensor *bias, *scale; /* may be NULL */
    const struct tensor *norms[BATCH_NORM_INPUTS];
};

/* The value's data of float32; NULL where it is computed or of another type. */
static const struct tensor *data_of(const struct graph *graph, uint32_t value)
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

/* A list of n for the channels of a pair. */
static bool get_list(const struct graph *graph, uint32_t value, int64_t n,
                     const struct tensor **list)
{
    *list = data_of(graph, value);
    return *list && (*list)->shape.rank == 1 && (*list)->shape.dims[0] == n;
}

/* False where some of the data is computed or not there, or does not fit. */
static bool get_pair(const struct graph *graph, size_t at, uint32_t maker,
                     struct pair *pair)
{
    const struct node *conv = graph_node(graph, maker);
    const struct tensor *weight = data_of(graph, conv->inputs[CONV2D_WEIGHT]);
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

/* A constant named after the convolution's parameter. Takes the data over. */
static enum assay_status add_folded(struct graph *graph,
                                    const struct pair *pair, const char *what,
                                    struct tensor data, uint32_t *value,
                                    struct error *err)
{
    uint32_t weight = pair->conv->inputs[CONV2D_WEIGHT];
    struct str name = {0};
    enum assay_status st;

    if (str_printf(&name, "%s, folded %s", graph_value(graph, weight)->name,
                   what)) {
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
    struct tensor s, b = {0};
    enum assay_status st = tensor_new(pool, DTYPE_F32, channels, &s, err);

    if (!st)
        st = tensor_new(pool, DTYPE_F32, channels, &b, err);
    if (st) {
        tensor_release(&s);
        return st;
    }
    fold_data(pair, &s, &b);
    st = add_folded(graph, pair, "scale", s, scale, err);
    if (st) {
        tensor_release(&b);
        return st;
    }
    return add_folded(graph, pair, "bias", b, bias, err);
}

static enum assay_status fold_batch_norm(struct graph *graph, size_t at,
                                         struct pool *pool, struct error *err)
{
    uint32_t maker = sole_maker(
        graph, graph_node(graph, at)->inputs[BATCH_NORM_X], &op_conv2d);
    enum assay_status st = ASSAY_OK;
    uint32_t scale, bias;
    struct pair pair;

    if (!is_open(graph, maker) || !get_pair(graph, at, maker, &pair))
        return ASSAY_OK;
    if (graph_node(graph, maker)->n_inputs == CONV2D_SCALE)
        st = graph_input_append(graph, maker, GRAPH_NONE, err);
    if (!st)
        st = make_folded(graph, pool, &pair, &scale, &bias, err);
    if (st)
        return st;
    st = become(graph, at, maker, err);
    graph_input_set(graph, at, CONV2D_SCALE, scale);
    graph_input_set(graph, at, CONV2D_BIAS, bias);
    return st;
}

/* ---- the pass ---------------------------------------------------------- */

static void release_unread(struct graph *graph)
{
    for (uint32_t i = 0; i < graph_value_count(graph); i++) {
        if (graph_value(graph, i)->data.buffer && !graph_use_count(graph, i))
            graph_release_data(graph, i);
    }
}

enum assay_status fuse_graph(struct graph *graph, struct pool *pool,
                             struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < graph_node_count(graph); i++) {
        const struct op_class *op = graph_node(graph, i)->op;

        if (op == &op_batch_norm)
            st = fold_batch_norm(graph, i, pool, err);
        else if (op == &op_add)
            st = fuse_add(graph, i, err);
        else if (op == &op_relu)
            st = fuse_relu(graph, i, err);
        else if (op == &op_clip)
            st = fuse_clip(graph, i, err);
        else if (op == &op_mul)
            st = fuse_silu(graph, i, err);
        else if (op == &op_dropout)
            st = drop_dropout(graph, i, err);
        for (size_t k = 0; !st && k < graph_node(graph, i)->n_bodies; k++)
            st = fuse_graph(graph_node(graph, i)->bodies[k], pool, err);
    }
    graph_sweep(graph);
    release_unread(graph);
    return st;
}

/* ---- training --------------------------------------------------------------
 */

/* Where a node cuts off above, if it is a ReLU in the widest sense. */
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

/* The norm that makes the value for one reader only and has no activation
 * yet, or GRAPH_NONE. */
static uint32_t open_norm(const struct graph *graph, uint32_t value)
{
    uint32_t maker = sole_maker(graph, value, &op_batch_norm_training);
    const struct normalize_attrs *attrs;

    if (maker == GRAPH_NONE)
        return GRAPH_NONE;
    attrs = graph_node(graph, maker)->attrs;
    return attrs->has_relu ? GRAPH_NONE : maker;
}

/* The norm stays where it is, with its running statistics; who read the node
 * behind it reads the norm. */
static enum assay_status stand_in(struct graph *graph, size_t at, uint32_t norm,
                                  struct error *err)
{
    const struct node *node = graph_node(graph, at);

    graph_replace_uses(graph, node->outputs[0],
                       graph_node(graph, norm)->outputs[0]);
    return note_scope(graph, norm, node->scope, err);
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
    return stand_in(graph, at, norm, err);
}

static bool is_made_before(const struct graph *graph, uint32_t value,
                           uint32_t node)
{
    const struct value *made = graph_value(graph, value);

    return made->kind != VALUE_COMPUTED || made->producer < node;
}

/* Of two norms that are added up, the later one takes the sum. */
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
        return stand_in(graph, at, norm, err);
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
