/* ops/movement/resize_backward.c - the gradient of a Resize: each new element's
 * goes back to those that it was made of, one axis after the other, in the
 * order opposite to that of resize.c. */
#include "base/mem.h"
#include "ops/gradient_internal.h"
#include "ops/int_list_internal.h"
#include "ops/movement/resize_internal.h"

#include <string.h>

/* Lines [to, inner] of dy into lines [from, inner] of dx. */
static void resize_backward_add_line(const struct resize_taps *taps, int64_t to,
                                     int64_t inner, const float *dy, float *dx)
{
    for (int64_t i = 0; i < to; i++, dy += inner) {
        for (int t = 0; t < RESIZE_TAPS && !taps[i].is_outside; t++) {
            float weight = taps[i].weights[t];
            float *row = dx + taps[i].at[t] * inner;

            for (int64_t k = 0; weight != 0 && k < inner; k++)
                row[k] += weight * dy[k];
        }
    }
}

/* Replaces dy by the gradient of what the axis was made of; that is `last`,
 * where it is the last one. */
static enum assay_status pass_axis(const struct op_context *context,
                                   const struct node *node,
                                   const struct resize_axis *axis, int at,
                                   const struct tensor *last, struct tensor *dy,
                                   struct error *err)
{
    struct shape shape = dy->shape;
    int64_t outer = shape_span(&shape, 0, at);
    int64_t inner = shape_span(&shape, at + 1, shape.rank);
    int parts = gradient_parts(context, tensor_elements(dy));
    struct resize_taps *taps = mem_array((size_t)axis->to, sizeof *taps);
    struct tensor dx = {0};
    enum assay_status st = ASSAY_OK;

    if (!taps)
        return error_nomem(err, (size_t)axis->to * sizeof *taps, "a resize");
    for (int64_t i = 0; i < axis->to; i++)
        taps[i] = resize_make_taps(node->attrs, axis, i);
    shape.dims[at] = axis->from;
    if (last)
        dx = tensor_share(last);
    else
        st = tensor_new(context->pool, DTYPE_F32, &shape, &dx, err);
    if (!st) {
        memset(tensor_data(&dx), 0, tensor_bytes(&dx));
#pragma omp parallel for num_threads(parts) if (parts > 1)
        for (int64_t i = 0; i < outer; i++)
            resize_backward_add_line(taps, axis->to, inner,
                                     tensor_f32(dy) + i * axis->to * inner,
                                     tensor_f32(&dx) + i * axis->from * inner);
        tensor_release(dy);
        *dy = dx;
    }
    mem_free(taps);
    return st;
}

enum assay_status resize_backward(const struct op_context *context,
                                  const struct node *node,
                                  const struct op_backward *pass,
                                  struct error *err)
{
    struct tensor dy = tensor_share(pass->dy[0]);
    const struct tensor *dx = &pass->dx[RESIZE_X];
    struct resize_axis axes[SHAPE_MAX_RANK];
    int last = -1;
    enum assay_status st = resize_axes(node, pass->inputs, axes, err);

    for (int i = 0; !st && i < dy.shape.rank; i++) {
        if (!resize_is_kept(&axes[i]))
            last = i;
    }
    for (int i = 0; !st && i <= last && tensor_elements(pass->dy[0]); i++) {
        if (!resize_is_kept(&axes[i]))
            st = pass_axis(context, node, &axes[i], i, i == last ? dx : NULL,
                           &dy, err);
    }
    if (!st && last < 0)
        gradient_scale(context, 1, &dy, dx);
    tensor_release(&dy);
    return st;
}
