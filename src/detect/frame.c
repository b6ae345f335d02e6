/* detect/frame.c - see frame.h; drawing is in postprocess.c. */
#include "detect/frame.h"

#include "detect/photo_tensor.h"

#include <assay/span.h>

void frame_release(struct frame *frame)
{
    for (size_t i = 0; i < frame->n; i++) {
        picture_release(&frame->pictures[i]);
        tensor_release(&frame->tensors[i]);
    }
}

size_t frame_bytes(const struct frame *frame)
{
    size_t pixels = 0;

    for (size_t i = 0; i < frame->n; i++)
        pixels += (size_t)frame->pictures[i].width *
                  (size_t)frame->pictures[i].height;
    return 3 * pixels;
}

enum assay_status frame_decode(struct frame *frame, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    ASSAY_SPAN("decode");
    for (size_t i = 0; !st && i < frame->n; i++)
        st = picture_read(frame->paths[i], &frame->pictures[i], err);
    return st;
}

enum assay_status frame_preprocess(struct frame *frame, struct pool *pool,
                                   struct error *err)
{
    enum assay_status st = ASSAY_OK;

    ASSAY_SPAN("preprocess");
    for (size_t i = 0; !st && i < frame->n; i++) {
        ASSAY_SPAN("to_tensor");
        st = photo_tensor(&frame->pictures[i], pool, &frame->tensors[i], err);
    }
    return st;
}

enum assay_status frame_model(struct frame *frame, struct session *session,
                              bool is_measured, struct error *err)
{
    enum assay_status st;

    assay_begin_class("model", graph_class(session->graph));
    st = session_run(session, frame->tensors, is_measured, err);
    assay_end();
    return st;
}
