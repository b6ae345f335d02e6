/* backend/dnnl/roi_features.c - RoiAlign, by the op's own kernel on maps as
 * convolutions leave them. */
#include "backend/dnnl/dnnl_internal.h"

#include "ops/roi_align.h"

/* The map as the kernel reads it: dense or in blocks of 16 channels, after a
 * reorder into *own where it is neither. */
static enum assay_status get_map(struct onednn *dn, const struct job *job,
                                 const struct tensor *tensor,
                                 struct tensor *own, struct roi_map *map,
                                 struct error *err)
{
    dnnl_memory_desc_t dense = desc_dense(&tensor->shape);
    const int64_t *dims = tensor->shape.dims;
    struct channel_blocks blocks;
    enum assay_status st = ASSAY_OK;

    if (layout_blocks(tensor, &blocks) &&
        (blocks.tag == dnnl_nchw || blocks.tag == dnnl_nChw16c))
        *own = tensor_share(tensor);
    else
        st = layout_convert(dn, job->context->pool, tensor, &dense, own, err);
    if (st)
        return st;
    *map = (struct roi_map){.data = tensor_f32(own),
                            .n_images = dims[0],
                            .channels = dims[1],
                            .height = dims[2],
                            .width = dims[3],
                            .is_blocked = own->layout != NULL};
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
