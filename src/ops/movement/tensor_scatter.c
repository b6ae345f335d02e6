/* ops/movement/tensor_scatter.c - see tensor_scatter.h. */
#include "ops/movement/tensor_scatter.h"

#include "ops/attr_fields.h"
#include "ops/int_list_internal.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

#include <string.h>

enum { SCATTER_CACHE, SCATTER_UPDATE, SCATTER_FIRST };

static enum assay_status
tensor_scatter_infer(const struct node *node,
                     const struct tensor *const *inputs, struct tensor *outputs,
                     struct error *err)
{
    const struct tensor_scatter_attrs *attrs = node->attrs;
    const struct shape *cache = &inputs[SCATTER_CACHE]->shape;
    const struct tensor *first = op_input(node, inputs, SCATTER_FIRST);
    struct shape update = inputs[SCATTER_UPDATE]->shape;
    int axis;
    enum assay_status st = axis_resolve(attrs->axis, cache->rank, &axis, err);

    rule_set(&outputs[0], inputs[SCATTER_CACHE]->dtype, cache);
    if (!st)
        st = rule_dtype(inputs, SCATTER_UPDATE, inputs[0]->dtype, err);
    if (!st && axis == 0)
        st = error_set(err, ASSAY_BAD_INPUT,
                       "the axis is 0, which is that of the batch");
    if (!st && update.rank == cache->rank &&
        update.dims[axis] <= cache->dims[axis])
        update.dims[axis] = cache->dims[axis];
    if (!st && !shape_equal(&update, cache))
        st = rule_misfit("the update", &inputs[SCATTER_UPDATE]->shape,
                         "the cache", cache, err);
    if (!st && first && tensor_elements(first) != (size_t)cache->dims[0])
        st = error_set(err, ASSAY_BAD_INPUT, "%zu indices for a batch of %lld",
                       tensor_elements(first), (long long)cache->dims[0]);
    return st;
}

static enum assay_status
tensor_scatter_forward(const struct op_context *context,
                       const struct node *node,
                       const struct tensor *const *inputs,
                       struct tensor *outputs, struct error *err)
{
    const struct tensor_scatter_attrs *attrs = node->attrs;
    const struct shape *cache = &inputs[SCATTER_CACHE]->shape;
    const struct tensor *update = inputs[SCATTER_UPDATE];
    const struct tensor *first = op_input(node, inputs, SCATTER_FIRST);
    int64_t rows, length, blocks;
    size_t bytes;
    int axis;
    enum assay_status st = axis_resolve(attrs->axis, cache->rank, &axis, err);

    (void)context;
    if (st || !tensor_elements(&outputs[0]))
        return st;
    rows = cache->dims[axis];
    length = update->shape.dims[axis];
    blocks = shape_span(cache, 0, axis);
    bytes = (size_t)shape_span(cache, axis + 1, cache->rank) *
            dtype_bytes(update->dtype);
    memcpy(tensor_data(&outputs[0]), tensor_data(inputs[SCATTER_CACHE]),
           tensor_bytes(&outputs[0]));
    for (int64_t i = 0; i < blocks * length; i++) {
        int64_t block = i / length, batch = block / (blocks / cache->dims[0]);
        int64_t begin = first ? int_at(first, (size_t)batch) : 0;
        int64_t row;

        if (begin < 0 || begin > rows ||
            (!attrs->is_circular && begin > rows - length))
            return error_set(err, ASSAY_BAD_INPUT,
                             "rows %lld to %lld are not in a cache of %lld",
                             (long long)begin, (long long)(begin + length - 1),
                             (long long)rows);
        row = (begin + i % length) % rows;
        memcpy((char *)tensor_data(&outputs[0]) +
                   (size_t)(block * rows + row) * bytes,
               (const char *)tensor_data(update) + (size_t)i * bytes, bytes);
    }
    return ASSAY_OK;
}

ATTR_FIELDS(tensor_scatter, FIELD_AXIS(tensor_scatter_attrs, axis),
            FIELD_FLAG(tensor_scatter_attrs, is_circular));

const struct op_class op_tensor_scatter = {
    .name = "TensorScatter",
    OP_ATTRS(tensor_scatter),
    OP_TAKES(2, 3),
    OP_MAKES(1, 1),
    .infer = tensor_scatter_infer,
    .host_inputs = OP_INPUT(SCATTER_FIRST),
    .forward = tensor_scatter_forward,
};
