/* ops/loss/rpn_loss.c - see rpn_loss.h. */
#include "ops/loss/rpn_loss.h"

#include "ops/loss/detection_loss_internal.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

static size_t count_levels(const struct node *node)
{
    return (node->n_inputs - RPN_LOSS_MAPS) / 2;
}

/* Anchors per image in a level, from its map of objectness. */
static int64_t rpn_loss_level_anchors(const struct tensor *map)
{
    const int64_t *dims = map->shape.dims;

    return dims[1] * dims[2] * dims[3];
}

static enum assay_status
rpn_loss_check_level(const struct tensor *const *inputs, size_t scores,
                     size_t deltas, struct error *err)
{
    const struct input_rule rules[] = {{scores, 4, DTYPE_F32},
                                       {deltas, 4, DTYPE_F32}};
    const int64_t *s, *d;
    enum assay_status st = rule_inputs(inputs, rules, 2, err);

    if (st)
        return st;
    s = inputs[scores]->shape.dims;
    d = inputs[deltas]->shape.dims;
    if (s[0] == inputs[RPN_LOSS_MAPS]->shape.dims[0] && d[0] == s[0] &&
        d[1] == 4 * s[1] && d[2] == s[2] && d[3] == s[3])
        return ASSAY_OK;
    return rule_misfit("objectness", &inputs[scores]->shape, "deltas",
                       &inputs[deltas]->shape, err);
}

static enum assay_status rpn_loss_infer(const struct node *node,
                                        const struct tensor *const *inputs,
                                        struct tensor *outputs,
                                        struct error *err)
{
    static const struct input_rule rules[] = {{RPN_LOSS_CHOSEN, 1, DTYPE_I64},
                                              {RPN_LOSS_LABELS, 1, DTYPE_F32},
                                              {RPN_LOSS_TARGETS, 2, DTYPE_F32}};
    const struct shape scalar = {.rank = 0};
    size_t n_levels = count_levels(node);
    enum assay_status st =
        rule_inputs(inputs, rules, sizeof rules / sizeof *rules, err);

    if (!st && (inputs[RPN_LOSS_LABELS]->shape.dims[0] !=
                    inputs[RPN_LOSS_CHOSEN]->shape.dims[0] ||
                inputs[RPN_LOSS_TARGETS]->shape.dims[0] !=
                    inputs[RPN_LOSS_CHOSEN]->shape.dims[0] ||
                inputs[RPN_LOSS_TARGETS]->shape.dims[1] != 4 ||
                node->n_inputs != RPN_LOSS_MAPS + 2 * n_levels))
        st = error_set(err, ASSAY_BAD_INPUT,
                       "labels or targets do not fit %lld chosen anchors",
                       (long long)inputs[RPN_LOSS_CHOSEN]->shape.dims[0]);
    for (size_t i = 0; !st && i < n_levels; i++)
        st = rpn_loss_check_level(inputs, RPN_LOSS_MAPS + i,
                                  RPN_LOSS_MAPS + n_levels + i, err);
    if (st)
        return st;
    rule_set(&outputs[RPN_LOSS_OBJECTNESS], DTYPE_F32, &scalar);
    rule_set(&outputs[RPN_LOSS_BOXES], DTYPE_F32, &scalar);
    return ASSAY_OK;
}

/* Where the network's answers for an anchor are. */
struct place {
    size_t level;
    int64_t score;        /* in the level's map of objectness */
    int64_t deltas, step; /* the first one, and how far to the next */
};

static bool rpn_loss_find_place(const struct node *node,
                                const struct tensor *const *inputs,
                                int64_t chosen, struct place *place)
{
    size_t n_levels = count_levels(node);
    int64_t n = 0, at, image;

    for (size_t i = 0; i < n_levels; i++)
        n += rpn_loss_level_anchors(inputs[RPN_LOSS_MAPS + i]);
    if (chosen < 0 || n == 0 ||
        chosen >= n * inputs[RPN_LOSS_MAPS]->shape.dims[0])
        return false;
    image = chosen / n;
    at = chosen % n;
    place->level = 0;
    while (at >= rpn_loss_level_anchors(inputs[RPN_LOSS_MAPS + place->level]))
        at -= rpn_loss_level_anchors(inputs[RPN_LOSS_MAPS + place->level++]);

    const int64_t *dims = inputs[RPN_LOSS_MAPS + place->level]->shape.dims;
    int64_t plane = image * dims[1] + at % dims[1];

    place->step = dims[2] * dims[3];
    place->score = plane * place->step + at / dims[1];
    place->deltas = plane * 4 * place->step + at / dims[1];
    return true;
}

static enum assay_status rpn_loss_forward(const struct op_context *context,
                                          const struct node *node,
                                          const struct tensor *const *inputs,
                                          struct tensor *outputs,
                                          struct error *err)
{
    const struct rpn_loss_attrs *attrs = node->attrs;
    size_t n = tensor_elements(inputs[RPN_LOSS_CHOSEN]);
    size_t n_levels = count_levels(node);
    double objectness = 0, boxes = 0, by = n > 0 ? (double)n : 1;

