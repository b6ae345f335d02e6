/* ops/detection/roi_align_backward.c - the gradients of the maps that boxes
 * were pooled from. Boxes get none, as in torchvision. */
#include "ops/detection/roi_align_internal.h"
#include "ops/op_threads.h"

/* The boxes of one image, one after the other, into one block of channels:
 * nobody else writes there. */
static void spread_image(const struct roi_work *work,
                         const struct roi_map *maps, int64_t image,
                         int64_t block, const float *dy, float *const *dx)
{
    float *scratch = (float *)(void *)(work->scratch + (size_t)op_thread() *
                                                           work->scratch_bytes);

    for (int64_t i = 0; i < work->n; i++) {
        const struct roi *roi = &work->rois[i];
        float *map = dx[roi->map - maps];
        int64_t each = roi->map->channels * roi->size * roi->size;

        if (roi->image == image && map)
            roi_spread_block(roi, work->plans + (size_t)i * work->plan_bytes,
                             block, scratch, dy + i * each, map);
    }
}

enum assay_status roi_align_maps_backward(
    const struct op_context *context, const struct node *node,
    const struct tensor *const *inputs, const struct roi_map *maps,
    size_t n_maps, const struct tensor *dy, float *const *dx, struct error *err)
{
    struct roi_work work;
    enum assay_status st =
        roi_work_start(context, node, inputs, maps, n_maps, &work, err);
    int64_t n_pieces = maps[0].n_images * work.n_blocks;

    if (st)
        return st;
#pragma omp parallel num_threads(op_threads(context))
    {
#pragma omp for
        for (int64_t i = 0; i < work.n; i++)
            roi_plan(&work.rois[i], work.plans + (size_t)i * work.plan_bytes);
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < n_pieces; i++)
            spread_image(&work, maps, i / work.n_blocks, i % work.n_blocks,
                         tensor_f32(dy), dx);
    }
    buffer_release(work.memory);
    return ASSAY_OK;
}

struct op_reads roi_align_backward_reads(const struct node *node,
                                         uint64_t wanted)
{
    (void)node, (void)wanted;
    return (struct op_reads){.inputs = 1 << ROI_ALIGN_BOXES |
                                       1 << ROI_ALIGN_COUNTS |
                                       1 << ROI_ALIGN_SIZES};
}

enum assay_status roi_align_backward(const struct op_context *context,
                                     const struct node *node,
                                     const struct op_backward *pass,
                                     struct error *err)
{
    struct roi_map maps[ROI_ALIGN_MAX_LEVELS];
    size_t n_maps = roi_align_list_maps(node, pass->inputs, maps);
    float *dx[ROI_ALIGN_MAX_LEVELS] = {NULL};

    for (size_t i = 0; i < n_maps; i++) {
        if (op_wants(pass, ROI_ALIGN_MAPS + i))
            dx[i] = tensor_f32(&pass->dx[ROI_ALIGN_MAPS + i]);
    }
    return roi_align_maps_backward(context, node, pass->inputs, maps, n_maps,
                                   pass->dy[0], dx, err);
}

/* A sample is added to four places. */
void roi_align_backward_cost(const struct node *node,
                             const struct op_backward *pass, struct cost *cost)
{
    const struct roi_align_attrs *attrs = roi_align_attrs(node);

    cost->flops += 8 * tensor_elements(pass->dy[0]) *
                   (uint64_t)(attrs->sampling_ratio * attrs->sampling_ratio);
}
