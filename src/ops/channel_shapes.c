/* ops/channel_shapes.c - see channels.h: ops that move, cut and join tensors.
 */
#include "ops/channels.h"
#include "ops/math/reduce.h"
#include "ops/math/softmax.h"
#include "ops/movement/concat.h"
#include "ops/movement/rearrange.h"
#include "ops/movement/slice.h"
#include "ops/movement/transpose.h"
#include "ops/ops.h"

static int from_front(int64_t axis, int rank)
{
    return (int)(axis < 0 ? axis + rank : axis);
}

/* The first input and the first output, where both shapes are known. */
static bool get_shapes(struct channels *channels, const struct node *node,
                       const struct shape **x, const struct shape **y)
{
    *x = channels_shape(channels, node->inputs[0]);
    *y = channels_shape(channels, node->outputs[0]);
    if (*x && *y)
        return true;
    channels_fix_inputs(channels, node);
    return false;
}

/* ---- the same elements under another shape ------------------------------ */

/* Dimensions of one shape that hold the same elements as some of another. */
struct side {
    const struct shape *shape;
    int first, end;
};

static int64_t side_elements(const struct side *side)
{
    int64_t n = 1;

    for (int i = side->first; i < side->end; i++)
        n *= side->shape->dims[i];
    return n;
}

/* How many elements lie between two neighbours along a dimension. */
static int64_t side_step(const struct side *side, int axis)
{
    struct side behind = {side->shape, axis + 1, side->end};

    return side_elements(&behind);
}

/* The shortest further piece that has as many elements on both sides. */
static void next_pieces(struct side *x, struct side *y)
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

/* The only dimension of a piece that has atoms; -1: none, or several, which
 * stay then. */
