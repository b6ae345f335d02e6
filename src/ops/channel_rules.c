/* ops/channel_rules.c - see channels.h: layers with weights, and what is done
 * to each channel alone. */
#include "ops/channels.h"
#include "ops/convolution/conv2d.h"
#include "ops/convolution/conv_nd.h"
#include "ops/convolution/conv_transpose2d.h"
#include "ops/detection/roi_align.h"
#include "ops/norm/normalize.h"
#include "ops/ops.h"
#include "ops/product/linear.h"
#include "ops/product/matmul.h"
#include "ops/product/quantize.h"

enum { CHANNEL_AXIS = 1 };

/* ---- convolutions ------------------------------------------------------- */

enum { CONV_X, CONV_WEIGHT, CONV_BIAS };

/* A convolution whose channels fall into groups of equal size. */
struct grouped {
    int64_t groups;
    size_t in, out; /* channels of a group */
};

/* Whether groups go as a whole; otherwise the same places of all groups do.
 * Whichever leaves more to choose from. */
static bool drops_groups(const struct grouped *conv)
{
    return (size_t)conv->groups >= conv->in ||
           (size_t)conv->groups >= conv->out;
}

/* Places that many apart go together. */
static void join_every(struct channels *channels, struct labels labels,
                       size_t step)
{
    for (size_t i = step; i < labels.n; i++)
        channels_join(channels, labels.atoms[i - step], labels.atoms[i]);
}

/* The places of each run of n go together. */
static void join_runs(struct channels *channels, struct labels labels, size_t n)
{
    for (size_t i = 0; i < labels.n; i++)
        channels_join(channels, labels.atoms[i], labels.atoms[i - i % n]);
}

static void join_groups(struct channels *channels, const struct grouped *conv,
                        struct labels x, struct labels y)
{
    size_t n = (size_t)conv->groups;

    if (x.n != n * conv->in || y.n != n * conv->out) {
        channels_fix(channels, x);
        channels_fix(channels, y);
        return;
    }
    join_runs(channels, x, conv->in);
    join_runs(channels, y, conv->out);
    for (size_t g = 0; g < n; g++)
        channels_join(channels, x.atoms[g * conv->in], y.atoms[g * conv->out]);
}

/* One with groups: weight [o, c / groups, ...]. */
static void group_conv(struct channels *channels, const struct node *node,
                       const struct grouped *conv, struct labels y)
{
    struct labels x = channels_of(channels, node->inputs[CONV_X], CHANNEL_AXIS);
    struct labels first = {.n = conv->in, .atoms = x.atoms};

    if (drops_groups(conv)) {
        join_groups(channels, conv, x, y);
        channels_match(channels, node->inputs[CONV_WEIGHT], 1,
                       (struct labels){0});
        return;
    }
    join_every(channels, x, conv->in);
    join_every(channels, y, conv->out);
    channels_match(channels, node->inputs[CONV_WEIGHT], 1,
                   x.n ? first : (struct labels){0});
}

static void conv_rule(struct channels *channels, const struct node *node,
                      int64_t groups)
{
    uint32_t weight = node->inputs[CONV_WEIGHT];
    const struct shape *w = channels_shape(channels, weight);
    struct grouped conv = {.groups = groups};
    struct labels y;

    if (!channels_is_weight(channels, weight) || w->rank < 2 || groups < 1 ||
        w->dims[0] % groups) {
        channels_fix_inputs(channels, node);
        return;
    }
    conv.in = (size_t)w->dims[1];
    conv.out = (size_t)(w->dims[0] / groups);
    y = channels_filters(channels, weight, 0);
    if (groups > 1)
        group_conv(channels, node, &conv, y);
    else
        channels_match(
            channels, weight, 1,
            channels_of(channels, node->inputs[CONV_X], CHANNEL_AXIS));
    for (size_t i = CONV_BIAS; i < node->n_inputs; i++)
        channels_match(
            channels, node->inputs[i],
            node->op == &op_conv2d && i == CONV2D_RESIDUAL ? CHANNEL_AXIS : 0,
            y);
    channels_set(channels, node->outputs[0], CHANNEL_AXIS, y);
}

