/* ops/movement/center_crop_pad.c - see center_crop_pad.h. */
#include "ops/movement/center_crop_pad.h"

#include "ops/attr_fields.h"
#include "ops/int_list_internal.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"
#include "ops/strided_internal.h"

#include <string.h>

static enum assay_status
center_crop_pad_infer(const struct node *node,
                      const struct tensor *const *inputs,
                      struct tensor *outputs, struct error *err)
{
    const struct center_crop_pad_attrs *attrs = node->attrs;
    struct shape shape = inputs[0]->shape;
    struct int_list sizes;
    size_t n = attrs->n_axes ? attrs->n_axes : (size_t)shape.rank;
    enum assay_status st = int_list_read(inputs[1], &sizes, err);

    if (!st && (sizes.n != n || n > (size_t)shape.rank))
        st = error_set(err, ASSAY_BAD_INPUT, "%zu sizes for %zu axes", sizes.n,
                       n);
    for (size_t i = 0; !st && i < n; i++) {
        int axis;

        st = axis_resolve(attrs->n_axes ? attrs->axes[i] : (int64_t)i,
                          shape.rank, &axis, err);
        if (!st && sizes.of[i] < 0)
            st = error_set(err, ASSAY_BAD_INPUT, "a size is %lld",
                           (long long)sizes.of[i]);
        if (!st)
            shape.dims[axis] = sizes.of[i];
    }
    if (!st)
        rule_set(&outputs[0], inputs[0]->dtype, &shape);
    return st;
}

/* Both the crop and the padding before begin at half the difference, rounded
 * down. */
static enum assay_status
center_crop_pad_forward(const struct op_context *context,
                        const struct node *node,
                        const struct tensor *const *inputs,
                        struct tensor *outputs, struct error *err)
{
    const struct tensor *x = inputs[0], *y = &outputs[0];
    struct strides in_x = strides_dense(&x->shape);
    struct strides in_y = strides_dense(&y->shape);
    size_t bytes = dtype_bytes(x->dtype);
    struct shape inside = x->shape;
    int64_t from = 0, to = 0;

    (void)node, (void)err;
    if (tensor_bytes(y))
        memset(tensor_data(y), 0, tensor_bytes(y));
    for (int i = 0; i < inside.rank; i++) {
        int64_t more = y->shape.dims[i] - x->shape.dims[i];

        if (more < 0) {
            inside.dims[i] = y->shape.dims[i];
            from += -more / 2 * in_x.of[i];
        } else {
            to += more / 2 * in_y.of[i];
        }
    }
    if (tensor_elements(y) && tensor_elements(x))
        strided_copy(context, &inside, bytes,
                     (const char *)tensor_data(x) + (size_t)from * bytes, &in_x,
                     (char *)tensor_data(y) + (size_t)to * bytes, &in_y);
    return ASSAY_OK;
}

const struct op_class op_center_crop_pad = {
    .name = "CenterCropPad",
    .attrs_bytes = sizeof(struct center_crop_pad_attrs),
    OP_TAKES(2, 2),
    OP_MAKES(1, 1),
    .infer = center_crop_pad_infer,
    .host_inputs = OP_INPUT(1),
    .forward = center_crop_pad_forward,
};
