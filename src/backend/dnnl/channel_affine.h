/* backend/dnnl/channel_affine.h - maps scaled and shifted channel by channel,
 * at once or by whoever reads them.
 *
 * A BatchNorm whose result only a convolution of 1x1 reads leaves its input as
 * it is: the convolution scales a few pixels at a time, while they are near.
 * The tensor's layout says what is still to be done to it, so that whoever else
 * asks for its numbers gets them by layout_convert().
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_DNNL_CHANNEL_AFFINE_H
#define BACKEND_DNNL_CHANNEL_AFFINE_H

#include "backend/dnnl/dnnl_internal.h"

struct channel_affine {
    const float *scale, *shift; /* a number for every channel */
    const float *plus;          /* a map of the same layout; NULL: none */
    bool has_relu;              /* cut off at high */
    float high;
};

/* to = from * scale + shift + plus, then the ReLU; `to` may be `from`. */
void affine_channels(const struct channel_blocks *blocks,
                     const struct channel_affine *by, const float *from,
                     float *to);

/* What is to be done to a tensor of such a layout. */
struct pending {
    struct layout layout;      /* first: that of the tensor */
    const struct layout *base; /* how its numbers lie */
    float *scale, *shift;      /* with those that fill up the last block */
    bool has_relu;
    bool is_made; /* scale and shift are of the parameters as they are */
    struct pending *next; /* of the same node */
};

/* The tensor of a node, if something is to be done to it; NULL: it is ready. */
const struct pending *pending_of(const struct tensor *tensor);
/* Leaves what a BatchNorm does to whoever reads its result. False: it has to be
 * done now. */
bool pending_leave(struct onednn *dn, const struct job *job,
                   const struct tensor *const *inputs, struct tensor *y);
/* Parameters are others than they were. */
void pending_forget(struct onednn *dn);
/* Does it, in the layout that the numbers have. */
enum assay_status pending_apply(struct pool *pool, const struct tensor *tensor,
                                struct tensor *out, struct error *err);

#endif