static void conv2d_rule(struct channels *channels, const struct node *node)
{
    conv_rule(channels, node, conv2d_attrs(node)->groups);
}

static void conv_nd_rule(struct channels *channels, const struct node *node)
{
    const struct conv_nd_attrs *attrs = node->attrs;

    conv_rule(channels, node, attrs->groups);
}

/* Weight [c, o / groups, ...]: its filters are columns. */
static void transposed_rule(struct channels *channels, const struct node *node)
{
    const struct conv_transpose_nd_attrs *attrs = node->attrs;
    uint32_t weight = node->inputs[CONV_WEIGHT];
    const struct shape *w = channels_shape(channels, weight);
    struct labels y;

    if (!channels_is_weight(channels, weight) || w->rank < 2 ||
        (node->op == &op_conv_transpose_nd && attrs->groups != 1)) {
        channels_fix_inputs(channels, node);
        return;
    }
    y = channels_filters(channels, weight, 1);
    channels_match(channels, weight, 0,
                   channels_of(channels, node->inputs[CONV_X], CHANNEL_AXIS));
    if (node->n_inputs > CONV_BIAS)
        channels_match(channels, node->inputs[CONV_BIAS], 0, y);
    channels_set(channels, node->outputs[0], CHANNEL_AXIS, y);
}

/* ---- products ----------------------------------------------------------- */

/* A matrix of parameters: which of its dimensions is summed over. */
static void product(struct channels *channels, const struct node *node,
                    int summed, int y_axis)
{
    struct labels y = {0};

    if (channels->has_linear)
        y = channels_filters(channels, node->inputs[1], 1 - summed);
    else
        channels_match(channels, node->inputs[1], 1 - summed, y);
    channels_match(channels, node->inputs[1], summed,
                   channels_of(channels, node->inputs[0], y_axis));
    for (int i = 0; i < y_axis; i++)
        channels_set(channels, node->outputs[0], i,
                     channels_of(channels, node->inputs[0], i));
    channels_set(channels, node->outputs[0], y_axis, y);
}

static void linear_rule(struct channels *channels, const struct node *node)
{
    if (!channels_is_weight(channels, node->inputs[LINEAR_WEIGHT])) {
        channels_fix_inputs(channels, node);
        return;
    }
    product(channels, node, 1, 1);
    channels_match(channels, node->inputs[LINEAR_BIAS], 0,
                   channels_of(channels, node->outputs[0], 1));
}

/* What is added to rows of y, along its last dimension. */
static void match_rows(struct channels *channels, uint32_t value,
                       struct labels y)
{
    const struct shape *shape = channels_shape(channels, value);

    if (!shape || !shape->rank) {
        channels_fix(channels, shape ? (struct labels){0} : y);
        return;
    }
    if (shape->dims[shape->rank - 1] != 1)
        channels_match(channels, value, shape->rank - 1, y);
}

static void gemm_rule(struct channels *channels, const struct node *node)
{
    const struct gemm_attrs *attrs = node->attrs;

    if (!channels_is_weight(channels, node->inputs[1]) || attrs->transposes_a) {
        channels_fix_inputs(channels, node);
        return;
    }
    product(channels, node, attrs->transposes_b ? 1 : 0, 1);
    if (node->n_inputs > 2 && node->inputs[2] != GRAPH_NONE)
        match_rows(channels, node->inputs[2],
                   channels_of(channels, node->outputs[0], 1));
}

static void matmul_rule(struct channels *channels, const struct node *node)
{
    const struct shape *x = channels_shape(channels, node->inputs[0]);
    const struct shape *w = channels_shape(channels, node->inputs[1]);

    if (!channels_is_weight(channels, node->inputs[1]) || w->rank != 2 || !x ||
        x->rank < 2)
        channels_fix_inputs(channels, node);
    else
        product(channels, node, 0, x->rank - 1);
}

/* ---- norms -------------------------------------------------------------- */

/* All inputs but the first are a number a channel; so are outputs but the
 * first. */