static int labelled_axis(struct channels *channels, uint32_t value,
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

/* A piece's atoms, seen along a dimension of the other side. */
struct view {
    struct labels labels;
    int64_t n, step;      /* elements; between neighbours of the atoms */
    int64_t size, stride; /* of the dimension that they are seen along */
};

static uint32_t view_atom(const struct view *view, int64_t element)
{
    return view->labels.atoms[(size_t)(element / view->step) % view->labels.n];
}

/* Whether all elements at a place along the dimension have one atom. */
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

/* What the output has along a dimension where each place takes the atom of
 * its first element. */
static uint32_t *view_firsts(struct channels *channels, const struct view *view)
{
    uint32_t *firsts = channels_room(channels, (size_t)view->size);

    for (int64_t i = 0; firsts && i < view->size; i++)
        firsts[i] = view_atom(view, i * view->stride);
    return firsts;
}

/* Where the atoms go: to a dimension along which they can be told apart as
 * they are, or to the largest one, with what it mixes joined. */
static void carry(struct channels *channels, const struct node *node,
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

/* Flatten, Reshape, Squeeze, Unsqueeze. */
static void reshape_rule(struct channels *channels, const struct node *node)
{
    const struct shape *in, *out;
    struct side x = {0}, y = {0};
    size_t n;

    if (!get_shapes(channels, node, &in, &out))
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

        next_pieces(&x, &y);
        axis = labelled_axis(channels, node->inputs[0], &x);
        if (axis < 0)
            continue;
        view.labels = channels_of(channels, node->inputs[0], axis);
        view.n = side_elements(&x);
        view.step = side_step(&x, axis);
        carry(channels, node, &view, &y);
    }
}

static void transpose_rule(struct channels *channels, const struct node *node)
{
    const struct transpose_attrs *attrs = node->attrs;
    const struct shape *x, *y;

    if (!get_shapes(channels, node, &x, &y))
        return;
    for (int i = 0; i < y->rank; i++) {
        int from = attrs->rank ? (int)attrs->order[i] : x->rank - 1 - i;

        channels_set(channels, node->outputs[0], i,
                     channels_of(channels, node->inputs[0], from));
    }
}

/* ---- joining ------------------------------------------------------------ */

static struct labels joined_labels(struct channels *channels,
                                   const struct node *node, int axis, size_t n)
{
    uint32_t *atoms = channels_room(channels, n);
    bool has_any = false;
    size_t at = 0;

    for (size_t i = 0; atoms && i < node->n_inputs; i++) {
        const struct shape *x = channels_shape(channels, node->inputs[i]);
        struct labels labels;

        if (!channels_of(channels, node->inputs[i], axis).n)
            channels_match(channels, node->inputs[i], axis, (struct labels){0});
        labels = channels_of(channels, node->inputs[i], axis);
        for (size_t k = 0; k < labels.n && at + k < n; k++)
            atoms[at + k] = labels.atoms[k];
        has_any |= labels.n > 0;
        at += (size_t)x->dims[axis];
    }
    return has_any ? (struct labels){n, atoms} : (struct labels){0};
}

/* A dimension that all inputs share. */
static void join_across(struct channels *channels, const struct node *node,
                        int d)
{
    struct labels joined = {0};

    for (size_t i = 0; i < node->n_inputs && !joined.n; i++)
        joined = channels_of(channels, node->inputs[i], d);
    for (size_t i = 0; joined.n && i < node->n_inputs; i++)
        channels_match(channels, node->inputs[i], d, joined);
    channels_set(channels, node->outputs[0], d, joined);
}

static void concat_rule(struct channels *channels, const struct node *node)
{
    const struct shape *y = channels_shape(channels, node->outputs[0]);
    bool is_known = y != NULL;
    int axis;

    for (size_t i = 0; i < node->n_inputs; i++)
        is_known &= channels_shape(channels, node->inputs[i]) != NULL;
    if (!is_known) {
        channels_fix_inputs(channels, node);
        return;
    }
    axis = concat_axis(node, y->rank);
    for (int d = 0; d < y->rank; d++) {
        if (d != axis)
            join_across(channels, node, d);
    }
    channels_set(channels, node->outputs[0], axis,
                 joined_labels(channels, node, axis, (size_t)y->dims[axis]));
}

/* ---- cutting ------------------------------------------------------------ */

static struct labels part_of(struct labels labels, int64_t first, int64_t n)
{
    if (!labels.n || first < 0 || n < 0 || (size_t)(first + n) > labels.n)
        return (struct labels){0};
    return (struct labels){(size_t)n, labels.atoms + first};
}

/* Parts of equal size stay so: the same places of all of them go together. */
static void join_parts(struct channels *channels, struct labels x, size_t n)
{
    if (x.n % n) {
        channels_fix(channels, x);
        return;
    }
    for (size_t i = x.n / n; i < x.n; i++)
        channels_join(channels, x.atoms[i - x.n / n], x.atoms[i]);
}

static void split_rule(struct channels *channels, const struct node *node)
{
    const struct split_attrs *attrs = node->attrs;
    const struct shape *in, *out;
    struct labels x;
    int64_t at = 0;
    int axis;

    if (!get_shapes(channels, node, &in, &out))
        return;
    axis = from_front(attrs->axis, in->rank);
    x = channels_of(channels, node->inputs[0], axis);
    if (node->n_inputs < 2 || node->inputs[1] == GRAPH_NONE)
        join_parts(channels, x, node->n_outputs);
    for (size_t i = 0; i < node->n_outputs; i++) {
        out = channels_shape(channels, node->outputs[i]);
        channels_pass(channels, node->inputs[0], node->outputs[i]);
        channels_set(channels, node->outputs[i], axis,
                     part_of(x, at, out->dims[axis]));
        at += out->dims[axis];
    }
}

/* What a Slice does to a dimension: which of the lists' entries, or -1. */
static int slice_entry(struct channels *channels, const struct node *node,
                       int axis, int rank)
{
    const struct tensor *axes =
        node->n_inputs > 3 ? channels_numbers(channels, node->inputs[3]) : NULL;
    const struct tensor *starts = channels_numbers(channels, node->inputs[1]);
    size_t n = tensor_elements(starts);

    for (size_t i = 0; i < n; i++) {
        int of = axes ? from_front(tensor_i64(axes)[i], rank) : (int)i;

        if (of == axis)
            return (int)i;
    }
    return -1;
}

static bool slice_is_known(struct channels *channels, const struct node *node)
{
    for (size_t i = 1; i < node->n_inputs; i++) {
        if (node->inputs[i] != GRAPH_NONE &&
            !channels_numbers(channels, node->inputs[i]))
            return false;
    }
    return node->n_inputs > 2;
}

static struct labels slice_labels(struct channels *channels,
                                  const struct node *node, struct labels x,
                                  int entry, int64_t n)
{
    const struct tensor *starts = channels_numbers(channels, node->inputs[1]);
    const struct tensor *steps =
        node->n_inputs > 4 ? channels_numbers(channels, node->inputs[4]) : NULL;
    int64_t start = tensor_i64(starts)[entry];

    if ((steps && tensor_i64(steps)[entry] != 1) || !x.n) {
        channels_fix(channels, x);
        return (struct labels){0};
    }
    start = start < 0 ? start + (int64_t)x.n : start;
    return part_of(x, start < 0 ? 0 : start, n);
}

static void slice_rule(struct channels *channels, const struct node *node)
{
    const struct shape *in, *out;

    if (!get_shapes(channels, node, &in, &out))
        return;
    if (!slice_is_known(channels, node)) {
        channels_fix_inputs(channels, node);
        return;
    }
    for (int d = 0; d < in->rank; d++) {
        struct labels x = channels_of(channels, node->inputs[0], d);
        int entry = slice_entry(channels, node, d, in->rank);

        if (entry >= 0)
            x = slice_labels(channels, node, x, entry, out->dims[d]);
        channels_set(channels, node->outputs[0], d, x);
    }
}

/* ---- dimensions that must stay as they are ------------------------------ */

/* What the op does not touch passes; where the size changes, it stays. Pad
 * and Resize. */
static void same_size_rule(struct channels *channels, const struct node *node)
{
    const struct shape *in, *out;

    if (!get_shapes(channels, node, &in, &out))
        return;
    for (int d = 0; d < in->rank; d++) {
        struct labels x = channels_of(channels, node->inputs[0], d);

        if (in->dims[d] == out->dims[d])
            channels_set(channels, node->outputs[0], d, x);
        else
            channels_fix(channels, x);
    }
}

static void softmax_rule(struct channels *channels, const struct node *node)
{
    const struct softmax_attrs *attrs = node->attrs;
    const struct shape *in, *out;
    int axis;

    if (!get_shapes(channels, node, &in, &out))
        return;
    axis = from_front(attrs->axis, in->rank);
    channels_pass(channels, node->inputs[0], node->outputs[0]);
    for (int d = 0; d < in->rank; d++) {
        if (d == axis || (attrs->is_flat && d > axis))
            channels_fix(channels, channels_of(channels, node->inputs[0], d));
    }
}

/* Whether a reduction takes a dimension away. */
static bool is_reduced(const struct tensor *axes, int d, int rank)
{
    for (size_t i = 0; axes && i < tensor_elements(axes); i++) {
        if (from_front(tensor_i64(axes)[i], rank) == d)
            return true;
    }
    return !axes;
}

static void reduce_rule(struct channels *channels, const struct node *node)
{
    const struct reduce_attrs *attrs = node->attrs;
    const struct tensor *axes =
        node->n_inputs > 1 ? channels_numbers(channels, node->inputs[1]) : NULL;
    const struct shape *in, *out;
    int to = 0;

    if (!get_shapes(channels, node, &in, &out))
        return;
    for (int d = 0; d < in->rank; d++) {
        struct labels x = channels_of(channels, node->inputs[0], d);

        if (is_reduced(axes, d, in->rank)) {
            channels_fix(channels, x);
            to += attrs->keeps_dims;
        } else {
            channels_set(channels, node->outputs[0], to++, x);
        }
    }
}

/* ---- blocks ------------------------------------------------------------- */

/* Channels of which block * block make one: where the k-th of the i-th is. */
static size_t block_place(const struct depth_attrs *attrs, size_t n, size_t i,
                          size_t k)
{
    size_t area = (size_t)(attrs->block * attrs->block);

    return attrs->is_depth_first ? i * area + k : k * n + i;
}

static void depth_to_space_rule(struct channels *channels,
                                const struct node *node)
{
    const struct depth_attrs *attrs = node->attrs;
    struct labels x = channels_of(channels, node->inputs[0], 1);
    size_t area = (size_t)(attrs->block * attrs->block), n = x.n / area;
    uint32_t *atoms = channels_room(channels, n);

    channels_set(channels, node->outputs[0], 0,
                 channels_of(channels, node->inputs[0], 0));
    if (!x.n || !atoms)
        return;
    for (size_t i = 0; i < n; i++) {
        atoms[i] = x.atoms[block_place(attrs, n, i, 0)];
        for (size_t k = 1; k < area; k++)
            channels_join(channels, atoms[i],
                          x.atoms[block_place(attrs, n, i, k)]);
    }
    channels_set(channels, node->outputs[0], 1, (struct labels){n, atoms});
}

static void space_to_depth_rule(struct channels *channels,
                                const struct node *node)
{
    const struct depth_attrs *attrs = node->attrs;
    struct labels x = channels_of(channels, node->inputs[0], 1);
    size_t area = (size_t)(attrs->block * attrs->block);
    uint32_t *atoms = channels_room(channels, x.n * area);

    channels_set(channels, node->outputs[0], 0,
                 channels_of(channels, node->inputs[0], 0));
    if (!x.n || !atoms)
        return;
    for (size_t i = 0; i < x.n; i++) {
        for (size_t k = 0; k < area; k++)
            atoms[block_place(attrs, x.n, i, k)] = x.atoms[i];
    }
    channels_set(channels, node->outputs[0], 1,
                 (struct labels){x.n * area, atoms});
}

/* Sizes are asked for, not data: whoever uses them is looked at itself. */
static void size_rule(struct channels *channels, const struct node *node)
{
    (void)channels, (void)node;
}

/* ---- the table ---------------------------------------------------------- */

/* clang-format off */
static const struct {
    const struct op_class *op;
    channel_rule *rule;
} rules[] = {
    {&op_flatten, reshape_rule},
    {&op_flatten_at, reshape_rule},
    {&op_reshape, reshape_rule},
    {&op_squeeze, reshape_rule},
    {&op_unsqueeze, reshape_rule},
    {&op_transpose, transpose_rule},
    {&op_concat, concat_rule},
    {&op_split, split_rule},
    {&op_slice, slice_rule},
    {&op_pad, same_size_rule},
    {&op_resize, same_size_rule},
    {&op_softmax, softmax_rule},
    {&op_log_softmax, softmax_rule},
    {&op_reduce_max, reduce_rule},
    {&op_reduce_mean, reduce_rule},
    {&op_reduce_min, reduce_rule},
    {&op_reduce_sum, reduce_rule},
    {&op_depth_to_space, depth_to_space_rule},
    {&op_space_to_depth, space_to_depth_rule},
    {&op_shape_of, size_rule},
    {&op_size, size_rule},
};
/* clang-format on */

channel_rule *channel_shape_rule_of(const struct op_class *op)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (rules[i].op == op)
            return rules[i].rule;
    }
    return NULL;
}
