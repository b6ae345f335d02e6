/* ops/convolution/conv_channels.c - see conv_channels_internal.h. */
#include "ops/convolution/conv_channels_internal.h"

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
