/* ops/detection/resize_boxes.c - ResizeBoxes, see mask_ops.h. */
#include "ops/detection/boxes.h"
#include "ops/detection/mask_ops.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

enum { BOXES, COUNTS, SIZES, ORIGINAL, INPUTS };

static enum assay_status resize_boxes_infer(const struct node *node,
                                            const struct tensor *const *inputs,
                                            struct tensor *outputs,
                                            struct error *err)
{
    enum assay_status st = boxes_check_list(inputs[BOXES], err);

    (void)node;
    if (!st)
        rule_set(&outputs[0], DTYPE_F32, &inputs[BOXES]->shape);
    return st;
}

static enum assay_status
resize_boxes_forward(const struct op_context *context, const struct node *node,
                     const struct tensor *const *inputs, struct tensor *outputs,
                     struct error *err)
{
    const struct box *from = tensor_boxes(inputs[BOXES]);
    struct box *to = tensor_boxes(&outputs[0]);
    int64_t n_images = inputs[COUNTS]->shape.dims[0];
    enum assay_status st =
        boxes_check_counts(inputs[COUNTS], inputs[BOXES]->shape.dims[0], err);

    (void)context, (void)node;
    if (!st)
        st = boxes_check_sizes(inputs[SIZES], n_images, err);
    if (!st)
        st = boxes_check_sizes(inputs[ORIGINAL], n_images, err);
    for (int64_t image = 0; !st && image < n_images; image++) {
        const int64_t *size = tensor_i64(inputs[SIZES]) + 2 * image;
        const int64_t *original = tensor_i64(inputs[ORIGINAL]) + 2 * image;
        float down = (float)original[0] / (float)size[0];
        float across = (float)original[1] / (float)size[1];

        for (int64_t i = 0; i < tensor_i64(inputs[COUNTS])[image]; i++, from++)
            *to++ = (struct box){from->x1 * across, from->y1 * down,
                                 from->x2 * across, from->y2 * down};
    }
    return st;
}

const struct op_class op_resize_boxes = {
    .name = "ResizeBoxes",
    .min_inputs = INPUTS,
    .max_inputs = INPUTS,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = resize_boxes_infer,
    .forward = resize_boxes_forward,
};
