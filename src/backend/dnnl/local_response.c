/* backend/dnnl/local_response.c - LocalResponseNorm of maps in channel blocks,
 * as convolutions leave them. */
#include "backend/dnnl/dnnl_internal.h"

#include "backend/direct/direct.h"
#include "ops/norm/normalize.h"

enum assay_status
forward_local_response_norm(struct onednn *dn, struct job *job,
                            const struct tensor *const *inputs,
                            struct tensor *y, struct error *err)
{
    const struct local_response_norm_attrs *attrs = job->node->attrs;
    struct channel_blocks blocks;
    enum assay_status st;

    if (!job->x->layout || !layout_blocks(job->x, &blocks) ||
        blocks.order == ORDER_CHANNELS_LAST || blocks.block != direct_lanes() ||
        attrs->size / 2 > blocks.block)
        return own_kernel(dn, job, inputs, y, err);
    st = layout_tensor(job->context->pool, layout_of(dn, job->x), &job->y, y,
                       err);
    if (st)
        return st;
    direct_respond(
        &(struct direct_responses){.x = tensor_f32(job->x),
                                   .y = tensor_f32(y),
                                   .images = blocks.images,
                                   .n_blocks = blocks.n_blocks,
                                   .pixels = blocks.plane,
                                   .before = (attrs->size - 1) / 2,
                                   .after = attrs->size / 2,
                                   .scale = attrs->alpha / (float)attrs->size,
                                   .bias = attrs->bias,
                                   .beta = attrs->beta});
    clear_last_lanes(y); /* without a bias, 0 / 0 */
    return ASSAY_OK;
}
