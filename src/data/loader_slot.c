/* data/loader_slot.c - puts samples together into a batch. */
#include "data/loader_parts_internal.h"

#include "base/mem.h"

#include <string.h>

enum assay_status slot_prepare(struct slot *slot,
                               const struct sample_options *options,
                               struct error *err)
{
    const struct sample_fit *fit = options->fit;
    struct shape shape;

    if (!fit)
        return ASSAY_OK;
    shape = shape_of(4, (int64_t)slot->n, (int64_t)3, (int64_t)fit->height,
                     (int64_t)fit->width);
    return sample_tensor(options, DTYPE_F32, &shape, &slot->stack, err);
}

static size_t image_floats(const struct slot *slot)
{
    return tensor_elements(&slot->stack) / slot->n;
}

float *slot_image(const struct slot *slot, size_t cell)
{
    return slot->stack.buffer
               ? tensor_f32(&slot->stack) + cell * image_floats(slot)
               : NULL;
}

void slot_clear(struct slot *slot)
{
    for (size_t i = 0; i < slot->n; i++)
        sample_release(&slot->cells[i].sample);
    tensor_release(&slot->stack);
    batch_release(&slot->batch);
    *slot = (struct slot){.cells = slot->cells};
}

/* ---- putting together ------------------------------------------------- */

/* Closes the gaps of images that were skipped. */
static enum assay_status finish_classes(struct slot *slot,
                                        const struct sample_options *options)
{
    struct batch *batch = &slot->batch;
    struct shape shape = shape_of(1, (int64_t)batch->n_images);
    size_t floats = image_floats(slot), n = 0;
    enum assay_status st;

    batch->images = mem_array(1, sizeof *batch->images);
    if (!batch->images)
        return error_nomem(&slot->err, sizeof *batch->images, "a batch");
    st = sample_tensor(options, DTYPE_I64, &shape, &batch->labels, &slot->err);
    for (size_t i = 0; !st && i < slot->n; i++) {
        if (!slot->cells[i].has_sample)
            continue;
        if (n < i)
            memcpy(slot_image(slot, n), slot_image(slot, i),
                   floats * sizeof(float));
        tensor_i64(&batch->labels)[n++] = slot->cells[i].sample.label;
    }
    if (st)
        return st;
    batch->images[0] = slot->stack;
    batch->images[0].shape.dims[0] = (int64_t)n;
    batch->n_tensors = 1;
    slot->stack = (struct tensor){0}; /* the batch's from here on */
    return ASSAY_OK;
}

static enum assay_status take_objects(struct slot *slot,
                                      const struct sample_options *options,
                                      size_t total)
{
    struct batch *batch = &slot->batch;
    struct shape boxes = shape_of(2, (int64_t)total, (int64_t)4);
    struct shape labels = shape_of(1, (int64_t)total);
    struct shape counts = shape_of(1, (int64_t)batch->n_images);
    enum assay_status st =
        sample_tensor(options, DTYPE_F32, &boxes, &batch->boxes, &slot->err);

    if (!st)
        st = sample_tensor(options, DTYPE_I64, &labels, &batch->labels,
                           &slot->err);
    if (!st)
        st = sample_tensor(options, DTYPE_I64, &counts, &batch->counts,
                           &slot->err);
    batch->images = mem_array(batch->n_images, sizeof *batch->images);
    batch->masks = options->has_masks
                       ? mem_array(batch->n_images, sizeof *batch->masks)
                       : NULL;
    if (!st && (!batch->images || (options->has_masks && !batch->masks)))
        st = error_nomem(&slot->err, batch->n_images * sizeof *batch->images,
                         "a batch");
    return st;
}

/* Moves the tensors of a sample into the batch. */
static void batch_take_sample(struct batch *batch, struct made_sample *sample,
                              size_t at)
{
    memcpy(tensor_f32(&batch->boxes) + 4 * at, sample->boxes,
           sample->n * sizeof *sample->boxes);
    memcpy(tensor_i64(&batch->labels) + at, sample->labels,
           sample->n * sizeof *sample->labels);
    tensor_i64(&batch->counts)[batch->n_tensors] = (int64_t)sample->n;
    batch->images[batch->n_tensors++] = sample->image;
    sample->image = (struct tensor){0};
    if (batch->masks) {
        batch->masks[batch->n_masks++] = sample->masks;
        sample->masks = (struct tensor){0};
    }
}

static enum assay_status finish_objects(struct slot *slot,
                                        const struct sample_options *options)
{
    size_t total = 0, at = 0;
    enum assay_status st;

    for (size_t i = 0; i < slot->n; i++)
        total += slot->cells[i].sample.n;
    st = take_objects(slot, options, total);
    for (size_t i = 0; !st && i < slot->n; i++) {
        struct made_sample *sample = &slot->cells[i].sample;

        if (!slot->cells[i].has_sample)
            continue;
        slot->n_cut += sample->n_cut;
        slot->n_left_out += sample->n_left_out;
        batch_take_sample(&slot->batch, sample, at);
        at += sample->n;
    }
    return st;
}

void slot_finish(struct slot *slot, const struct sample_options *options)
{
    for (size_t i = 0; i < slot->n && !slot->st; i++) {
        if (slot->cells[i].st == ASSAY_NOMEM) {
            slot->st = slot->cells[i].st;
            slot->err = slot->cells[i].err;
        }
        slot->batch.n_images += slot->cells[i].has_sample;
        slot->batch.n_skipped += slot->cells[i].st != ASSAY_OK;
    }
    if (slot->st || slot->batch.n_images == 0)
        return;
    slot->st = options->fit ? finish_classes(slot, options)
                            : finish_objects(slot, options);
}
