/* ops/movement/slice.c - see slice.h. */
#include "ops/movement/slice.h"

#include "ops/attr_fields.h"
#include "ops/channels.h"
#include "ops/gradient_internal.h"
#include "ops/int_list_internal.h"
#include "ops/onnx_sink.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"
#include "ops/strided_internal.h"

/* The start and step of a slice in each dimension. */
struct slices {
    struct shape shape;
    int64_t start[SHAPE_MAX_RANK], step[SHAPE_MAX_RANK];
};

static int64_t slice_held(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* One dimension. Negative positions count from the end; those outside mean the
 * edge. */
static void slice_axis(struct slices *slices, int axis, int64_t start,
                       int64_t end, int64_t step)
{
    int64_t size = slices->shape.dims[axis], n;

    start = start < 0 ? start + size : start;
    end = end < 0 && end >= -size ? end + size : end;
    if (step > 0) {
        start = slice_held(start, 0, size);
        end = slice_held(end, 0, size);
        n = end > start ? (end - start - 1) / step + 1 : 0;
    } else {
        start = slice_held(start, -1, size - 1);
        end = slice_held(end, -1, size - 1);
        n = start > end ? (start - end - 1) / -step + 1 : 0;
    }
    slices->start[axis] = start;
    slices->step[axis] = step;
    slices->shape.dims[axis] = n;
}

enum slice_input { SLICE_X, SLICE_STARTS, SLICE_ENDS, SLICE_AXES, SLICE_STEPS };

static enum assay_status read_lists(const struct node *node,
                                    const struct tensor *const *inputs,
                                    struct int_list *lists, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = SLICE_STARTS; !st && i <= SLICE_STEPS; i++)
        st = int_list_read(op_input(node, inputs, i), &lists[i], err);
    for (size_t i = SLICE_ENDS; !st && i <= SLICE_STEPS; i++) {
        bool is_there = i == SLICE_ENDS || op_input(node, inputs, i);

        if (is_there && lists[i].n != lists[SLICE_STARTS].n)
            st = error_set(err, ASSAY_BAD_INPUT,
                           "%zu starts, but %zu ends, axes or steps",
                           lists[SLICE_STARTS].n, lists[i].n);
        if (!is_there) {
            lists[i].n = lists[SLICE_STARTS].n;
            for (size_t k = 0; k < lists[i].n; k++)
                lists[i].of[k] = i == SLICE_AXES ? (int64_t)k : 1;
        }
    }
    return st;
}

static enum assay_status get_slices(const struct node *node,
                                    const struct tensor *const *inputs,
                                    struct slices *slices, struct error *err)
{
    struct int_list lists[SLICE_STEPS + 1];
    unsigned axes;
    enum assay_status st = read_lists(node, inputs, lists, err);

    *slices = (struct slices){.shape = inputs[0]->shape};
    for (int i = 0; i < SHAPE_MAX_RANK; i++)
        slices->step[i] = 1;
    if (!st)
        st = axes_resolve(&lists[SLICE_AXES], slices->shape.rank, &axes, err);
    for (size_t i = 0; !st && i < lists[SLICE_STARTS].n; i++) {
        int axis;

        st = axis_resolve(lists[SLICE_AXES].of[i], slices->shape.rank, &axis,
                          err);
        if (!st && (lists[SLICE_STEPS].of[i] == 0 ||
                    lists[SLICE_STEPS].of[i] == INT64_MIN))
            st = error_set(err, ASSAY_BAD_INPUT,
                           "a step of %lld is not supported",
                           (long long)lists[SLICE_STEPS].of[i]);
        if (!st)
            slice_axis(slices, axis, lists[SLICE_STARTS].of[i],
                       lists[SLICE_ENDS].of[i], lists[SLICE_STEPS].of[i]);
    }
    return st;
}

static enum assay_status slice_infer(const struct node *node,
                                     const struct tensor *const *inputs,
                                     struct tensor *outputs, struct error *err)
{
    struct slices slices;
    enum assay_status st = get_slices(node, inputs, &slices, err);

    if (!st)
        rule_set(&outputs[0], inputs[0]->dtype, &slices.shape);
    return st;
}

