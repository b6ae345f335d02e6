/* backend/dnnl/roi_features.c - RoiAlign, both ways, and AnchorGrid, by the
 * ops' own kernels on maps as convolutions leave them. */
#include "backend/dnnl/dnnl_internal.h"

#include "ops/detection/roi_align.h"

#include <string.h>

/* The map as the kernel reads it: dense or in blocks of 8 or 16 channels, after
 * a reorder into *own where it is none of these; of bf16 into blocks, which
 * read faster. */
static enum assay_status get_map(struct onednn *dn, const struct job *job,
                                 const struct tensor *tensor,
                                 struct tensor *own, struct roi_map *map,
                                 struct error *err)
{
    const int64_t *dims = tensor->shape.dims;
    bool is_narrow = layout_of(dn, tensor)->dtype == DTYPE_BF16;
    struct channel_blocks blocks;
    enum assay_status st = ASSAY_OK;

    if (!is_narrow && layout_blocks(tensor, &blocks) &&
        (blocks.order == ORDER_DENSE || blocks.order == ORDER_BLOCKS_OF_8 ||
         blocks.order == ORDER_BLOCKS_OF_16))
        *own = tensor_share(tensor);
    else
        st = layout_convert(
            dn, job->context->pool, tensor,
            layout_ordered(dn, &tensor->shape,
                           is_narrow ? ORDER_BLOCKS_OF_16 : ORDER_DENSE),
            own, err);
    if (st)
        return st;
    *map = (struct roi_map){.data = tensor_f32(own),
                            .n_images = dims[0],
                            .channels = dims[1],
                            .height = dims[2],
                            .width = dims[3],
                            .block = own->layout ? own->layout->block : 0};
    return ASSAY_OK;
}

enum assay_status forward_roi_align(struct onednn *dn, struct job *job,
                                    const struct tensor *const *inputs,
                                    struct tensor *y, struct error *err)
{
    size_t n = job->node->n_inputs - ROI_ALIGN_MAPS, n_owned = 0;
    struct roi_map maps[ROI_ALIGN_MAX_LEVELS];
    struct tensor own[ROI_ALIGN_MAX_LEVELS];
    enum assay_status st = ASSAY_OK;

    while (!st && n_owned < n) {
        st = get_map(dn, job, inputs[ROI_ALIGN_MAPS + n_owned], &own[n_owned],
                     &maps[n_owned], err);
        n_owned += !st;
    }
    if (!st)
        st = tensor_new(job->context->pool, DTYPE_F32, &job->y, y, err);
    if (!st)
        st = roi_align_maps(job->context, job->node, inputs, maps, n, y, err);
    for (size_t i = 0; i < n_owned; i++)
        tensor_release(&own[i]);
    return st;
}

/* Reads the shapes of maps alone. */
enum assay_status forward_anchor_grid(struct onednn *dn, struct job *job,
                                      const struct tensor *const *inputs,
                                      struct tensor *y, struct error *err)
{
    enum assay_status st =
        tensor_new(job->context->pool, y->dtype, &job->y, y, err);

    (void)dn;
    return st ? st
              : job->node->op->forward(job->context, job->node, inputs, y, err);
}

/* ---- backward ------------------------------------------------------------ */

/* Zeros in blocks of channels, as the kernel that made the map wants its
 * gradient. */
static enum assay_status make_gradient(struct onednn *dn, const struct job *job,
                                       const struct shape *shape,
                                       struct tensor *out, struct error *err)
{
    const struct layout *layout =
        layout_ordered(dn, shape, layout_own_blocks());
    enum assay_status st =
        layout_tensor(job->context->pool, layout, shape, out, err);

    if (!st)
        memset(tensor_data(out), 0, layout->bytes);
    return st;
}

enum assay_status backward_roi_align(struct onednn *dn, struct job *job,
                                     const struct op_backward *pass,
                                     struct error *err)
{
    size_t n = job->node->n_inputs - ROI_ALIGN_MAPS;
    struct roi_map maps[ROI_ALIGN_MAX_LEVELS];
    float *dx[ROI_ALIGN_MAX_LEVELS] = {NULL};
    struct tensor dy = {0};
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < n; i++) {
        const struct shape *x = &pass->inputs[ROI_ALIGN_MAPS + i]->shape;
        struct tensor *to = &pass->dx[ROI_ALIGN_MAPS + i];

        maps[i] = (struct roi_map){.n_images = x->dims[0],
                                   .channels = x->dims[1],
                                   .height = x->dims[2],
                                   .width = x->dims[3]};
        if (!op_wants(pass, ROI_ALIGN_MAPS + i))
            continue;
        st = make_gradient(dn, job, x, to, err);
        if (st)
            break;
        dx[i] = tensor_f32(to);
        maps[i].block = to->layout->block;
    }
    if (!st)
        st = layout_convert(dn, job->context->pool, pass->dy[0],
                            layout_dense(dn, &pass->dy[0]->shape), &dy, err);
    if (!st)
        st = roi_align_maps_backward(job->context, job->node, pass->inputs,
                                     maps, n, &dy, dx, err);
    tensor_release(&dy);
    return st;
}
