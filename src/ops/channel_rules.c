/* ops/channel_rules.c - see channels.h: rules that several ops share. */
#include "ops/channels.h"

void channel_pass(struct channels *channels, const struct node *node)
{
    channels_pass(channels, node->inputs[0], node->outputs[0]);
}

/* Which dimension of an input is dimension d of the output; -1: it is
 * broadcast. */
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

void channel_broadcast(struct channels *channels, const struct node *node)
{
    const struct shape *y = channels_all_shapes(channels, node);

    for (int d = 0; y && d < y->rank; d++)
        join_axis(channels, node, y, d);
}

void channel_window(struct channels *channels, const struct node *node)
{
    for (int i = 0; i < SHAPE_MAX_RANK; i++) {
        struct labels x = channels_of(channels, node->inputs[0], i);

        if (i > CHANNEL_AXIS)
            channels_fix(channels, x);
        for (size_t k = 0; i <= CHANNEL_AXIS && k < node->n_outputs; k++)
            channels_set(channels, node->outputs[k], i, x);
    }
}

void channel_norm(struct channels *channels, const struct node *node)
{
    struct labels x = channels_of(channels, node->inputs[0], CHANNEL_AXIS);

    channels_pass(channels, node->inputs[0], node->outputs[0]);
    for (size_t i = 1; i < node->n_inputs; i++)
        channels_match(channels, node->inputs[i], 0, x);
    for (size_t i = 1; i < node->n_outputs; i++)
        channels_set(channels, node->outputs[i], 0, x);
}

void channel_product(struct channels *channels, const struct node *node,
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

void channel_same_size(struct channels *channels, const struct node *node)
{
    const struct shape *in, *out;

    if (!channels_shapes(channels, node, &in, &out))
        return;
    for (int d = 0; d < in->rank; d++) {
        struct labels x = channels_of(channels, node->inputs[0], d);

        if (in->dims[d] == out->dims[d])
            channels_set(channels, node->outputs[0], d, x);
        else
            channels_fix(channels, x);
    }
}

void channel_none(struct channels *channels, const struct node *node)
{
    (void)channels, (void)node;
}