/* The slice's first element in x, and its strides. */
static enum assay_status find_slice(const struct node *node,
                                    const struct tensor *const *inputs,
                                    int64_t *start, struct strides *strides,
                                    struct error *err)
{
    struct slices slices;
    enum assay_status st = get_slices(node, inputs, &slices, err);

    *start = 0;
    *strides = strides_dense(&inputs[0]->shape);
    for (int i = 0; !st && i < slices.shape.rank; i++) {
        *start += slices.start[i] * strides->of[i];
        /* With one element the step is not taken, but must not overflow. */
        strides->of[i] *= slices.shape.dims[i] > 1 ? slices.step[i] : 1;
    }
    return st;
}

static enum assay_status slice_backward(const struct op_context *context,
                                        const struct node *node,
                                        const struct op_backward *pass,
                                        struct error *err)
{
    struct strides to;
    int64_t start;
    enum assay_status st = find_slice(node, pass->inputs, &start, &to, err);

    if (!st)
        strided_put(context, pass->dy[0], &pass->dx[0], start, &to);
    return st;
}

static enum assay_status slice_forward(const struct op_context *context,
                                       const struct node *node,
                                       const struct tensor *const *inputs,
                                       struct tensor *outputs,
                                       struct error *err)
{
    struct strides from;
    int64_t start;
    enum assay_status st = find_slice(node, inputs, &start, &from, err);

    if (!st)
        strided_take(context, inputs[0], start, &from, &outputs[0]);
    return st;
}

/* ---- Split ------------------------------------------------------------ */

static enum assay_status slice_get_sizes(const struct node *node,
                                         const struct tensor *const *inputs,
                                         int axis, struct int_list *sizes,
                                         struct error *err)
{
    const struct tensor *listed = op_input(node, inputs, 1);
    int64_t size = inputs[0]->shape.dims[axis], sum = 0;
    int64_t n = (int64_t)node->n_outputs, each = (size + n - 1) / n;
    enum assay_status st = int_list_read(listed, sizes, err);

    if (st)
        return st;
    for (int64_t i = 0; !listed && i < n; i++)
        sizes->of[sizes->n++] = slice_held(size - i * each, 0, each);
    for (size_t i = 0; i < sizes->n; i++) {
        if (sizes->of[i] < 0 || sizes->of[i] > size)
            return error_set(err, ASSAY_BAD_INPUT,
                             "a part of %lld does not fit into %lld",
                             (long long)sizes->of[i], (long long)size);
        sum += sizes->of[i];
    }
    if (sum != size || sizes->n != node->n_outputs)
        return error_set(err, ASSAY_BAD_INPUT,
                         "%zu parts that sum to %lld, for %zu outputs and a "
                         "size of %lld",
                         sizes->n, (long long)sum, node->n_outputs,
                         (long long)size);
    return ASSAY_OK;
}

static enum assay_status split_infer(const struct node *node,
                                     const struct tensor *const *inputs,
                                     struct tensor *outputs, struct error *err)
{
    const struct split_attrs *attrs = node->attrs;
    struct shape shape = inputs[0]->shape;
    struct int_list sizes;
    int axis;
    enum assay_status st = axis_resolve(attrs->axis, shape.rank, &axis, err);

    if (!st)
        st = slice_get_sizes(node, inputs, axis, &sizes, err);
    for (size_t i = 0; !st && i < node->n_outputs; i++) {
        shape.dims[axis] = sizes.of[i];
        rule_set(&outputs[i], inputs[0]->dtype, &shape);
    }
    return st;
}

static enum assay_status split_forward(const struct op_context *context,
                                       const struct node *node,
                                       const struct tensor *const *inputs,
                                       struct tensor *outputs,
                                       struct error *err)
{
    const struct split_attrs *attrs = node->attrs;
    struct strides from = strides_dense(&inputs[0]->shape);
    int64_t start = 0;
    int axis;
    enum assay_status st =
        axis_resolve(attrs->axis, inputs[0]->shape.rank, &axis, err);

    for (size_t i = 0; !st && i < node->n_outputs; i++) {
        strided_take(context, inputs[0], start * from.of[axis], &from,
                     &outputs[i]);
        start += outputs[i].shape.dims[axis];
    }
    return st;
}

