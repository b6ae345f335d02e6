/* ops/detection/detection_targets.c - see detection_targets.h. */
#include "ops/detection/detection_targets.h"

#include "ops/detection/boxes.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

#include <math.h>

static enum assay_status
detection_targets_infer(const struct node *node,
                        const struct tensor *const *inputs,
                        struct tensor *outputs, struct error *err)
{
    static const struct input_rule rule = {DETECTION_TARGETS_LABELS, 1,
                                           DTYPE_I64};
    const struct shape *boxes = &inputs[DETECTION_TARGETS_BOXES]->shape;
    enum assay_status st =
        boxes_check_list(inputs[DETECTION_TARGETS_BOXES], err);

    (void)node;
    if (!st)
        st = rule_inputs(inputs, &rule, 1, err);
    if (!st &&
        inputs[DETECTION_TARGETS_LABELS]->shape.dims[0] != boxes->dims[0])
        st = error_set(
            err, ASSAY_BAD_INPUT, "%lld boxes, but %lld classes",
            (long long)boxes->dims[0],
            (long long)inputs[DETECTION_TARGETS_LABELS]->shape.dims[0]);
    if (!st)
        rule_set(&outputs[0], DTYPE_F32, boxes);
    return st;
}

/* Checks the class of object i of an image, and its original and resized box.
 */
static enum assay_status check_object(const struct node *node, int64_t image,
                                      int64_t i, int64_t label, struct box from,
                                      struct box to, struct error *err)
{
    int64_t n_classes =
        ((const struct detection_targets_attrs *)node->attrs)->n_classes;
    bool is_finite = isfinite(from.x1) && isfinite(from.y1) &&
                     isfinite(from.x2) && isfinite(from.y2);

    if (label < 1 || label >= n_classes)
        return error_set(err, ASSAY_BAD_INPUT,
                         "object %lld of image %lld has class %lld; the model "
                         "has classes 1 to %lld",
                         (long long)i, (long long)image, (long long)label,
                         (long long)n_classes - 1);
    if (!is_finite || !(to.x2 > to.x1) || !(to.y2 > to.y1))
        return error_set(err, ASSAY_BAD_INPUT,
                         "object %lld of image %lld has an invalid box, from "
                         "%g,%g to %g,%g",
                         (long long)i, (long long)image, from.x1, from.y1,
                         from.x2, from.y2);
    return ASSAY_OK;
}

static enum assay_status
detection_targets_forward(const struct op_context *context,
                          const struct node *node,
                          const struct tensor *const *inputs,
                          struct tensor *outputs, struct error *err)
{
    const struct tensor *counts = inputs[DETECTION_TARGETS_COUNTS];
    const struct box *from = tensor_boxes(inputs[DETECTION_TARGETS_BOXES]);
    const int64_t *label = tensor_i64(inputs[DETECTION_TARGETS_LABELS]);
    const struct box *to = tensor_boxes(&outputs[0]);
    enum assay_status st =
        boxes_rescale(inputs[DETECTION_TARGETS_BOXES], counts,
                      inputs[DETECTION_TARGETS_ORIGINAL],
                      inputs[DETECTION_TARGETS_SIZES], &outputs[0], err);

    (void)context;
    for (int64_t image = 0; !st && image < counts->shape.dims[0]; image++) {
        for (int64_t i = 0; !st && i < tensor_i64(counts)[image]; i++)
            st = check_object(node, image, i, *label++, *from++, *to++, err);
    }
    return st;
}

const struct op_class op_detection_targets = {
    .name = "DetectionTargets",
    .attrs_bytes = sizeof(struct detection_targets_attrs),
    OP_TAKES(DETECTION_TARGETS_INPUTS, DETECTION_TARGETS_INPUTS),
    OP_MAKES(1, 1),
    .infer = detection_targets_infer,
    .forward = detection_targets_forward,
    .cost = rule_cost_elementwise,
};
