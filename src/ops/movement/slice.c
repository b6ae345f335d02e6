/* ops/movement/slice.c - see slice.h. */
#include "ops/movement/slice.h"

#include "ops/gradient.h"
#include "ops/int_list.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"
#include "ops/strided.h"

/* Where a slice begins and how it goes on, for each dimension. */
struct slices {
    struct shape shape;
    int64_t start[SHAPE_MAX_RANK], step[SHAPE_MAX_RANK];
};

static int64_t held(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* One dimension; positions count from the end where negative, and those
 * outside mean the edge. */
static void slice_axis(struct slices *slices, int axis, int64_t start,
                       int64_t end, int64_t step)
{
    int64_t size = slices->shape.dims[axis], n;

    start = start < 0 ? start + size : start;
    end = end < 0 && end >= -size ? end + size : end;
    if (step > 0) {
        start = held(start, 0, size);
        end = held(end, 0, size);
        n = end > start ? (end - start - 1) / step + 1 : 0;
    } else {
        start = held(start, -1, size - 1);
        end = held(end, -1, size - 1);
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
        st = int_list_read(i < node->n_inputs ? inputs[i] : NULL, &lists[i],
                           err);
    for (size_t i = SLICE_ENDS; !st && i <= SLICE_STEPS; i++) {
        bool is_there = i == SLICE_ENDS || (i < node->n_inputs && inputs[i]);

        if (is_there && lists[i].n != lists[SLICE_STARTS].n)
            st = error_set(err, ASSAY_BAD_INPUT,
                           "%zu starts and %zu ends, axes or steps",
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
            st = error_set(err, ASSAY_BAD_INPUT, "a step of %lld",
                           (long long)lists[SLICE_STEPS].of[i]);
        if (!st)
            slice_axis(slices, axis, lists[SLICE_STARTS].of[i],
                       lists[SLICE_ENDS].of[i], lists[SLICE_STEPS].of[i]);
    }
    return st;
}

static enum assay_status infer_slice(const struct node *node,
                                     const struct tensor *const *inputs,
                                     struct tensor *outputs, struct error *err)
{
    struct slices slices;
    enum assay_status st = get_slices(node, inputs, &slices, err);

    if (!st)
        rule_set(&outputs[0], inputs[0]->dtype, &slices.shape);
    return st;
}

/* Copies a part of x that begins at an element and has strides. */
static void copy_part(const struct op_context *context, const struct tensor *x,
                      int64_t start, const struct strides *from,
                      const struct tensor *y)
{
    struct strides to = strides_dense(&y->shape);
    size_t bytes = dtype_bytes(x->dtype);

    if (tensor_elements(y))
        strided_copy(context, &y->shape, bytes,
                     (char *)tensor_data(x) + start * (int64_t)bytes, from,
                     tensor_data(y), &to);
}

/* The first element of the slice in x, and the strides from there. */
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
        /* A step past the only element is never taken, but must not
         * overflow. */
        strides->of[i] *= slices.shape.dims[i] > 1 ? slices.step[i] : 1;
    }
    return st;
}

/* Puts dy where its part of x lies. */
static void copy_back(const struct op_context *context, const struct tensor *dy,
                      int64_t start, const struct strides *to,
                      const struct tensor *dx)
{
    struct strides from = strides_dense(&dy->shape);

    if (tensor_elements(dy))
        strided_copy(context, &dy->shape, sizeof(float), tensor_data(dy), &from,
                     tensor_f32(dx) + start, to);
}

static enum assay_status backward_slice(const struct op_context *context,
                                        const struct node *node,
                                        const struct op_backward *pass,
                                        struct error *err)
{
    struct strides to;
    int64_t start;
    enum assay_status st = find_slice(node, pass->inputs, &start, &to, err);

    if (!st)
        copy_back(context, pass->dy[0], start, &to, &pass->dx[0]);
    return st;
}

static enum assay_status forward_slice(const struct op_context *context,
                                       const struct node *node,
                                       const struct tensor *const *inputs,
                                       struct tensor *outputs,
                                       struct error *err)
{
    struct strides from;
    int64_t start;
    enum assay_status st = find_slice(node, inputs, &start, &from, err);

    if (!st)
        copy_part(context, inputs[0], start, &from, &outputs[0]);
    return st;
}

/* ---- Split ------------------------------------------------------------ */

static enum assay_status get_sizes(const struct node *node,
                                   const struct tensor *const *inputs, int axis,
                                   struct int_list *sizes, struct error *err)
{
    bool is_listed = node->n_inputs > 1 && inputs[1];
    int64_t size = inputs[0]->shape.dims[axis], sum = 0;
    int64_t n = (int64_t)node->n_outputs, each = (size + n - 1) / n;
    enum assay_status st =
        int_list_read(is_listed ? inputs[1] : NULL, sizes, err);

    if (st)
        return st;
    for (int64_t i = 0; !is_listed && i < n; i++)
        sizes->of[sizes->n++] = held(size - i * each, 0, each);
    for (size_t i = 0; i < sizes->n; i++) {
        if (sizes->of[i] < 0 || sizes->of[i] > size)
            return error_set(err, ASSAY_BAD_INPUT, "a part of %lld of %lld",
                             (long long)sizes->of[i], (long long)size);
        sum += sizes->of[i];
    }
    if (sum != size || sizes->n != node->n_outputs)
        return error_set(err, ASSAY_BAD_INPUT,
                         "%zu parts of %lld in all; %zu outputs and a size of "
                         "%lld",
                         sizes->n, (long long)sum, node->n_outputs,
                         (long long)size);
    return ASSAY_OK;
}

static enum assay_status infer_split(const struct node *node,
                                     const struct tensor *const *inputs,
                                     struct tensor *outputs, struct error *err)
{
    const struct split_attrs *attrs = node->attrs;
    struct shape shape = inputs[0]->shape;
    struct int_list sizes;
    int axis;
    enum assay_status st = axis_resolve(attrs->axis, shape.rank, &axis, err);

    if (!st)
        st = get_sizes(node, inputs, axis, &sizes, err);
    for (size_t i = 0; !st && i < node->n_outputs; i++) {
        shape.dims[axis] = sizes.of[i];
        rule_set(&outputs[i], inputs[0]->dtype, &shape);
    }
    return st;
}

static enum assay_status forward_split(const struct op_context *context,
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
        copy_part(context, inputs[0], start * from.of[axis], &from,
                  &outputs[i]);
        start += outputs[i].shape.dims[axis];
    }
    return st;
}

static enum assay_status backward_split(const struct op_context *context,
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
            copy_back(context, pass->dy[i], start * to.of[axis], &to, dx);
        start += pass->outputs[i].shape.dims[axis];
    }
    return st;
}

/* Of the data, no more is read than comes out. */
static void count_cost(const struct node *node,
                       const struct tensor *const *inputs,
                       const struct tensor *outputs, struct cost *cost)
{
    (void)node;
    cost_touches(cost, inputs[0], tensor_bytes(&outputs[0]));
}

const struct op_class op_slice = {
    .name = "Slice",
    .min_inputs = 3,
    .max_inputs = 5,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = infer_slice,
    .forward = forward_slice,
    .cost = count_cost,
    .backward = backward_slice,
    .backward_reads = gradient_reads_settings,
};

const struct op_class op_split = {
    .name = "Split",
    .attrs_bytes = sizeof(struct split_attrs),
    .min_inputs = 1,
    .max_inputs = 2,
    .min_outputs = 1,
    .max_outputs = SIZE_MAX,
    .infer = infer_split,
    .forward = forward_split,
    .backward = backward_split,
};
