/* passes/focus.c - see fuse_internal.h. YOLOX and YOLOv5 begin with a Focus:
 * the four maps of every second row and column, joined, then a convolution. */
#include "ops/convolution/conv2d.h"
#include "ops/movement/concat.h"
#include "ops/ops.h"
#include "passes/fuse_internal.h"

enum { focus_step = 2, focus_parts = focus_step * focus_step };

struct focus {
    uint32_t source;
    uint32_t concat;                /* a node */
    int64_t starts[focus_parts][2]; /* vertical, horizontal: of each part */
    const struct tensor *weight;
};

/* The inputs of a Slice after the first. */
enum { focus_starts = 1, focus_ends, focus_axes, focus_steps, focus_lists };

/* All lists of a Slice, of n numbers each; false where one is not constant. */
static bool focus_lists_of(const struct graph *graph, const struct node *slice,
                           const int64_t *lists[focus_lists], size_t *n)
{
    if (slice->n_inputs < focus_lists)
        return false;
    for (size_t i = focus_starts; i < focus_lists; i++) {
        uint32_t value = slice->inputs[i];
        const struct tensor *list;

        if (value == GRAPH_NONE)
            return false;
        list = &graph_value(graph, value)->data;
        if (!list->buffer || list->dtype != DTYPE_I64 || list->shape.rank > 1)
            return false;
        if (i > focus_starts && tensor_elements(list) != *n)
            return false;
        *n = tensor_elements(list);
        lists[i] = tensor_i64(list);
    }
    return true;
}

/* Whether the Slice takes every second row or column, up to the last. Notes
 * where it starts. */
static bool focus_read_slice(const struct graph *graph,
                             const struct node *slice, int64_t starts[2],
                             bool is_cut[2])
{
    const int64_t *lists[focus_lists];
    size_t n = 0;

    if (!focus_lists_of(graph, slice, lists, &n))
        return false;
    for (size_t i = 0; i < n; i++) {
        int64_t axis =
            lists[focus_axes][i] + (lists[focus_axes][i] < 0 ? 4 : 0);
        int64_t start = lists[focus_starts][i];

        if (axis < 2 || axis > 3 || is_cut[axis - 2] || start < 0 ||
            start >= focus_step || lists[focus_steps][i] != focus_step ||
            lists[focus_ends][i] < INT32_MAX)
            return false;
        is_cut[axis - 2] = true;
        starts[axis - 2] = start;
    }
    return true;
}

/* What a part is cut from, by one Slice or two; else GRAPH_NONE. */
static uint32_t focus_source(const struct graph *graph, uint32_t part,
                             int64_t starts[2])
{
    bool is_cut[2] = {false, false};

    while (!is_cut[0] || !is_cut[1]) {
        const struct value *value = graph_value(graph, part);
        const struct node *slice;

        if (value->kind != VALUE_COMPUTED)
            return GRAPH_NONE;
        slice = graph_node(graph, value->producer);
        if (slice->op != &op_slice ||
            !focus_read_slice(graph, slice, starts, is_cut))
            return GRAPH_NONE;
        part = slice->inputs[0];
    }
    return part;
}

/* Whether every start is there once, from one source. */
static bool focus_read_parts(const struct graph *graph, struct focus *out)
{
    const struct node *concat = graph_node(graph, out->concat);
    bool is_there[focus_parts] = {false};

    if (concat->n_inputs != focus_parts || concat_axis(concat, 4) != 1)
        return false;
    for (size_t i = 0; i < focus_parts; i++) {
        int64_t *starts = out->starts[i];
        uint32_t source = focus_source(graph, concat->inputs[i], starts);
        bool *seen;

        if (source == GRAPH_NONE || (i && source != out->source))
            return false;
        seen = &is_there[starts[0] * focus_step + starts[1]];
        if (*seen)
            return false;
        *seen = true;
        out->source = source;
    }
    return true;
}

/* The parts have the same sizes, or could not be joined: rows and columns of
 * the source are even, and a part has a quarter of the channels. */
