/* ops/detection/rpn_decode.c - see rpn_decode.h. */
#include "ops/detection/rpn_decode.h"

#include "ops/detection/boxes.h"
#include "ops/op_threads.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

static enum assay_status rpn_decode_infer(const struct node *node,
                                          const struct tensor *const *inputs,
                                          struct tensor *outputs,
                                          struct error *err)
{
    static const struct input_rule rule = {RPN_DECODE_CHOSEN, 1, DTYPE_I64};
    enum assay_status st = rule_inputs(inputs, &rule, 1, err);
    struct shape boxes;

    if (!st)
        st = rule_rank(inputs, RPN_DECODE_COUNTS, 2, err);
    if (!st)
        st = boxes_check_list(inputs[RPN_DECODE_ANCHORS], err);
    for (size_t i = RPN_DECODE_DELTAS; !st && i < node->n_inputs; i++)
        st = rule_rank(inputs, i, 4, err);
    if (st)
        return st;
    boxes = shape_of(2, inputs[RPN_DECODE_CHOSEN]->shape.dims[0], (int64_t)4);
    rule_set(&outputs[0], DTYPE_F32, &boxes);
    return ASSAY_OK;
}

/* How many anchors a level has. */
static int64_t rpn_decode_level_anchors(const struct tensor *deltas)
{
    const int64_t *dims = deltas->shape.dims;

    return dims[1] / 4 * dims[2] * dims[3];
}

static enum assay_status rpn_decode_check(const struct node *node,
                                          const struct tensor *const *inputs,
                                          struct error *err)
{
    const struct tensor *counts = inputs[RPN_DECODE_COUNTS];
    int64_t n_levels = (int64_t)node->n_inputs - RPN_DECODE_DELTAS;
    int64_t n_images = counts->shape.dims[0], anchors = 0;
    enum assay_status st = boxes_check_counts(
        counts, inputs[RPN_DECODE_CHOSEN]->shape.dims[0], err);

    if (!st)
        st = boxes_check_sizes(inputs[RPN_DECODE_SIZES], n_images, err);
    if (st)
        return st;
    for (size_t i = RPN_DECODE_DELTAS; i < node->n_inputs; i++) {
        if (inputs[i]->shape.dims[0] != n_images)
            return error_set(
                err, ASSAY_BAD_INPUT, "deltas of %lld images; expected %lld",
                (long long)inputs[i]->shape.dims[0], (long long)n_images);
        anchors += rpn_decode_level_anchors(inputs[i]);
    }
    if (counts->shape.dims[1] != n_levels ||
        inputs[RPN_DECODE_ANCHORS]->shape.dims[0] != anchors)
        return error_set(err, ASSAY_BAD_INPUT,
                         "%lld anchors in %lld levels, but deltas for %lld in "
                         "%lld",
                         (long long)inputs[RPN_DECODE_ANCHORS]->shape.dims[0],
                         (long long)counts->shape.dims[1], (long long)anchors,
                         (long long)n_levels);
    return ASSAY_OK;
}

/* The chosen anchors of one level of one image. */
struct stretch {
    int64_t image, first_anchor;
    const struct tensor *deltas;
    const int64_t *chosen;
    struct box *to;
    int64_t n;
};

static struct box decode_one(const struct stretch *stretch,
                             const struct tensor *const *inputs, int64_t i)
{
    static const float weights[4] = {1, 1, 1, 1};
    const int64_t *dims = stretch->deltas->shape.dims;
    const int64_t *size =
        tensor_i64(inputs[RPN_DECODE_SIZES]) + 2 * stretch->image;
    int64_t n_ratios = dims[1] / 4, n_places = dims[2] * dims[3];
    int64_t at = stretch->chosen[i] - stretch->first_anchor;
    const float *from =
        tensor_f32(stretch->deltas) +
        (stretch->image * dims[1] + at % n_ratios * 4) * n_places +
        at / n_ratios;
    float deltas[4];

    for (int k = 0; k < 4; k++)
        deltas[k] = from[k * n_places];
    return box_clip(
        box_decode(tensor_boxes(inputs[RPN_DECODE_ANCHORS])[stretch->chosen[i]],
                   deltas, weights),
        size[0], size[1]);
}

static enum assay_status rpn_decode(const struct op_context *context,
                                    const struct stretch *stretch,
                                    const struct tensor *const *inputs,
                                    struct error *err)
{
    int64_t end =
        stretch->first_anchor + rpn_decode_level_anchors(stretch->deltas);

    for (int64_t i = 0; i < stretch->n; i++) {
        if (stretch->chosen[i] < stretch->first_anchor ||
            stretch->chosen[i] >= end)
            return error_set(err, ASSAY_BAD_INPUT,
                             "anchor %lld is not in its level",
                             (long long)stretch->chosen[i]);
    }
#pragma omp parallel for num_threads(op_threads(context)) if (stretch->n > 256)
    for (int64_t i = 0; i < stretch->n; i++)
        stretch->to[i] = decode_one(stretch, inputs, i);
    return ASSAY_OK;
}

static enum assay_status rpn_decode_forward(const struct op_context *context,
                                            const struct node *node,
                                            const struct tensor *const *inputs,
                                            struct tensor *outputs,
                                            struct error *err)
{
    const int64_t *counts = tensor_i64(inputs[RPN_DECODE_COUNTS]);
    struct stretch stretch = {.chosen = tensor_i64(inputs[RPN_DECODE_CHOSEN]),
                              .to = tensor_boxes(&outputs[0])};
    enum assay_status st = rpn_decode_check(node, inputs, err);

    for (; !st && stretch.image < inputs[RPN_DECODE_COUNTS]->shape.dims[0];
         stretch.image++) {
        stretch.first_anchor = 0;
        for (size_t i = RPN_DECODE_DELTAS; !st && i < node->n_inputs; i++) {
            stretch.deltas = inputs[i];
            stretch.n = *counts++;
            st = rpn_decode(context, &stretch, inputs, err);
            stretch.first_anchor += rpn_decode_level_anchors(inputs[i]);
            stretch.chosen += stretch.n;
            stretch.to += stretch.n;
        }
    }
    return st;
}

/* Reads four deltas and an anchor per box. */
static void rpn_decode_count_cost(const struct node *node,
                                  const struct tensor *const *inputs,
                                  const struct tensor *outputs,
                                  struct cost *cost)
{
    uint64_t bytes = tensor_bytes(&outputs[0]);

    cost_touches(cost, inputs[RPN_DECODE_ANCHORS], bytes);
    for (size_t i = RPN_DECODE_DELTAS; i < node->n_inputs; i++)
        cost_touches(cost, inputs[i], 0);
    cost->done_bytes += bytes;
}

const struct op_class op_rpn_decode = {
    .name = "RpnDecode",
    OP_TAKES(RPN_DECODE_DELTAS + 1, SIZE_MAX),
    OP_MAKES(1, 1),
    .infer = rpn_decode_infer,
    .forward = rpn_decode_forward,
    .cost = rpn_decode_count_cost,
};
