/* ops/movement/affine_grid.c - see affine_grid.h. */
#include "ops/movement/affine_grid.h"

#include "ops/attr_fields.h"
#include "ops/int_list_internal.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"
#include "ops/widen_internal.h"

static enum assay_status affine_grid_infer(const struct node *node,
                                           const struct tensor *const *inputs,
                                           struct tensor *outputs,
                                           struct error *err)
{
    const struct shape *theta = &inputs[0]->shape;
    struct shape size, grid;
    enum assay_status st = shape_read(inputs[1], &size, err);

    (void)node;
    if (st)
        return st;
    if ((size.rank != 4 && size.rank != 5) || theta->rank != 3 ||
        theta->dims[0] != size.dims[0] || theta->dims[1] != size.rank - 2 ||
        theta->dims[2] != size.rank - 1)
        return rule_misfit("theta", theta, "the size", &size, err);
    grid = shape_of(size.rank, size.dims[0], size.dims[2], size.dims[3],
                    size.rank == 4 ? INT64_C(2) : size.dims[4], INT64_C(3));
    rule_set(&outputs[0], inputs[0]->dtype, &grid);
    return ASSAY_OK;
}

/* The place of pixel i of n, from -1 to 1. */
static double affine_place(const struct affine_grid_attrs *attrs, int64_t i,
                           int64_t n)
{
    if (attrs->aligns_corners)
        return n > 1 ? 2.0 * (double)i / (double)(n - 1) - 1 : -1;
    return (2.0 * (double)i + 1) / (double)n - 1;
}

static enum assay_status affine_grid_kernel(const struct op_context *context,
                                            const struct node *node,
                                            const struct tensor *const *inputs,
                                            struct tensor *outputs,
                                            struct error *err)
{
    const struct shape *grid = &outputs[0].shape;
    int n_axes = grid->rank - 2;
    int64_t each = shape_span(grid, 1, grid->rank - 1);
    float *to = tensor_data(&outputs[0]);

    (void)context;
    if (inputs[0]->dtype != DTYPE_F32)
        return rule_undefined(node, inputs[0]->dtype, err);
    for (int64_t at = 0; at < grid->dims[0] * each; at++) {
        const float *theta =
            tensor_f32(inputs[0]) + at / each * n_axes * (n_axes + 1);
        int64_t rest = at % each;
        double place[3];

        for (int i = 0; i < n_axes; i++) { /* x, the last axis, first */
            int64_t size = grid->dims[n_axes - i];

            place[i] = affine_place(node->attrs, rest % size, size);
            rest /= size;
        }
        for (int row = 0; row < n_axes; row++) {
            const float *factors = theta + (ptrdiff_t)row * (n_axes + 1);
            double sum = (double)factors[n_axes];

            for (int i = 0; i < n_axes; i++)
                sum += (double)factors[i] * place[i];
            *to++ = (float)sum;
        }
    }
    return ASSAY_OK;
}

WIDEN_FORWARD(affine_grid_forward, affine_grid_kernel)

ATTR_FIELDS(affine_grid, FIELD_FLAG(affine_grid_attrs, aligns_corners));

const struct op_class op_affine_grid = {
    .name = "AffineGrid",
    OP_ATTRS(affine_grid),
    OP_TAKES(2, 2),
    OP_MAKES(1, 1),
    .infer = affine_grid_infer,
    .host_inputs = OP_INPUT(1),
    .forward = affine_grid_forward,
    .cost = rule_cost_elementwise,
};
