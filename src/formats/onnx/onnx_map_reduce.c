/* formats/onnx/onnx_map_reduce.c - reductions, and other ops along an axis. */
#include "formats/onnx/onnx_steps_internal.h"
#include "ops/math/arg_max.h"
#include "ops/math/cast.h"
#include "ops/math/reduce.h"
#include "ops/math/softmax.h"
#include "ops/math/top_k.h"
#include "ops/ops.h"

static void import_reduce(struct onnx_call *call)
{
    struct reduce_attrs attrs = {.keeps_dims = onnx_int(call, "keepdims", 1),
                                 .empty_is_none =
                                     onnx_int(call, "noop_with_empty_axes", 0)};
    uint32_t inputs[] = {onnx_input(call, 0), onnx_input(call, 1)};
    const int64_t *axes;
    size_t n = onnx_ints(call, "axes", &axes);

    if (n)
        inputs[1] = onnx_new_i64s(call, axes, n);
    /* The largest or smallest of bools, since opset 20. */
    if (onnx_step_type(call, inputs[0]) == DTYPE_BOOL) {
        struct cast_attrs back = {.dtype = DTYPE_BOOL};

        inputs[0] = onnx_step_cast(call, inputs[0], DTYPE_U8);
        inputs[0] =
            onnx_step(call, op_find(call->node->op_type), &attrs, inputs, 2);
        onnx_emit_inputs(call, &op_cast, &back, inputs, 1);
        return;
    }
    onnx_emit_inputs(call, op_find(call->node->op_type), &attrs, inputs, 2);
}

static void import_arg(struct onnx_call *call)
{
    struct arg_max_attrs attrs = {.axis = onnx_int(call, "axis", 0),
                                  .keeps_dims = onnx_int(call, "keepdims", 1),
                                  .takes_last =
                                      onnx_int(call, "select_last_index", 0)};

    onnx_emit_named(call, &attrs);
}

static void import_cum_sum(struct onnx_call *call)
{
    struct cum_sum_attrs attrs = {.is_exclusive =
                                      onnx_int(call, "exclusive", 0),
                                  .is_reverse = onnx_int(call, "reverse", 0)};

    onnx_emit_named(call, &attrs);
}

/* Before opset 13 it ran over the axis and all axes after it as one. */
static void onnx_reduce_import_softmax(struct onnx_call *call)
{
    bool is_flat = call->opset < 13;
    struct softmax_attrs attrs = {.axis = onnx_axis(call, is_flat ? 1 : -1),
                                  .is_flat = is_flat};

    onnx_emit_named(call, &attrs);
}

/* Before opset 10, k was an attribute. */
static void import_top_k(struct onnx_call *call)
{
    struct top_k_attrs attrs = {.axis = onnx_int(call, "axis", -1),
                                .is_smallest = !onnx_int(call, "largest", 1)};
    uint32_t inputs[] = {onnx_input(call, 0), onnx_input(call, 1)};
    int64_t k = onnx_int(call, "k", 0);

    if (call->opset < 10)
        inputs[1] = onnx_new_i64s(call, &k, 1);
    onnx_emit_inputs(call, &op_top_k, &attrs, inputs, 2);
}

const struct onnx_op onnx_reduce_ops[] = {
    {"ArgMax", 1, ONNX_NOW, 1, 1, import_arg},
    {"ArgMin", 1, ONNX_NOW, 1, 1, import_arg},
    {"CumProd", 26, ONNX_NOW, 2, 2, import_cum_sum},
    {"CumSum", 11, ONNX_NOW, 2, 2, import_cum_sum},
    {"Hardmax", 1, ONNX_NOW, 1, 1, onnx_reduce_import_softmax},
    {"LogSoftmax", 1, ONNX_NOW, 1, 1, onnx_reduce_import_softmax},
    {"ReduceL1", 1, ONNX_NOW, 1, 2, import_reduce},
    {"ReduceL2", 1, ONNX_NOW, 1, 2, import_reduce},
    {"ReduceLogSum", 1, ONNX_NOW, 1, 2, import_reduce},
    {"ReduceLogSumExp", 1, ONNX_NOW, 1, 2, import_reduce},
    {"ReduceMax", 1, ONNX_NOW, 1, 2, import_reduce},
    {"ReduceMean", 1, ONNX_NOW, 1, 2, import_reduce},
    {"ReduceMin", 1, ONNX_NOW, 1, 2, import_reduce},
    {"ReduceProd", 1, ONNX_NOW, 1, 2, import_reduce},
    {"ReduceSum", 1, ONNX_NOW, 1, 2, import_reduce},
    {"ReduceSumSquare", 1, ONNX_NOW, 1, 2, import_reduce},
    {"Softmax", 1, ONNX_NOW, 1, 1, onnx_reduce_import_softmax},
    {"TopK", 1, ONNX_NOW, 1, 2, import_top_k},
    {0},
};
