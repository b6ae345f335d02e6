/* formats/onnx/onnx_map_norms.c - norms and losses. */
#include "formats/onnx/onnx_steps_internal.h"
#include "ops/loss/loss.h"
#include "ops/math/reduce.h"
#include "ops/norm/batch_norm.h"
#include "ops/norm/group_norm.h"
#include "ops/norm/normalize.h"
#include "ops/ops.h"

#include <float.h>

/* ---- norms -------------------------------------------------------------- */

static void onnx_norms_import_batch_norm(struct onnx_call *call)
{
    float momentum = onnx_float(call, "momentum", 0.9F);
    struct batch_norm_attrs attrs = {.eps = onnx_float(call, "epsilon", 1e-5F),
                                     .momentum = 1 - momentum};
    struct normalize_attrs training = {.eps = attrs.eps, .momentum = momentum};
    bool is_training = call->opset < 7 ? !onnx_int(call, "is_test", 0)
                                       : onnx_int(call, "training_mode", 0);

    if (call->opset < 9 && !onnx_int(call, "spatial", 1))
        onnx_fail(call, ASSAY_UNSUPPORTED, "spatial 0 is not supported");
    /* Before opset 14, asking for the statistics means training. */
    if (is_training && (call->opset >= 14 || call->n_outputs > 1))
        onnx_emit(call, &op_batch_norm_training, &training);
    else
        onnx_emit_outputs(call, &op_batch_norm, &attrs, call->inputs,
                          BATCH_NORM_INPUTS, 1);
}

static void import_instance_norm(struct onnx_call *call)
{
    struct normalize_attrs attrs = {.eps = onnx_float(call, "epsilon", 1e-5F)};

    onnx_emit(call, &op_instance_norm, &attrs);
}

static void onnx_norms_import_layer_norm(struct onnx_call *call)
{
    struct normalize_attrs attrs = {.eps = onnx_float(call, "epsilon", 1e-5F),
                                    .axis = onnx_int(call, "axis", -1)};

    onnx_emit(call, &op_layer_norm, &attrs);
}

/* One factor per group becomes one per channel. */
static uint32_t per_channel(struct onnx_call *call, size_t input,
                            int64_t groups)
{
    int64_t channels = onnx_step_size(call, onnx_input(call, 0), 1);
    int64_t shape[] = {groups, groups > 0 ? channels / groups : 0};
    static const int64_t all = -1;
    uint32_t x = onnx_step_unsqueeze(call, onnx_input(call, input), 1);

    if (channels < 1)
        onnx_fail(call, ASSAY_UNSUPPORTED, "the number of channels is unknown");
    x = onnx_step_pair(call, &op_expand, x, onnx_new_i64s(call, shape, 2));
    return onnx_step_reshape(call, x, &all, 1);
}

/* Until opset 20 there was one scale and bias per group. */
static void import_group_norm(struct onnx_call *call)
{
    struct group_norm_attrs attrs = {.groups = onnx_int(call, "num_groups", 0),
                                     .eps = onnx_float(call, "epsilon", 1e-5F)};
    uint32_t inputs[] = {onnx_input(call, 0), onnx_input(call, 1),
                         onnx_input(call, 2)};

    for (size_t i = 1; call->opset < 21 && i < 3; i++)
        inputs[i] = per_channel(call, i, attrs.groups);
    onnx_emit_inputs(call, &op_group_norm, &attrs, inputs, 3);
}

static void import_rms_norm(struct onnx_call *call)
{
    struct rms_norm_attrs attrs = {.axis = onnx_int(call, "axis", -1),
                                   .eps = onnx_float(call, "epsilon", 1e-5F)};

    onnx_emit(call, &op_rms_norm, &attrs);
}

static void import_lrn(struct onnx_call *call)
{
    struct local_response_norm_attrs attrs = {
        .size = onnx_int(call, "size", 0),
        .alpha = onnx_float(call, "alpha", 1e-4F),
        .beta = onnx_float(call, "beta", 0.75F),
        .bias = onnx_float(call, "bias", 1)};

    onnx_emit(call, &op_local_response_norm, &attrs);
}