    (void)context;
    for (size_t i = 0; i < n; i++) {
        float label = tensor_f32(inputs[RPN_LOSS_LABELS])[i];
        const float *want = tensor_f32(inputs[RPN_LOSS_TARGETS]) + 4 * i;
        const float *scores, *deltas;
        struct place place;

        if (!rpn_loss_find_place(
                node, inputs, tensor_i64(inputs[RPN_LOSS_CHOSEN])[i], &place))
            return error_set(err, ASSAY_BAD_INPUT, "there is no anchor %lld",
                             (long long)tensor_i64(inputs[RPN_LOSS_CHOSEN])[i]);
        scores = tensor_f32(inputs[RPN_LOSS_MAPS + place.level]);
        deltas = tensor_f32(inputs[RPN_LOSS_MAPS + n_levels + place.level]) +
                 place.deltas;
        objectness += bce_term(scores[place.score], label);
        for (int k = 0; label > 0 && k < 4; k++)
            boxes +=
                smooth_l1_term(deltas[k * place.step] - want[k], attrs->beta);
    }
    *tensor_f32(&outputs[RPN_LOSS_OBJECTNESS]) = (float)(objectness / by);
    *tensor_f32(&outputs[RPN_LOSS_BOXES]) = (float)(boxes / by);
    return ASSAY_OK;
}

/* Adds the slopes at one anchor to the wanted maps. dy: of the two losses,
 * divided by the number of anchors. */
static void rpn_loss_spread(const struct node *node,
                            const struct op_backward *pass,
                            const struct place *place, size_t i,
                            const double dy[2])
{
    const struct rpn_loss_attrs *attrs = node->attrs;
    size_t scores = RPN_LOSS_MAPS + place->level;
    size_t deltas = scores + count_levels(node);
    float label = tensor_f32(pass->inputs[RPN_LOSS_LABELS])[i];
    const float *want = tensor_f32(pass->inputs[RPN_LOSS_TARGETS]) + 4 * i;

    if (op_wants(pass, scores))
        tensor_f32(&pass->dx[scores])[place->score] +=
            (float)(dy[RPN_LOSS_OBJECTNESS] *
                    bce_slope(tensor_f32(pass->inputs[scores])[place->score],
                              label));
    for (int k = 0; op_wants(pass, deltas) && label > 0 && k < 4; k++) {
        int64_t at = place->deltas + k * place->step;

        tensor_f32(&pass->dx[deltas])[at] +=
            (float)(dy[RPN_LOSS_BOXES] *
                    smooth_l1_slope(tensor_f32(pass->inputs[deltas])[at] -
                                        want[k],
                                    attrs->beta));
    }
}

static enum assay_status rpn_loss_backward(const struct op_context *context,
                                           const struct node *node,
                                           const struct op_backward *pass,
                                           struct error *err)
{
    const struct tensor *chosen = pass->inputs[RPN_LOSS_CHOSEN];
    size_t n = tensor_elements(chosen);
    double dy[RPN_LOSS_OUTPUTS];

    (void)context, (void)err;
    for (int i = 0; i < RPN_LOSS_OUTPUTS; i++)
        dy[i] = pass->dy[i] && n ? *tensor_f32(pass->dy[i]) / (double)n : 0;
    for (size_t i = 0; i < n; i++) {
        struct place place;

        if (rpn_loss_find_place(node, pass->inputs, tensor_i64(chosen)[i],
                                &place))
            rpn_loss_spread(node, pass, &place, i, dy);
    }
    return ASSAY_OK;
}

/* Reads five values per anchor; a cross entropy is about 10 operations, four
 * smooth L1 losses 20. */
static void rpn_loss_count_cost(const struct node *node,
                                const struct tensor *const *inputs,
                                const struct tensor *outputs, struct cost *cost)
{
    uint64_t n = tensor_elements(inputs[RPN_LOSS_CHOSEN]);

    (void)outputs;
    cost->flops += n * 30;
    for (size_t i = RPN_LOSS_MAPS; i < node->n_inputs; i++)
        cost_touches(cost, inputs[i], 0);
    cost->done_bytes += n * 5 * sizeof(float);
}

/* As forward; almost all gradients are zero. */
static void rpn_loss_count_backward(const struct node *node,
                                    const struct op_backward *pass,
                                    struct cost *cost)
{
    (void)node;
    cost->flops += tensor_elements(pass->inputs[RPN_LOSS_CHOSEN]) * 30;
}

const struct op_class op_rpn_loss = {
    .name = "RpnLoss",
    .attrs_bytes = sizeof(struct rpn_loss_attrs),
    OP_TAKES(RPN_LOSS_MAPS + 2, RPN_LOSS_MAPS + 16),
    OP_MAKES(RPN_LOSS_OUTPUTS, RPN_LOSS_OUTPUTS),
    .infer = rpn_loss_infer,
    .forward = rpn_loss_forward,
    .cost = rpn_loss_count_cost,
    .backward = rpn_loss_backward,
    .backward_reads = loss_reads,
    .backward_cost = rpn_loss_count_backward,
    .is_loss = true,
};
