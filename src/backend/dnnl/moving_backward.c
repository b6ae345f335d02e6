/* backend/dnnl/moving_backward.c - gradients of Concat and ResizeNearest, on
 * the layouts that convolutions leave. */
#include "backend/dnnl/dnnl_internal.h"

#include "base/variants.h"
#include "ops/movement/concat.h"
#include "ops/movement/resize_nearest.h"

#include <string.h>

/* ---- Concat -------------------------------------------------------------- */

static bool is_in_blocks(const struct node *node, const struct tensor *dy)
{
    struct channel_blocks blocks;

    return dy->layout && dy->shape.rank == 4 && concat_axis(node, 4) == 1 &&
           layout_blocks(dy, &blocks) && blocks.order != ORDER_CHANNELS_LAST;
}

static enum assay_status make_like(struct onednn *dn, const struct job *job,
                                   const struct tensor *like,
                                   const struct shape *shape,
                                   struct tensor *out, struct error *err)
{
    const struct layout *layout = layout_like(dn, layout_of(dn, like), shape);

    if (!layout)
        return error_set(err, ASSAY_UNSUPPORTED, "a map has no channels");
    return layout_tensor(job->context->pool, layout, shape, out, err);
}

enum assay_status backward_concat(struct onednn *dn, struct job *job,
                                  const struct op_backward *pass,
                                  struct error *err)
{
    const struct tensor *dy = pass->dy[0];
    int64_t at = 0;

    if (!is_in_blocks(job->node, dy))
        return own_backward(dn, job, pass, err);
    for (size_t i = 0; i < job->node->n_inputs; i++) {
        const struct tensor *x = pass->inputs[i];
        int64_t channels = x->shape.dims[1];
        enum assay_status st;

        at += channels;
        if (!op_wants(pass, i))
            continue;
        st = make_like(dn, job, dy, &x->shape, &pass->dx[i], err);
        if (st)
            return st;
        move_channels(dy, at - channels, &pass->dx[i], 0, channels);
        clear_last_lanes(&pass->dx[i]);
    }
    return ASSAY_OK;
}

/* ---- ResizeNearest ------------------------------------------------------- */

/* Adds a row to the one it was stretched from. */
VARIANTS(void, shrink_row,
         (const float *from, int64_t from_width, float *to, int64_t to_width,
          int64_t block),
         (from, from_width, to, to_width, block))
{
    for (int64_t j = 0; j < from_width; j++) {
        float *pixel =
            to + resize_nearest_source(j, to_width, from_width) * block;

        for (int64_t c = 0; c < block; c++)
            pixel[c] += from[j * block + c];
    }
}

static void shrink(const struct channel_blocks *blocks, const struct tensor *dy,
                   const struct tensor *dx)
{
    const int64_t *from = dy->shape.dims + 2, *to = dx->shape.dims + 2;
    int64_t block = blocks->block, n = blocks->images * blocks->n_blocks;

#pragma omp parallel for
    for (int64_t i = 0; i < n; i++) {
        const float *read = tensor_f32(dy) + i * from[0] * from[1] * block;
        float *write = tensor_f32(dx) + i * to[0] * to[1] * block;

        memset(write, 0, (size_t)(to[0] * to[1] * block) * sizeof *write);
        for (int64_t row = 0; row < from[0]; row++)
            shrink_row(read + row * from[1] * block, from[1],
                       write + resize_nearest_source(row, to[0], from[0]) *
                                   to[1] * block,
                       to[1], block);
    }
}

/* The map whose size was taken gets none. */
enum assay_status backward_resize_nearest(struct onednn *dn, struct job *job,
                                          const struct op_backward *pass,
                                          struct error *err)
{
    const struct tensor *dy;
    struct channel_blocks blocks;
    struct tensor own;
    enum assay_status st;

    if (!op_wants(pass, 0))
        return ASSAY_OK;
    job->x = pass->dy[0];
    st = get_blocked(dn, job, &own, &dy, &blocks, err);
    if (!st)
        st = make_like(dn, job, dy, &pass->inputs[0]->shape, &pass->dx[0], err);
    if (!st)
        shrink(&blocks, dy, &pass->dx[0]);
    tensor_release(&own);
    return st;
}
