/* ops/detection/roi_positives.c - see roi_positives.h. */
#include "ops/detection/roi_positives.h"

#include "ops/detection/boxes.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

static enum assay_status roi_positives_check(const struct tensor *const *inputs,
                                             struct error *err)
{
    int64_t n = inputs[ROI_POSITIVES_BOXES]->shape.dims[0];
    enum assay_status st = boxes_check_list(inputs[ROI_POSITIVES_BOXES], err);

    if (!st)
        st = boxes_check_counts(inputs[ROI_POSITIVES_COUNTS], n, err);
    for (size_t i = ROI_POSITIVES_LABELS; !st && i < ROI_POSITIVES_PARTS; i++) {
        st = rule_dtype(inputs, i, DTYPE_I64, err);
        if (!st && (int64_t)tensor_elements(inputs[i]) != n)
            st = error_set(err, ASSAY_BAD_INPUT, "%zu numbers for %lld boxes",
                           tensor_elements(inputs[i]), (long long)n);
    }
    return st;
}

static size_t count_positives(const struct tensor *labels)
{
    size_t n = 0;

    for (size_t i = 0; i < tensor_elements(labels); i++)
        n += tensor_i64(labels)[i] > 0;
    return n;
}

static enum assay_status
roi_positives_make_outputs(const struct op_context *context,
                           const struct tensor *const *inputs,
                           struct tensor *outputs, struct error *err)
{
    size_t n = count_positives(inputs[ROI_POSITIVES_LABELS]);
    enum assay_status st = rows_new(context->pool, DTYPE_F32, n, 4,
                                    &outputs[ROI_POSITIVES_BOXES], err);

    if (!st)
        st = tensor_new(context->pool, DTYPE_I64,
                        &inputs[ROI_POSITIVES_COUNTS]->shape,
                        &outputs[ROI_POSITIVES_COUNTS], err);
    for (int i = ROI_POSITIVES_LABELS; !st && i < ROI_POSITIVES_PARTS; i++)
        st = rows_new(context->pool, DTYPE_I64, n, 0, &outputs[i], err);
    return st;
}

static enum assay_status
roi_positives_forward(const struct op_context *context, const struct node *node,
                      const struct tensor *const *inputs,
                      struct tensor *outputs, struct error *err)
{
    const struct tensor *counts = inputs[ROI_POSITIVES_COUNTS];
    enum assay_status st = roi_positives_check(inputs, err);
    int64_t row = 0, to = 0;

    (void)node;
    if (!st)
        st = roi_positives_make_outputs(context, inputs, outputs, err);
    for (size_t image = 0; !st && image < tensor_elements(counts); image++) {
        int64_t end = row + tensor_i64(counts)[image], before = to;

        for (; row < end; row++) {
            if (tensor_i64(inputs[ROI_POSITIVES_LABELS])[row] <= 0)
                continue;
            tensor_boxes(&outputs[ROI_POSITIVES_BOXES])[to] =
                tensor_boxes(inputs[ROI_POSITIVES_BOXES])[row];
            for (int i = ROI_POSITIVES_LABELS; i < ROI_POSITIVES_PARTS; i++)
                tensor_i64(&outputs[i])[to] = tensor_i64(inputs[i])[row];
            to++;
        }
        tensor_i64(&outputs[ROI_POSITIVES_COUNTS])[image] = to - before;
    }
    return st;
}

const struct op_class op_roi_positives = {
    .name = "RoiPositives",
    OP_TAKES(ROI_POSITIVES_PARTS, ROI_POSITIVES_PARTS),
    OP_MAKES(ROI_POSITIVES_PARTS, ROI_POSITIVES_PARTS),
    .forward = roi_positives_forward,
};