static bool focus_find(const struct graph *graph, size_t at, struct focus *out)
{
    const struct node *conv = graph_node(graph, at);
    const struct conv2d_attrs *attrs = conv2d_attrs(conv);
    uint32_t weight = conv->inputs[CONV2D_WEIGHT];

    *out = (struct focus){.source = GRAPH_NONE};
    out->concat = fuse_sole_maker(graph, conv->inputs[CONV2D_X], &op_concat);
    if (out->concat == GRAPH_NONE || attrs->groups != 1 ||
        attrs->dilation[0] != 1 || attrs->dilation[1] != 1 ||
        graph_value(graph, weight)->is_dequantised)
        return false;
    out->weight = fuse_data(graph, weight);
    return out->weight && out->weight->shape.rank == 4 &&
           out->weight->shape.dims[1] % focus_parts == 0 &&
           focus_read_parts(graph, out);
}

/* Row i of a part that starts at s is row 2 i + s of the source; so it is with
 * the rows and columns of the kernel. */
static void focus_spread(const struct focus *focus, const struct tensor *to)
{
    const int64_t *from = focus->weight->shape.dims, *dims = to->shape.dims;
    const float *w = tensor_f32(focus->weight);
    float *out = tensor_f32(to);

    for (int64_t o = 0; o < from[0]; o++) {
        for (int64_t c = 0; c < from[1]; c++) {
            const int64_t *starts = focus->starts[c / dims[1]];
            float *map = out + (o * dims[1] + c % dims[1]) * dims[2] * dims[3];

            for (int64_t i = 0; i < from[2]; i++) {
                for (int64_t j = 0; j < from[3]; j++)
                    map[(focus_step * i + starts[0]) * dims[3] +
                        focus_step * j + starts[1]] = *w++;
            }
        }
    }
}

static enum assay_status focus_make_weight(struct graph *graph,
                                           uint32_t named_after,
                                           const struct focus *focus,
                                           struct pool *pool, uint32_t *value,
                                           struct error *err)
{
    const int64_t *from = focus->weight->shape.dims;
    struct shape shape = shape_of(4, from[0], from[1] / focus_parts,
                                  focus_step * from[2], focus_step * from[3]);
    struct tensor data;
    enum assay_status st = tensor_new(pool, DTYPE_F32, &shape, &data, err);

    if (st)
        return st;
    focus_spread(focus, &data);
    return fuse_constant(graph, named_after, "weight", data, value, err);
}

/* The convolution stands for the modules of the parts and of the Concat, too.
 */
static enum assay_status focus_note_scopes(struct graph *graph, size_t at,
                                           const struct focus *focus,
                                           struct error *err)
{
    const struct node *concat = graph_node(graph, focus->concat);
    enum assay_status st = fuse_note_scope(graph, at, concat->scope, err);

    for (size_t i = 0; i < focus_parts; i++) {
        uint32_t part = concat->inputs[i];

        while (!st && part != focus->source) {
            const struct node *slice =
                graph_node(graph, graph_value(graph, part)->producer);

            st = fuse_note_scope(graph, at, slice->scope, err);
            part = slice->inputs[0];
        }
    }
    return st;
}

enum assay_status fuse_focus(struct graph *graph, size_t at, struct pool *pool,
                             struct error *err)
{
    struct conv2d_attrs *attrs = graph_node(graph, at)->attrs;
    struct focus focus;
    uint32_t weight;
    enum assay_status st;

    if (!focus_find(graph, at, &focus))
        return ASSAY_OK;
    st = focus_make_weight(graph, graph_node(graph, at)->inputs[CONV2D_WEIGHT],
                           &focus, pool, &weight, err);
    if (!st)
        st = focus_note_scopes(graph, at, &focus, err);
    if (st)
        return st;
    for (int i = 0; i < 2; i++) {
        attrs->stride[i] *= focus_step;
        attrs->before[i] *= focus_step;
        attrs->after[i] *= focus_step;
    }
    graph_input_set(graph, at, CONV2D_X, focus.source);
    graph_input_set(graph, at, CONV2D_WEIGHT, weight);
    return ASSAY_OK;
}
