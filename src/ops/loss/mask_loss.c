/* ops/loss/mask_loss.c - see mask_loss.h. */
#include "ops/loss/mask_loss.h"

#include "ops/loss/detection_loss_internal.h"
#include "ops/op_threads.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

static enum assay_status mask_loss_infer(const struct node *node,
                                         const struct tensor *const *inputs,
                                         struct tensor *outputs,
                                         struct error *err)
{
    static const struct input_rule rules[] = {
        {MASK_LOSS_LOGITS, 4, DTYPE_F32},
        {MASK_LOSS_LABELS, 1, DTYPE_I64},
        {MASK_LOSS_TARGETS, 3, DTYPE_F32}};
    const struct shape scalar = {.rank = 0};
    const struct shape *logits = &inputs[MASK_LOSS_LOGITS]->shape;
    const struct shape *targets = &inputs[MASK_LOSS_TARGETS]->shape;
    enum assay_status st =
        rule_inputs(inputs, rules, sizeof rules / sizeof *rules, err);

    (void)node;
    if (!st && (targets->dims[0] != logits->dims[0] ||
                targets->dims[1] != logits->dims[2] ||
                targets->dims[2] != logits->dims[3] ||
                inputs[MASK_LOSS_LABELS]->shape.dims[0] != logits->dims[0]))
        st = rule_misfit("logits", logits, "targets", targets, err);
    if (!st)
        rule_set(&outputs[0], DTYPE_F32, &scalar);
    return st;
}

/* Where the map of object i's class begins. */
static int64_t find_map(const struct tensor *const *inputs, int64_t i)
{
    const int64_t *dims = inputs[MASK_LOSS_LOGITS]->shape.dims;

    return (i * dims[1] + tensor_i64(inputs[MASK_LOSS_LABELS])[i]) * dims[2] *
           dims[3];
}

static enum assay_status mask_loss_forward(const struct op_context *context,
                                           const struct node *node,
                                           const struct tensor *const *inputs,
                                           struct tensor *outputs,
                                           struct error *err)
{
    const struct shape *shape = &inputs[MASK_LOSS_TARGETS]->shape;
    const float *want = tensor_f32(inputs[MASK_LOSS_TARGETS]);
    int64_t n = shape->dims[0], each = shape->dims[1] * shape->dims[2];
    int64_t n_points = n * each;
    enum assay_status st = loss_check_labels(
        inputs[MASK_LOSS_LABELS], inputs[MASK_LOSS_LOGITS]->shape.dims[1], err);
    double sum = 0;

    (void)context, (void)node;
    for (int64_t i = 0; !st && i < n; i++) {
        const float *logits =
            tensor_f32(inputs[MASK_LOSS_LOGITS]) + find_map(inputs, i);

        for (int64_t k = 0; k < each; k++)
            sum += bce_term(logits[k], *want++);
    }
    *tensor_f32(&outputs[0]) = n_points ? (float)(sum / (double)n_points) : 0;
    return st;
}

static enum assay_status mask_loss_backward(const struct op_context *context,
                                            const struct node *node,
                                            const struct op_backward *pass,
                                            struct error *err)
{
    const struct shape *shape = &pass->inputs[MASK_LOSS_TARGETS]->shape;
    int64_t n = shape->dims[0], each = shape->dims[1] * shape->dims[2];

    (void)node, (void)err;
    if (!op_wants(pass, MASK_LOSS_LOGITS) || !pass->dy[0])
        return ASSAY_OK;
#pragma omp parallel for num_threads(op_threads(context))
    for (int64_t i = 0; i < n; i++) {
        double dy = *tensor_f32(pass->dy[0]) / (double)(n * each);
        int64_t map = find_map(pass->inputs, i);
        const float *logits = tensor_f32(pass->inputs[MASK_LOSS_LOGITS]) + map;
        const float *want =
            tensor_f32(pass->inputs[MASK_LOSS_TARGETS]) + i * each;
        float *dx = tensor_f32(&pass->dx[MASK_LOSS_LOGITS]) + map;

        for (int64_t k = 0; k < each; k++)
            dx[k] = (float)(dy * bce_slope(logits[k], want[k]));
    }
    return ASSAY_OK;
}

/* One map per object; a cross entropy is about 10 operations. */
static void mask_loss_count_cost(const struct node *node,
                                 const struct tensor *const *inputs,
                                 const struct tensor *outputs,
                                 struct cost *cost)
{
    (void)node, (void)outputs;
    loss_count_cost(inputs[MASK_LOSS_LOGITS], inputs[MASK_LOSS_TARGETS], 10,
                    cost);
}

static void mask_loss_count_backward(const struct node *node,
                                     const struct op_backward *pass,
                                     struct cost *cost)
{
    (void)node;
    cost->flops += tensor_elements(pass->inputs[MASK_LOSS_TARGETS]) * 5;
}

const struct op_class op_mask_loss = {
    .name = "MaskLoss",
    OP_TAKES(MASK_LOSS_INPUTS, MASK_LOSS_INPUTS),
    OP_MAKES(1, 1),
    .infer = mask_loss_infer,
    .forward = mask_loss_forward,
    .cost = mask_loss_count_cost,
    .backward = mask_loss_backward,
    .backward_reads = loss_reads,
    .backward_cost = mask_loss_count_backward,
    .is_loss = true,
};