static enum assay_status split_backward(const struct op_context *context,
                                        const struct node *node,
                                        const struct op_backward *pass,
                                        struct error *err)
{
    const struct split_attrs *attrs = node->attrs;
    const struct tensor *dx = &pass->dx[0];
    struct strides to = strides_dense(&dx->shape);
    int64_t start = 0;
    int axis;
    enum assay_status st =
        axis_resolve(attrs->axis, dx->shape.rank, &axis, err);

    for (size_t i = 0; !st && i < node->n_outputs; i++) {
        if (pass->dy[i])
            strided_put(context, pass->dy[i], dx, start * to.of[axis], &to);
        start += pass->outputs[i].shape.dims[axis];
    }
    return st;
}

static struct labels slice_part_of(struct labels labels, int64_t first,
                                   int64_t n)
{
    if (!labels.n || first < 0 || n < 0 || (size_t)(first + n) > labels.n)
        return (struct labels){0};
    return (struct labels){(size_t)n, labels.atoms + first};
}

/* Parts of equal size stay equal: joins the same place of every part. */
static void split_join_parts(struct channels *channels, struct labels x,
                             size_t n)
{
    if (x.n % n) {
        channels_fix(channels, x);
        return;
    }
    for (size_t i = x.n / n; i < x.n; i++)
        channels_join(channels, x.atoms[i - x.n / n], x.atoms[i]);
}

static void split_channels(struct channels *channels, const struct node *node)
{
    const struct split_attrs *attrs = node->attrs;
    const struct shape *in, *out;
    struct labels x;
    int64_t at = 0;
    int axis;

    if (!channels_shapes(channels, node, &in, &out))
        return;
    axis = channels_axis(attrs->axis, in->rank);
    x = channels_of(channels, node->inputs[0], axis);
    if (node->n_inputs < 2 || node->inputs[1] == GRAPH_NONE)
        split_join_parts(channels, x, node->n_outputs);
    for (size_t i = 0; i < node->n_outputs; i++) {
        out = channels_shape(channels, node->outputs[i]);
        channels_pass(channels, node->inputs[0], node->outputs[i]);
        channels_set(channels, node->outputs[i], axis,
                     slice_part_of(x, at, out->dims[axis]));
        at += out->dims[axis];
    }
}

/* Which entry of the lists slices this dimension; -1: none. */
static int slice_entry(struct channels *channels, const struct node *node,
                       int axis, int rank)
{
    const struct tensor *axes =
        node->n_inputs > 3 ? channels_numbers(channels, node->inputs[3]) : NULL;
    const struct tensor *starts = channels_numbers(channels, node->inputs[1]);
    size_t n = tensor_elements(starts);

    for (size_t i = 0; i < n; i++) {
        int of = axes ? channels_axis(tensor_i64(axes)[i], rank) : (int)i;

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
    return slice_part_of(x, start < 0 ? 0 : start, n);
}

static void slice_channels(struct channels *channels, const struct node *node)
{
    const struct shape *in, *out;

    if (!channels_shapes(channels, node, &in, &out))
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

static void split_to_onnx(struct onnx_sink *to)
{
    const struct split_attrs *attrs = to->node->attrs;

    onnx_attr_int(to, "axis", attrs->axis);
    onnx_put_node(to, "Split", ONNX_ALL_INPUTS);
}

ATTR_FIELDS(split, FIELD_AXIS(split_attrs, axis));

const struct op_class op_slice = {
    .name = "Slice",
    OP_TAKES(3, 5),
    OP_MAKES(1, 1),
    .infer = slice_infer,
    .host_inputs = OP_INPUT(SLICE_STARTS) | OP_INPUT(SLICE_ENDS) |
                   OP_INPUT(SLICE_AXES) | OP_INPUT(SLICE_STEPS),
    .forward = slice_forward,
    .cost = rule_cost_taken,
    .backward = slice_backward,
    .backward_reads = gradient_reads_settings,
    .channels = slice_channels,
    .to_onnx = onnx_put_named,
};

const struct op_class op_split = {
    .name = "Split",
    OP_ATTRS(split),
    OP_TAKES(1, 2),
    OP_MAKES(1, SIZE_MAX),
    .infer = split_infer,
    .host_inputs = OP_INPUT(1),
    .forward = split_forward,
    .backward = split_backward,
    .channels = split_channels,
    .to_onnx = split_to_onnx,
};
