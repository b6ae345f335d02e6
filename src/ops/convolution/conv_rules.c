/* ops/convolution/conv_rules.c - see conv_internal.h: checks, costs and the
 * rules for channels. */
#include "ops/convolution/conv_internal.h"
#include "ops/int_list_internal.h"
#include "ops/shape_rules.h"

enum assay_status conv_check(const struct shape *x, const struct shape *weight,
                             int64_t groups, bool is_transposed,
                             struct error *err)
{
    const int64_t *w = weight->dims;
    char x_text[64], w_text[64];

    if (weight->rank == x->rank && x->rank >= 2 && groups > 0 &&
        x->dims[1] % groups == 0 &&
        (is_transposed ? w[0] == x->dims[1]
                       : w[0] % groups == 0 && w[1] == x->dims[1] / groups))
        return ASSAY_OK;
    if (groups == 1)
        return rule_misfit("x", x, "weight", weight, err);
    return error_set(
        err, ASSAY_BAD_INPUT, "x %s and weight %s in %lld groups do not fit",
        shape_text(x, x_text, sizeof x_text),
        shape_text(weight, w_text, sizeof w_text), (long long)groups);
}

/* One kernel for each of so many elements. */
static void conv_count(const struct shape *weight, size_t elements,
                       struct cost *cost)
{
    cost->macs += elements * (uint64_t)shape_span(weight, 1, weight->rank);
}

void conv_cost(const struct node *node, const struct tensor *const *inputs,
               const struct tensor *outputs, struct cost *cost)
{
    (void)node;
    conv_count(&inputs[CONV_WEIGHT]->shape, tensor_elements(&outputs[0]), cost);
}

void conv_transpose_cost(const struct node *node,
                         const struct tensor *const *inputs,
                         const struct tensor *outputs, struct cost *cost)
{
    (void)node, (void)outputs;
    conv_count(&inputs[CONV_WEIGHT]->shape, tensor_elements(inputs[CONV_X]),
               cost);
}

/* ---- channels ------------------------------------------------------------ */

/* A convolution in groups of equal size. */
struct grouped {
    int64_t groups;
    size_t in, out; /* channels of a group */
};

/* Whether whole groups are removed, or else the same channel of every group:
 * whichever leaves more choices. */
static bool drops_groups(const struct grouped *conv)
{
    return (size_t)conv->groups >= conv->in ||
           (size_t)conv->groups >= conv->out;
}

/* Joins atoms that are `step` apart. */
static void join_every(struct channels *channels, struct labels labels,
                       size_t step)
{
    for (size_t i = step; i < labels.n; i++)
        channels_join(channels, labels.atoms[i - step], labels.atoms[i]);
}

/* Joins the atoms of each run of n. */
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

void conv_channels(struct channels *channels, const struct node *node,
                   int64_t groups, size_t residual)
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
        channels_match(channels, node->inputs[i],
                       i == residual ? CHANNEL_AXIS : 0, y);
    channels_set(channels, node->outputs[0], CHANNEL_AXIS, y);
}

void conv_transpose_channels(struct channels *channels, const struct node *node,
                             int64_t groups)
{
    uint32_t weight = node->inputs[CONV_WEIGHT];
    const struct shape *w = channels_shape(channels, weight);
    struct labels y;

    if (!channels_is_weight(channels, weight) || w->rank < 2 || groups != 1) {
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
