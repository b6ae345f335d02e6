/* session/frame.c - see frame.h; drawing is in postprocess.c. */
#include "session/frame.h"

#include "vision/photo_tensor.h"

#include <assay/span.h>

void frame_release(struct frame *frame)
{
    for (size_t i = 0; i < FRAME_MAX_TENSORS; i++)
        tensor_release(&frame->tensors[i]); /* may be of a picture */
    for (size_t i = 0; i < frame->n; i++) {
        picture_release(&frame->pictures[i]);
        found_release(&frame->found[i]);
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
    for (size_t i = 0; !st && i < frame->n && frame->paths[i]; i++)
        st = picture_read(frame->paths[i], &frame->pictures[i], err);
    return st;
}

/* One tensor per photograph, in its own size. */
static enum assay_status make_tensors(struct frame *frame,
                                      const struct session *session,
                                      struct error *err)
{
    bool is_spread_there = engine_takes_pictures(session->engine);
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < frame->n; i++) {
        ASSAY_SPAN("to_tensor");
        st = is_spread_there
                 ? photo_pixels(&frame->pictures[i], &frame->tensors[i], err)
                 : photo_tensor(&frame->pictures[i], session->pool,
                                &frame->tensors[i], err);
    }
    return st;
}

static enum assay_status check_count(const struct model_inputs *inputs,
                                     struct error *err)
{
    return inputs->n <= FRAME_MAX_TENSORS
               ? ASSAY_OK
               : error_set(err, ASSAY_UNSUPPORTED,
                           "the model has %zu inputs; at most %d are possible",
                           inputs->n, FRAME_MAX_TENSORS);
}

/* One image of the batch: the recipe makes it, other inputs describe it. */
static enum assay_status frame_fill_image(struct frame *frame,
                                          const struct model_inputs *inputs,
                                          size_t i, struct error *err)
{
    const struct picture *picture = &frame->pictures[i];

    for (size_t k = 0; k < inputs->n; k++)
        model_inputs_describe(inputs, k, picture->width, picture->height, i,
                              tensor_data(&frame->tensors[k]));
    return recipe_apply(&inputs->recipe, picture,
                        tensor_f32(&frame->tensors[inputs->image]) +
                            i * recipe_elements(&inputs->recipe),
                        err);
}

/* One tensor per input, for all images. */
static enum assay_status make_batch(struct frame *frame,
                                    const struct model_inputs *inputs,
                                    struct pool *pool, struct error *err)
{
    enum assay_status st = check_count(inputs, err);

    for (size_t i = 0; !st && i < inputs->n; i++) {
        st = tensor_new(pool, inputs->sides[i].dtype, &inputs->shapes[i],
                        &frame->tensors[i], err);
        if (!st) /* the pool's owner is that of the thread that computes */
            buffer_set_owner(frame->tensors[i].buffer, OWNER_IMAGES);
    }
    for (size_t i = 0; !st && i < frame->n; i++)
        st = frame_fill_image(frame, inputs, i, err);
    return st;
}

static enum assay_status share_values(struct frame *frame,
                                      const struct model_inputs *inputs,
                                      struct error *err)
{
    enum assay_status st = check_count(inputs, err);

    for (size_t i = 0; !st && i < inputs->n; i++)
        frame->tensors[i] = tensor_share(&inputs->values[i]);
    return st;
}

enum assay_status frame_preprocess(struct frame *frame, struct session *session,
                                   struct error *err)
{
    const struct model_inputs *inputs = &session->inputs;

    ASSAY_SPAN("preprocess");
    switch (inputs->kind) {
    case INPUTS_PHOTOGRAPHS:
        return make_tensors(frame, session, err);
    case INPUTS_BATCH:
        return make_batch(frame, inputs, session->pool, err);
    case INPUTS_RANDOM:
        break;
    }
    return share_values(frame, inputs, err);
}

enum assay_status frame_model(struct frame *frame, struct session *session,
                              struct error *err)
{
    enum assay_status st;

    assay_begin_class("model", graph_class(session->graph));
    st = session_run(session, frame->tensors, err);
    assay_end();
    return st;
}
