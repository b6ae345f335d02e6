/* ops/detection/anchor_match.c - see anchor_match.h. */
#include "ops/detection/anchor_match.h"

#include "ops/ops.h"
#include "ops/shape_rules.h"

static enum assay_status anchor_match_infer(const struct node *node,
                                            const struct tensor *const *inputs,
                                            struct tensor *outputs,
                                            struct error *err)
{
    enum assay_status st = boxes_check_list(inputs[ANCHOR_MATCH_ANCHORS], err);
    struct shape matches;

    (void)node;
    if (!st)
        st = boxes_check_list(inputs[ANCHOR_MATCH_BOXES], err);
    if (!st)
        st = rule_rank(inputs, ANCHOR_MATCH_COUNTS, 1, err);
    if (st)
        return st;
    matches = shape_of(2, inputs[ANCHOR_MATCH_COUNTS]->shape.dims[0],
                       inputs[ANCHOR_MATCH_ANCHORS]->shape.dims[0]);
    rule_set(&outputs[0], DTYPE_I64, &matches);
    return ASSAY_OK;
}

static enum assay_status
anchor_match_forward(const struct op_context *context, const struct node *node,
                     const struct tensor *const *inputs, struct tensor *outputs,
                     struct error *err)
{
    const struct anchor_match_attrs *attrs = node->attrs;
    const struct tensor *anchors = inputs[ANCHOR_MATCH_ANCHORS];
    const struct tensor *counts = inputs[ANCHOR_MATCH_COUNTS];
    const struct box *objects = tensor_boxes(inputs[ANCHOR_MATCH_BOXES]);
    size_t n = (size_t)anchors->shape.dims[0];
    int64_t *matches = tensor_i64(&outputs[0]), first = 0;
    enum assay_status st = boxes_check_counts(
        counts, inputs[ANCHOR_MATCH_BOXES]->shape.dims[0], err);

    for (int64_t image = 0; !st && image < counts->shape.dims[0]; image++) {
        int64_t count = tensor_i64(counts)[image];

        st = box_match(context, &attrs->rule, tensor_boxes(anchors), n,
                       objects + first, (size_t)count, matches, err);
        for (size_t i = 0; i < n; i++)
            matches[i] += matches[i] >= 0 ? first : 0;
        first += count;
        matches += n;
    }
    return st;
}

/* An overlap is about 14 operations; there is one per anchor and object, or two
 * if the best are kept. */
static void anchor_match_count_cost(const struct node *node,
                                    const struct tensor *const *inputs,
                                    const struct tensor *outputs,
                                    struct cost *cost)
{
    const struct anchor_match_attrs *attrs = node->attrs;
    uint64_t passes = attrs->rule.keeps_best ? 2 : 1;

    (void)outputs;
    cost->flops += passes * 14 *
                   (uint64_t)inputs[ANCHOR_MATCH_ANCHORS]->shape.dims[0] *
                   (uint64_t)inputs[ANCHOR_MATCH_BOXES]->shape.dims[0];
}

const struct op_class op_anchor_match = {
    .name = "AnchorMatch",
    .attrs_bytes = sizeof(struct anchor_match_attrs),
    OP_TAKES(ANCHOR_MATCH_INPUTS, ANCHOR_MATCH_INPUTS),
    OP_MAKES(1, 1),
    .infer = anchor_match_infer,
    .forward = anchor_match_forward,
    .cost = anchor_match_count_cost,
};