static void norm_rule(struct channels *channels, const struct node *node)
{
    struct labels x = channels_of(channels, node->inputs[0], CHANNEL_AXIS);

    channels_pass(channels, node->inputs[0], node->outputs[0]);
    for (size_t i = 1; i < node->n_inputs; i++)
        channels_match(channels, node->inputs[i], 0, x);
    for (size_t i = 1; i < node->n_outputs; i++)
        channels_set(channels, node->outputs[i], 0, x);
}

/* Scale and bias have the dimensions from the axis on. */
static void layer_norm_rule(struct channels *channels, const struct node *node)
{
    const struct normalize_attrs *attrs = node->attrs;
    const struct shape *x = channels_shape(channels, node->inputs[0]);
    int axis;

    if (!x || node->n_outputs > 1) {
        channels_fix_inputs(channels, node);
        return;
    }
    axis = (int)(attrs->axis < 0 ? attrs->axis + x->rank : attrs->axis);
    for (size_t i = 1; i < node->n_inputs; i++) {
        for (int d = axis; d < x->rank; d++)
            channels_match(channels, node->inputs[i], d - axis,
                           channels_of(channels, node->inputs[0], d));
    }
    channels_pass(channels, node->inputs[0], node->outputs[0]);
}

/* ---- element by element ---------------------------------------------------
 */

static void pass_rule(struct channels *channels, const struct node *node)
{
    channels_pass(channels, node->inputs[0], node->outputs[0]);
}

/* Weights that are kept as small numbers: atoms of their own, which the layer
 * behind joins with its channels. */
static void give_atoms(struct channels *channels, uint32_t weight)
{
    const struct shape *shape = channels_shape(channels, weight);

    for (int i = 0; i < shape->rank && i < 2; i++) {
        if (!channels_of(channels, weight, i).n)
            channels_set(channels, weight, i,
                         channels_new(channels, (size_t)shape->dims[i]));
    }
}

/* Scales and zero points are one for all, or one for each place along an
 * axis. */
static void quantize_rule(struct channels *channels, const struct node *node)
{
    const struct quantize_attrs *attrs = node->attrs;
    const struct shape *x = channels_shape(channels, node->inputs[0]);
    int axis;

    if (!x) {
        channels_fix_inputs(channels, node);
        return;
    }
    if (channels_is_leaf(channels, node->inputs[0]))
        give_atoms(channels, node->inputs[0]);
    axis = (int)(attrs->axis < 0 ? attrs->axis + x->rank : attrs->axis);
    for (size_t i = 1; i < node->n_inputs; i++) {
        const struct shape *scale = channels_shape(channels, node->inputs[i]);

        if (scale && scale->rank == 1 && scale->dims[0] != 1)
            channels_match(channels, node->inputs[i], 0,
                           channels_of(channels, node->inputs[0], axis));
    }
    channels_pass(channels, node->inputs[0], node->outputs[0]);
}

/* Where dimension d of the output lies in an input; -1: it is repeated. */
static int own_axis(const struct shape *x, const struct shape *y, int d)
{
    int axis = d - (y->rank - x->rank);

    return axis >= 0 && x->dims[axis] == y->dims[d] ? axis : -1;
}

static void join_axis(struct channels *channels, const struct node *node,
                      const struct shape *y, int d)
{
    struct labels joined = {0};

    for (size_t i = 0; i < node->n_inputs && !joined.n; i++) {
        const struct shape *x = channels_shape(channels, node->inputs[i]);

        joined = channels_of(channels, node->inputs[i], own_axis(x, y, d));
    }
    for (size_t i = 0; i < node->n_inputs; i++) {
        const struct shape *x = channels_shape(channels, node->inputs[i]);
        int axis = own_axis(x, y, d);

        if (axis >= 0)
            channels_match(channels, node->inputs[i], axis, joined);
    }
    channels_set(channels, node->outputs[0], d, joined);
}

/* Additions, squeeze-excite products: inputs that are repeated to one shape. */
static void broadcast_rule(struct channels *channels, const struct node *node)
{
    const struct shape *y = channels_shape(channels, node->outputs[0]);
    bool is_known = y && node->n_outputs == 1;

    for (size_t i = 0; i < node->n_inputs; i++)
        is_known &= channels_shape(channels, node->inputs[i]) != NULL;
    if (!is_known) {
        channels_fix_inputs(channels, node);
        return;
    }
    for (int d = 0; d < y->rank; d++)
        join_axis(channels, node, y, d);
}

