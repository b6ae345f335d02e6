/* backend/cuda/cuda_rooms.c - see cuda_internal.h: lists whose length is data,
 * in passes that are recorded. */
#include "backend/cuda/cuda_internal.h"

#include "base/mem.h"
#include "base/vec.h"
#include "ops/detection/box_detections.h"
#include "ops/detection/rpn_nms.h"
#include "ops/ops.h"

#include <string.h>

/* ---- how long lists are -------------------------------------------------- */

static struct backend_rows rows_counted(uint32_t counts, int64_t image)
{
    return (struct backend_rows){ROWS_COUNTED, counts, image};
}

struct backend_rows cuda_rows(const struct backend *backend,
                              const struct node *node, size_t output)
{
    static const struct backend_rows fixed = {.kind = ROWS_FIXED};
    enum { boxes_counts = 1, masks_counts = 2 }; /* inputs that count them */

    (void)backend;
    if (node->op == &op_rpn_nms)
        return output == RPN_NMS_PROPOSALS
                   ? rows_counted(node->outputs[RPN_NMS_KEPT], -1)
                   : fixed;
    if (node->op == &op_box_detections)
        return output != BOX_DETECTIONS_KEPT
                   ? rows_counted(node->outputs[BOX_DETECTIONS_KEPT], -1)
                   : fixed;
    if (node->op == &op_resize_boxes)
        return rows_counted(node->inputs[boxes_counts], -1);
    if (node->op == &op_paste_masks)
        return rows_counted(node->inputs[masks_counts], (int64_t)output);
    return (struct backend_rows){.kind = ROWS_AS_INPUTS};
}

void cuda_keep_rooms(struct backend *backend, bool keeps_rooms)
{
    ((struct cuda *)backend)->keeps_rooms = keeps_rooms;
}

/* ---- numbers that the host knows ----------------------------------------- */

struct cuda_numbers {
    uint32_t value;
    int64_t *of;
    size_t n;
};

void cuda_numbers_release(struct cuda *cuda)
{
    for (size_t i = 0; i < cuda->n_numbers; i++)
        mem_free(cuda->numbers[i].of);
    mem_free(cuda->numbers);
}

static struct cuda_numbers *rooms_numbers(const struct cuda *cuda,
                                          uint32_t value)
{
    for (size_t i = 0; i < cuda->n_numbers; i++) {
        if (cuda->numbers[i].value == value)
            return &cuda->numbers[i];
    }
    return NULL;
}

enum assay_status cuda_numbers_keep(struct cuda_call *call, uint32_t value,
                                    const int64_t *numbers, size_t n)
{
    struct cuda *cuda = call->cuda;
    struct cuda_numbers *kept = rooms_numbers(cuda, value);

    if (!kept) {
        if (!vec_grow(&cuda->numbers, &cuda->numbers_capacity,
                      cuda->n_numbers + 1, sizeof *cuda->numbers))
            return error_nomem(call->err, sizeof *kept, "sizes");
        kept = &cuda->numbers[cuda->n_numbers++];
        *kept = (struct cuda_numbers){.value = value};
    }
    if (kept->n != n) {
        mem_free(kept->of);
        kept->of = mem_array(n, sizeof *kept->of);
        kept->n = kept->of ? n : 0;
    }
    if (kept->n != n)
        return error_nomem(call->err, n * sizeof *kept->of, "sizes");
    memcpy(kept->of, numbers, n * sizeof *numbers);
    return ASSAY_OK;
}

const int64_t *cuda_numbers_find(const struct cuda_call *call, uint32_t value,
                                 size_t n)
{
    const struct cuda_numbers *kept = rooms_numbers(call->cuda, value);

    return kept && kept->n == n ? kept->of : NULL;
}
