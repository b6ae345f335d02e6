/* ops/movement/resize_nearest.c - see resize_nearest.h. */
#include "ops/movement/resize_nearest.h"

#include "ops/channels.h"
#include "ops/gradient_internal.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

static enum assay_status
resize_nearest_infer(const struct node *node,
                     const struct tensor *const *inputs, struct tensor *outputs,
                     struct error *err)
{
    enum assay_status st = rule_ranks(inputs, 2, 4, err);
    struct shape y = inputs[0]->shape;

    (void)node;
    if (st)
        return st;
    y.dims[2] = inputs[1]->shape.dims[2];
    y.dims[3] = inputs[1]->shape.dims[3];
    rule_set(&outputs[0], DTYPE_F32, &y);
    return ASSAY_OK;
}

int64_t resize_nearest_source(int64_t i, int64_t from, int64_t to)
{
    int64_t at = (int64_t)((float)i * ((float)from / (float)to));

    return at < from ? at : from - 1;
}

static enum assay_status
resize_nearest_forward(const struct op_context *context,
                       const struct node *node,
                       const struct tensor *const *inputs,
                       struct tensor *outputs, struct error *err)
{
    const int64_t *x = inputs[0]->shape.dims, *y = outputs[0].shape.dims;
    const float *from = tensor_f32(inputs[0]);
    float *to = tensor_f32(&outputs[0]);

    (void)context, (void)node, (void)err;
    for (int64_t c = 0; c < x[0] * x[1]; c++) {
        for (int64_t i = 0; i < y[2]; i++) {
            const float *row =
                from + resize_nearest_source(i, x[2], y[2]) * x[3];

            for (int64_t j = 0; j < y[3]; j++)
                *to++ = row[resize_nearest_source(j, x[3], y[3])];
        }
        from += x[2] * x[3];
    }
    return ASSAY_OK;
}

static enum assay_status
resize_nearest_backward(const struct op_context *context,
                        const struct node *node, const struct op_backward *pass,
                        struct error *err)
{
    const int64_t *x = pass->inputs[0]->shape.dims;
    const int64_t *y = pass->dy[0]->shape.dims;
    int parts = gradient_parts(context, tensor_elements(pass->dy[0]));

    (void)node, (void)err;
    if (!op_wants(pass, 0))
        return ASSAY_OK;
#pragma omp parallel for num_threads(parts) if (parts > 1)
    for (int64_t c = 0; c < x[0] * x[1]; c++) {
        const float *dy = tensor_f32(pass->dy[0]) + c * y[2] * y[3];
        float *dx = tensor_f32(&pass->dx[0]) + c * x[2] * x[3];

        for (int64_t i = 0; i < y[2]; i++) {
            float *row = dx + resize_nearest_source(i, x[2], y[2]) * x[3];

            for (int64_t j = 0; j < y[3]; j++)
                row[resize_nearest_source(j, x[3], y[3])] += *dy++;
        }
    }
    return ASSAY_OK;
}

/* Only the shape of the second map is read. */
static void resize_nearest_count_cost(const struct node *node,
                                      const struct tensor *const *inputs,
                                      const struct tensor *outputs,
                                      struct cost *cost)
{
    (void)node, (void)outputs;
    cost_touches(cost, inputs[1], 0);
}

const struct op_class op_resize_nearest = {
    .name = "ResizeNearest",
    OP_TAKES(2, 2),
    OP_MAKES(1, 1),
    .infer = resize_nearest_infer,
    .forward = resize_nearest_forward,
    .cost = resize_nearest_count_cost,
    .backward = resize_nearest_backward,
    .is_f32 = true,
    .channels = channel_window,
};