/* ---- windows ------------------------------------------------------------ */

/* Whatever moves over a map, one channel at a time. */
static void window_rule(struct channels *channels, const struct node *node)
{
    for (int i = 0; i < SHAPE_MAX_RANK; i++) {
        struct labels x = channels_of(channels, node->inputs[0], i);

        if (i > CHANNEL_AXIS)
            channels_fix(channels, x);
        for (size_t k = 0; i <= CHANNEL_AXIS && k < node->n_outputs; k++)
            channels_set(channels, node->outputs[k], i, x);
    }
}

/* Features of boxes from several maps, which have the same channels. */
static void roi_align_rule(struct channels *channels, const struct node *node)
{
    struct labels first =
        channels_of(channels, node->inputs[ROI_ALIGN_MAPS], CHANNEL_AXIS);

    for (size_t i = ROI_ALIGN_MAPS + 1; i < node->n_inputs; i++)
        channels_match(channels, node->inputs[i], CHANNEL_AXIS, first);
    channels_set(channels, node->outputs[0], CHANNEL_AXIS, first);
}

/* ---- the table ---------------------------------------------------------- */

/* clang-format off */
static const struct {
    const struct op_class *op;
    channel_rule *rule;
} rules[] = {
    {&op_conv2d, conv2d_rule},
    {&op_conv_nd, conv_nd_rule},
    {&op_conv_transpose2d, transposed_rule},
    {&op_conv_transpose_nd, transposed_rule},
    {&op_linear, linear_rule},
    {&op_gemm, gemm_rule},
    {&op_matmul, matmul_rule},

    {&op_batch_norm, norm_rule},
    {&op_batch_norm_training, norm_rule},
    {&op_instance_norm, norm_rule},
    {&op_layer_norm, layer_norm_rule},
    {&op_local_response_norm, window_rule},

    {&op_max_pool2d, window_rule},
    {&op_max_pool_nd, window_rule},
    {&op_avg_pool2d, window_rule},
    {&op_avg_pool_nd, window_rule},
    {&op_lp_pool_nd, window_rule},
    {&op_adaptive_avg_pool2d, window_rule},
    {&op_resize_nearest, window_rule},
    {&op_roi_align, roi_align_rule},

    {&op_add, broadcast_rule},
    {&op_sub, broadcast_rule},
    {&op_mul, broadcast_rule},
    {&op_div, broadcast_rule},
    {&op_pow, broadcast_rule},
    {&op_max, broadcast_rule},
    {&op_min, broadcast_rule},
    {&op_mean, broadcast_rule},
    {&op_sum, broadcast_rule},
    {&op_prelu, broadcast_rule},

    {&op_quantize_linear, quantize_rule},
    {&op_dequantize_linear, quantize_rule},

    {&op_abs, pass_rule},
    {&op_cast, pass_rule},
    {&op_celu, pass_rule},
    {&op_clip, pass_rule},
    {&op_dropout, pass_rule},
    {&op_dropout_training, pass_rule},
    {&op_elu, pass_rule},
    {&op_erf, pass_rule},
    {&op_exp, pass_rule},
    {&op_gelu, pass_rule},
    {&op_hard_sigmoid, pass_rule},
    {&op_hard_swish, pass_rule},
    {&op_identity, pass_rule},
    {&op_leaky_relu, pass_rule},
    {&op_mish, pass_rule},
    {&op_neg, pass_rule},
    {&op_relu, pass_rule},
    {&op_selu, pass_rule},
    {&op_sigmoid, pass_rule},
    {&op_silu, pass_rule},
    {&op_softplus, pass_rule},
    {&op_softsign, pass_rule},
    {&op_sqrt, pass_rule},
    {&op_tanh, pass_rule},
    {&op_thresholded_relu, pass_rule},
};
/* clang-format on */

channel_rule *channel_rule_of(const struct op_class *op)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (rules[i].op == op)
            return rules[i].rule;
    }
    return NULL;
}
