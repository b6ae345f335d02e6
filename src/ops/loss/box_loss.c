/* ops/loss/box_loss.c - see box_loss.h. */
#include "ops/loss/box_loss.h"

#include "ops/loss/detection_loss_internal.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

static enum assay_status box_loss_infer(const struct node *node,
                                        const struct tensor *const *inputs,
                                        struct tensor *outputs,
                                        struct error *err)
{
    static const struct input_rule rules[] = {{BOX_LOSS_DELTAS, 2, DTYPE_F32},
                                              {BOX_LOSS_LABELS, 1, DTYPE_I64},
                                              {BOX_LOSS_TARGETS, 2, DTYPE_F32}};
    const struct shape scalar = {.rank = 0};
    const struct shape *deltas = &inputs[BOX_LOSS_DELTAS]->shape;
    const struct shape *targets = &inputs[BOX_LOSS_TARGETS]->shape;
    enum assay_status st =
        rule_inputs(inputs, rules, sizeof rules / sizeof *rules, err);

    (void)node;
    if (!st && (deltas->dims[1] % 4 || targets->dims[1] != 4 ||
                targets->dims[0] != deltas->dims[0] ||
                inputs[BOX_LOSS_LABELS]->shape.dims[0] != deltas->dims[0]))
        st = rule_misfit("deltas", deltas, "targets", targets, err);
    if (!st)
        rule_set(&outputs[0], DTYPE_F32, &scalar);
    return st;
}

/* The first delta of row i for its class; -1: the row is background. */
static int64_t find_deltas(const struct tensor *const *inputs, int64_t i)
{
    int64_t label = tensor_i64(inputs[BOX_LOSS_LABELS])[i];

    return label > 0 ? i * inputs[BOX_LOSS_DELTAS]->shape.dims[1] + 4 * label
                     : -1;
}

static enum assay_status box_loss_forward(const struct op_context *context,
                                          const struct node *node,
                                          const struct tensor *const *inputs,
                                          struct tensor *outputs,
                                          struct error *err)
{
    const struct box_loss_attrs *attrs = node->attrs;
    const float *deltas = tensor_f32(inputs[BOX_LOSS_DELTAS]);
    const float *want = tensor_f32(inputs[BOX_LOSS_TARGETS]);
    int64_t n = inputs[BOX_LOSS_DELTAS]->shape.dims[0];
    int64_t n_classes = inputs[BOX_LOSS_DELTAS]->shape.dims[1] / 4;
    enum assay_status st =
        loss_check_labels(inputs[BOX_LOSS_LABELS], n_classes, err);
    double sum = 0;

    (void)context;
    for (int64_t i = 0; !st && i < n; i++) {
        int64_t at = find_deltas(inputs, i);

        for (int k = 0; at >= 0 && k < 4; k++)
            sum +=
                smooth_l1_term(deltas[at + k] - want[4 * i + k], attrs->beta);
    }
    *tensor_f32(&outputs[0]) = n ? (float)(sum / (double)n) : 0;
    return st;
}

static enum assay_status box_loss_backward(const struct op_context *context,
                                           const struct node *node,
                                           const struct op_backward *pass,
                                           struct error *err)
{
    const struct box_loss_attrs *attrs = node->attrs;
    const float *deltas = tensor_f32(pass->inputs[BOX_LOSS_DELTAS]);
    const float *want = tensor_f32(pass->inputs[BOX_LOSS_TARGETS]);
    int64_t n = pass->inputs[BOX_LOSS_DELTAS]->shape.dims[0];

    (void)context, (void)err;
    if (!op_wants(pass, BOX_LOSS_DELTAS) || !pass->dy[0])
        return ASSAY_OK;
    for (int64_t i = 0; i < n; i++) {
        double dy = *tensor_f32(pass->dy[0]) / (double)n;
        int64_t at = find_deltas(pass->inputs, i);

        for (int k = 0; at >= 0 && k < 4; k++)
            tensor_f32(&pass->dx[BOX_LOSS_DELTAS])[at + k] =
                (float)(dy * smooth_l1_slope(deltas[at + k] - want[4 * i + k],
                                             attrs->beta));
    }
    return ASSAY_OK;
}

/* Four deltas per row; about 5 operations each. */
static void box_loss_count_cost(const struct node *node,
                                const struct tensor *const *inputs,
                                const struct tensor *outputs, struct cost *cost)
{
    (void)node, (void)outputs;
    loss_count_cost(inputs[BOX_LOSS_DELTAS], inputs[BOX_LOSS_TARGETS], 5, cost);
}

static void box_loss_count_backward(const struct node *node,
                                    const struct op_backward *pass,
                                    struct cost *cost)
{
    (void)node;
    cost->flops += tensor_elements(pass->inputs[BOX_LOSS_TARGETS]) * 5;
}

const struct op_class op_box_loss = {
    .name = "BoxLoss",
    .attrs_bytes = sizeof(struct box_loss_attrs),
    OP_TAKES(BOX_LOSS_INPUTS, BOX_LOSS_INPUTS),
    OP_MAKES(1, 1),
    .infer = box_loss_infer,
    .forward = box_loss_forward,
    .cost = box_loss_count_cost,
    .backward = box_loss_backward,
    .backward_reads = loss_reads,
    .backward_cost = box_loss_count_backward,
    .is_loss = true,
};
