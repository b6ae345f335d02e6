/* ops/detection/rpn_nms.c - see rpn_nms.h. */
#include "ops/detection/rpn_nms.h"

#include "ops/attr_fields.h"
#include "ops/detection/nms.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

#include <math.h>
#include <string.h>

/* The boxes of one image that are large and sure enough. */
struct candidates {
    struct buffer *memory;
    struct box *boxes;
    float *scores;
    int64_t *levels;
    uint32_t *kept;
    struct box *proposals; /* kept, of all images */
    size_t n, n_proposals;
};

static enum assay_status candidates_take(struct candidates *candidates,
                                         struct pool *pool, size_t n,
                                         struct error *err)
{
    size_t each = 2 * sizeof(struct box) + sizeof(float) + sizeof(int64_t) +
                  sizeof(uint32_t);
    enum assay_status st = pool_take_scratch(
        pool, n * each, "comparing proposals", &candidates->memory, err);

    if (st)
        return st;
    candidates->levels = buffer_data(candidates->memory);
    candidates->boxes = (struct box *)(void *)(candidates->levels + n);
    candidates->proposals = candidates->boxes + n;
    candidates->scores = (float *)(void *)(candidates->proposals + n);
    candidates->kept = (uint32_t *)(void *)(candidates->scores + n);
    return ASSAY_OK;
}

/* Adds the boxes of a level that are large and sure enough; drops NaN scores.
 */
static void add_level(struct candidates *candidates,
                      const struct rpn_nms_attrs *attrs,
                      const struct box *boxes, const float *logits, int64_t n,
                      int64_t level)
{
    for (int64_t i = 0; i < n; i++) {
        float score = 1 / (1 + expf(-logits[i]));

        if (!box_is_at_least(boxes[i], attrs->min_size) ||
            !(score >= attrs->score))
            continue;
        candidates->boxes[candidates->n] = boxes[i];
        candidates->scores[candidates->n] = score;
        candidates->levels[candidates->n++] = level;
    }
}

static enum assay_status rpn_nms_keep_best(const struct op_context *context,
                                           struct candidates *candidates,
                                           const struct rpn_nms_attrs *attrs,
                                           int64_t n_levels, int64_t *count,
                                           int64_t *levels, struct error *err)
{
    struct nms_input input = {.boxes = candidates->boxes,
                              .scores = candidates->scores,
                              .groups = candidates->levels,
                              .n = candidates->n,
                              .n_groups = (size_t)n_levels,
                              .iou = attrs->iou};
    size_t n;
    enum assay_status st = nms_run(context, &input, candidates->kept, &n, err);

    if (st)
        return st;
    if (n > (size_t)attrs->keep)
        n = (size_t)attrs->keep;
    memset(levels, 0, (size_t)n_levels * sizeof *levels);
    for (size_t i = 0; i < n; i++) {
        uint32_t kept = candidates->kept[i];

        candidates->proposals[candidates->n_proposals++] =
            candidates->boxes[kept];
        levels[candidates->levels[kept]]++;
    }
    *count = (int64_t)n;
    return ASSAY_OK;
}

static enum assay_status rpn_nms_check(const struct node *node,
                                       const struct tensor *const *inputs,
                                       struct error *err)
{
    static const struct input_rule rules[] = {{RPN_NMS_LOGITS, 1, DTYPE_F32},
                                              {RPN_NMS_COUNTS, 2, DTYPE_I64}};
    const struct rpn_nms_attrs *attrs = node->attrs;
    enum assay_status st = boxes_check_list(inputs[RPN_NMS_BOXES], err);
    int64_t n = inputs[RPN_NMS_BOXES]->shape.dims[0];

    if (!st)
        st = rule_inputs(inputs, rules, 2, err);
    if (!st)
        st = boxes_check_counts(inputs[RPN_NMS_COUNTS], n, err);
    if (!st && (inputs[RPN_NMS_LOGITS]->shape.dims[0] != n || attrs->keep < 0))
        st = error_set(err, ASSAY_BAD_INPUT,
                       "%lld scores for %lld boxes, to keep %lld",
                       (long long)inputs[RPN_NMS_LOGITS]->shape.dims[0],
                       (long long)n, (long long)attrs->keep);
    return st;
}

static enum assay_status rpn_nms_forward(const struct op_context *context,
                                         const struct node *node,
                                         const struct tensor *const *inputs,
                                         struct tensor *outputs,
                                         struct error *err)
{
    const int64_t *dims = inputs[RPN_NMS_COUNTS]->shape.dims;
    struct tensor *proposals = &outputs[RPN_NMS_PROPOSALS];
    struct candidates candidates = {0};
    enum assay_status st = rpn_nms_check(node, inputs, err);
    size_t at = 0;

    if (!st)
        st = candidates_take(&candidates, context->pool,
                             tensor_elements(inputs[RPN_NMS_LOGITS]), err);
    if (!st)
        st = rows_new(context->pool, DTYPE_I64, (size_t)dims[0], 0,
                      &outputs[RPN_NMS_KEPT], err);
    if (!st)
        st =
            tensor_new(context->pool, DTYPE_I64, &inputs[RPN_NMS_COUNTS]->shape,
                       &outputs[RPN_NMS_LEVELS], err);
    for (int64_t image = 0; !st && image < dims[0]; image++) {
        const int64_t *counts =
            tensor_i64(inputs[RPN_NMS_COUNTS]) + image * dims[1];

        candidates.n = 0;
        for (int64_t level = 0; level < dims[1]; level++) {
            add_level(&candidates, node->attrs,
                      tensor_boxes(inputs[RPN_NMS_BOXES]) + at,
                      tensor_f32(inputs[RPN_NMS_LOGITS]) + at, counts[level],
                      level);
            at += (size_t)counts[level];
        }
        st = rpn_nms_keep_best(
            context, &candidates, node->attrs, dims[1],
            tensor_i64(&outputs[RPN_NMS_KEPT]) + image,
            tensor_i64(&outputs[RPN_NMS_LEVELS]) + image * dims[1], err);
    }
    if (!st)
        st = rows_new(context->pool, DTYPE_F32, candidates.n_proposals, 4,
                      proposals, err);
    if (!st)
        memcpy(tensor_data(proposals), candidates.proposals,
               tensor_bytes(proposals));
    buffer_release(candidates.memory);
    return st;
}

ATTR_FIELDS(rpn_nms, FIELD_FLOAT(rpn_nms_attrs, min_size),
            FIELD_FLOAT(rpn_nms_attrs, score), FIELD_FLOAT(rpn_nms_attrs, iou),
            FIELD_AMOUNT(rpn_nms_attrs, keep));

const struct op_class op_rpn_nms = {
    .name = "RpnNms",
    OP_ATTRS(rpn_nms),
    OP_TAKES(RPN_NMS_COUNTS + 1, RPN_NMS_COUNTS + 1),
    OP_MAKES(RPN_NMS_OUTPUTS, RPN_NMS_OUTPUTS),
    .forward = rpn_nms_forward,
};