static uint32_t onnx_norms_reduce(struct onnx_call *call,
                                  const struct op_class *op, uint32_t x,
                                  const int64_t *axes, size_t n)
{
    struct reduce_attrs attrs = {.keeps_dims = true};
    uint32_t inputs[] = {x, onnx_new_i64s(call, axes, n)};

    return onnx_step(call, op, &attrs, inputs, 2);
}

static uint32_t onnx_norms_pair(struct onnx_call *call,
                                const struct op_class *op, uint32_t a,
                                uint32_t b)
{
    uint32_t inputs[] = {a, b};

    return onnx_step(call, op, NULL, inputs, 2);
}

static void import_lp_normalization(struct onnx_call *call)
{
    int64_t axis = onnx_int(call, "axis", -1), power = onnx_int(call, "p", 2);
    uint32_t x = onnx_input(call, 0), inputs[2] = {x};

    if (power != 1 && power != 2)
        onnx_fail(call, ASSAY_UNSUPPORTED, "p is %lld; 1 and 2 are supported",
                  (long long)power);
    inputs[1] = onnx_norms_reduce(
        call, power == 1 ? &op_reduce_l1 : &op_reduce_l2, x, &axis, 1);
    /* Zeros stay zeros: they are divided by the smallest number. */
    inputs[1] = onnx_step_scalar(
        call, &op_max, inputs[1],
        onnx_step_type(call, x) == DTYPE_F16 ? 0x1p-24 : (double)FLT_MIN);
    onnx_emit_inputs(call, &op_div, NULL, inputs, 2);
}

static void import_mean_variance(struct onnx_call *call)
{
    static const int64_t usual[] = {0, 2, 3};
    uint32_t x = onnx_input(call, 0), centred, deviation, inputs[2];
    const int64_t *axes;
    size_t n = onnx_ints(call, "axes", &axes);

    if (!n)
        axes = usual, n = 3;
    centred = onnx_norms_pair(
        call, &op_sub, x, onnx_norms_reduce(call, &op_reduce_mean, x, axes, n));
    deviation = onnx_norms_reduce(
        call, &op_reduce_mean, onnx_norms_pair(call, &op_mul, centred, centred),
        axes, n);
    deviation = onnx_step(call, &op_sqrt, NULL, &deviation, 1);
    inputs[0] = centred;
    inputs[1] = onnx_norms_pair(call, &op_sum, deviation,
                                onnx_new_scalar(call, DTYPE_F32, 1e-9));
    onnx_emit_inputs(call, &op_div, NULL, inputs, 2);
}

/* ---- losses ------------------------------------------------------------- */

static void import_loss(struct onnx_call *call)
{
    static const char *const names[] = {
        [LOSS_NONE] = "none", [LOSS_SUM] = "sum", [LOSS_MEAN] = "mean"};
    struct loss_attrs attrs = {.has_ignored = onnx_has(call, "ignore_index"),
                               .ignored = onnx_int(call, "ignore_index", 0),
                               .reduction = (enum loss_reduction)ONNX_CHOOSE(
                                   call, "reduction", "mean", names)};

    onnx_emit_named(call, &attrs);
}

const struct onnx_op onnx_norm_ops[] = {
    {"BatchNormalization", 1, ONNX_NOW, 5, 5, onnx_norms_import_batch_norm},
    {"GroupNormalization", 18, ONNX_NOW, 3, 3, import_group_norm},
    {"InstanceNormalization", 1, ONNX_NOW, 3, 3, import_instance_norm},
    {"LayerNormalization", 17, ONNX_NOW, 2, 3, onnx_norms_import_layer_norm},
    {"LpNormalization", 1, ONNX_NOW, 1, 1, import_lp_normalization},
    {"LRN", 1, ONNX_NOW, 1, 1, import_lrn},
    {"MeanVarianceNormalization", 9, ONNX_NOW, 1, 1, import_mean_variance},
    {"NegativeLogLikelihoodLoss", 12, ONNX_NOW, 2, 3, import_loss},
    {"RMSNormalization", 23, ONNX_NOW, 2, 2, import_rms_norm},
    {"SoftmaxCrossEntropyLoss", 12, ONNX_NOW, 2, 3, import_loss},
    {0},
};
