/* backend/dnnl/mul_backward.c - gradients of Mul: of maps of one shape, and of
 * a map by a number a channel, as squeeze and excitation has it. */
#include "backend/dnnl/dnnl_internal.h"

#include "base/variants.h"

/* What one thread does at a time. */
enum { chunk = 1 << 13 };

VARIANTS(void, multiply, (const float *a, const float *b, float *to, size_t n),
         (a, b, to, n))
{
    for (size_t i = 0; i < n; i++)
        to[i] = a[i] * b[i];
}

/* The gradient of one factor is dy by the other. */
static enum assay_status by_other(struct onednn *dn, const struct job *job,
                                  const struct op_backward *pass, size_t input,
                                  struct error *err)
{
    const struct layout *layout = layout_of(dn, pass->dy[0]);
    int64_t n = (int64_t)layout_elements(pass->dy[0]);
    struct tensor *dx = &pass->dx[input], other;
    enum assay_status st = layout_convert(
        dn, job->context->pool, pass->inputs[1 - input], layout, &other, err);

    if (st)
        return st;
    st =
        layout_tensor(job->context->pool, layout, &pass->dy[0]->shape, dx, err);
    if (!st) {
#pragma omp parallel for if (n > chunk)
        for (int64_t i = 0; i < n; i += chunk)
            multiply(tensor_f32(pass->dy[0]) + i, tensor_f32(&other) + i,
                     tensor_f32(dx) + i,
                     (size_t)(n - i < chunk ? n - i : chunk));
    }
    tensor_release(&other);
    return st;
}

/* ---- a map by a number a channel ------------------------------------------
 */

/* A block of channels of one image. */
VARIANTS(void, scale_block,
         (const float *from, const float *by, int64_t plane, int64_t block,
          float *to),
         (from, by, plane, block, to))
{
    for (int64_t p = 0; p < plane; p++) {
        for (int64_t c = 0; c < block; c++)
            to[p * block + c] = from[p * block + c] * by[c];
    }
}

VARIANTS(void, sum_block,
         (const float *a, const float *b, int64_t plane, int64_t block,
          float *sums),
         (a, b, plane, block, sums))
{
    for (int64_t c = 0; c < block; c++)
        sums[c] = 0;
    for (int64_t p = 0; p < plane; p++) {
        for (int64_t c = 0; c < block; c++)
            sums[c] += a[p * block + c] * b[p * block + c];
    }
}

/* The map that is scaled, or -1: the other has a number for each of its
 * channels. */
static int scaled_input(const struct op_backward *pass)
{
    for (int i = 0; i < 2; i++) {
        const struct shape *x = &pass->inputs[i]->shape;
        const struct shape *by = &pass->inputs[1 - i]->shape;

        if (x->rank == 4 && by->rank == 4 && x->dims[0] == by->dims[0] &&
            x->dims[1] == by->dims[1] && by->dims[2] == 1 && by->dims[3] == 1)
            return i;
    }
    return -1;
}

static enum assay_status to_map(struct onednn *dn, const struct job *job,
                                const struct op_backward *pass,
                                const struct channel_blocks *blocks, size_t map,
                                struct error *err)
{
    int64_t size = blocks->plane * blocks->block;
    const struct layout *layout = layout_of(dn, pass->dy[0]);
    const struct layout *channels =
        layout_like(dn, layout, &pass->inputs[1 - map]->shape);
    struct tensor by = {0}, *dx = &pass->dx[map];
    enum assay_status st = ASSAY_OK;

    if (!channels)
        st = error_set(err, ASSAY_UNSUPPORTED, "a map has no channels");
    if (!st)
        st = layout_convert(dn, job->context->pool, pass->inputs[1 - map],
                            channels, &by, err);
    if (!st)
        st = layout_tensor(job->context->pool, layout, &pass->dy[0]->shape, dx,
                           err);
    if (!st) {
#pragma omp parallel for
        for (int64_t i = 0; i < blocks->images * blocks->n_blocks; i++)
            scale_block(tensor_f32(pass->dy[0]) + i * size,
                        tensor_f32(&by) + i * blocks->block, blocks->plane,
                        blocks->block, tensor_f32(dx) + i * size);
    }
    tensor_release(&by);
    return st;
}

static enum assay_status to_scale(struct onednn *dn, const struct job *job,
                                  const struct op_backward *pass,
                                  const struct channel_blocks *blocks,
                                  size_t map, struct error *err)
{
    int64_t size = blocks->plane * blocks->block;
    const struct layout *layout = layout_of(dn, pass->dy[0]);
    const struct layout *channels =
        layout_like(dn, layout, &pass->inputs[1 - map]->shape);
    struct tensor x = {0}, *dx = &pass->dx[1 - map];
    enum assay_status st = ASSAY_OK;

    if (!channels)
        st = error_set(err, ASSAY_UNSUPPORTED, "a map has no channels");
    if (!st)
        st = layout_convert(dn, job->context->pool, pass->inputs[map], layout,
                            &x, err);
    if (!st)
        st = layout_tensor(job->context->pool, channels,
                           &pass->inputs[1 - map]->shape, dx, err);
    if (!st) {
#pragma omp parallel for
        for (int64_t i = 0; i < blocks->images * blocks->n_blocks; i++)
            sum_block(tensor_f32(pass->dy[0]) + i * size,
                      tensor_f32(&x) + i * size, blocks->plane, blocks->block,
                      tensor_f32(dx) + i * blocks->block);
    }
    tensor_release(&x);
    return st;
}

struct op_reads reads_mul(const struct node *node, uint64_t wanted)
{
    (void)node;
    return (struct op_reads){.inputs = (wanted & 1) << 1 | wanted >> 1};
}

enum assay_status backward_mul(struct onednn *dn, struct job *job,
                               const struct op_backward *pass,
                               struct error *err)
{
    bool is_same =
        shape_equal(&pass->inputs[0]->shape, &pass->inputs[1]->shape);
    int map = is_same ? -1 : scaled_input(pass);
    struct channel_blocks blocks;
    enum assay_status st = ASSAY_OK;

    if (is_same) {
        for (size_t i = 0; !st && i < 2; i++) {
            if (op_wants(pass, i))
                st = by_other(dn, job, pass, i, err);
        }
        return st;
    }
    if (map < 0 || !pass->dy[0]->layout || !layout_blocks(pass->dy[0], &blocks))
        return own_backward(dn, job, pass, err);
    if (op_wants(pass, (size_t)map))
        st = to_map(dn, job, pass, &blocks, (size_t)map, err);
    if (!st && op_wants(pass, (size_t)(1 - map)))
        st = to_scale(dn, job, pass, &blocks, (size_t)map, err);
    return st;
}
