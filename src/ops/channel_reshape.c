/* ops/channel_reshape.c - see channels.h: where channels go when a tensor is
 * reshaped. */
#include "ops/channels.h"
#include "ops/int_list_internal.h"

/* Dimensions [first, end) of a shape. */
struct side {
    const struct shape *shape;
    int first, end;
};

static int64_t side_elements(const struct side *side)
{
    return shape_span(side->shape, side->first, side->end);
}

/* How many elements lie between two neighbours along a dimension. */
static int64_t side_step(const struct side *side, int axis)
{
    return shape_span(side->shape, axis + 1, side->end);
}

/* Goes on to the shortest pieces that have as many elements on both sides. */
static void reshape_next_pieces(struct side *x, struct side *y)
{
    int64_t nx, ny;

    x->first = x->end;
    y->first = y->end;
    x->end += x->end < x->shape->rank;
    y->end += y->end < y->shape->rank;
    for (;;) {
        nx = side_elements(x);
        ny = side_elements(y);
        if (nx < ny && x->end < x->shape->rank)
            x->end++;
        else if (ny < nx && y->end < y->shape->rank)
            y->end++;
        else
            return;
    }
}

/* The only dimension of a piece that has atoms. -1: there is none, or there
 * are several, which are fixed then. */
static int reshape_labelled_axis(struct channels *channels, uint32_t value,
                                 const struct side *side)
{
    int found = -1, n = 0;

    for (int i = side->first; i < side->end; i++) {
        if (channels_of(channels, value, i).n > 1) {
            found = i;
            n++;
        }
    }
    for (int i = side->first; n > 1 && i < side->end; i++)
        channels_fix(channels, channels_of(channels, value, i));
    return n == 1 ? found : -1;
}

/* A piece's atoms, viewed along a dimension of the other side. */
struct view {
    struct labels labels;
    int64_t n, step;      /* elements; between neighbouring atoms */
    int64_t size, stride; /* of the dimension on the other side */
};

static uint32_t view_atom(const struct view *view, int64_t element)
{
    return view->labels.atoms[(size_t)(element / view->step) % view->labels.n];
}

/* Whether all elements at each index of the dimension have the same atom. */
static bool view_is_pure(const struct channels *channels,
                         const struct view *view, const uint32_t *firsts)
{
    for (int64_t i = 0; i < view->n; i++) {
        int64_t place = i / view->stride % view->size;

        if (channels_root(channels, view_atom(view, i)) !=
            channels_root(channels, firsts[place]))
            return false;
    }
    return true;
}

static void view_join(struct channels *channels, const struct view *view,
                      const uint32_t *firsts)
{
    for (int64_t i = 0; i < view->n; i++)
        channels_join(channels, view_atom(view, i),
                      firsts[i / view->stride % view->size]);
}

/* Atoms along the dimension: each index takes that of its first element. */
static uint32_t *view_firsts(struct channels *channels, const struct view *view)
{
    uint32_t *firsts = channels_room(channels, (size_t)view->size);

    for (int64_t i = 0; firsts && i < view->size; i++)
        firsts[i] = view_atom(view, i * view->stride);
    return firsts;
}

/* Gives the atoms to a dimension that does not mix them or, if there is none,
 * to the largest one, joining those that it mixes. */
static void reshape_carry(struct channels *channels, const struct node *node,
                          struct view *view, const struct side *y)
{
    int64_t best = 1;
    int chosen = -1;
    uint32_t *firsts;

    for (int i = y->first; i < y->end; i++) {
        view->size = y->shape->dims[i];
        view->stride = side_step(y, i);
        firsts = view->size > 1 ? view_firsts(channels, view) : NULL;
        if (firsts && view_is_pure(channels, view, firsts)) {
            channels_set(channels, node->outputs[0], i,
                         (struct labels){(size_t)view->size, firsts});
            return;
        }
        if (view->size > best) {
            best = view->size;
            chosen = i;
        }
    }
    view->size = best;
    view->stride = chosen < 0 ? 1 : side_step(y, chosen);
    firsts = chosen < 0 ? NULL : view_firsts(channels, view);
    if (!firsts) {
        channels_fix(channels, view->labels);
        return;
    }
    view_join(channels, view, firsts);
    channels_set(channels, node->outputs[0], chosen,
                 (struct labels){(size_t)view->size, firsts});
}

void channel_reshape(struct channels *channels, const struct node *node)
{
    const struct shape *in, *out;
    struct side x = {0}, y = {0};
    size_t n;

    if (!channels_shapes(channels, node, &in, &out))
        return;
    if (!shape_elements(in, &n) || n == 0) {
        channels_fix_inputs(channels, node);
        return;
    }
    x.shape = in;
    y.shape = out;
    while (x.end < in->rank || y.end < out->rank) {
        struct view view = {0};
        int axis;

        reshape_next_pieces(&x, &y);
        axis = reshape_labelled_axis(channels, node->inputs[0], &x);
        if (axis < 0)
            continue;
        view.labels = channels_of(channels, node->inputs[0], axis);
        view.n = side_elements(&x);
        view.step = side_step(&x, axis);
        reshape_carry(channels, node, &view, &y);
    }
}
