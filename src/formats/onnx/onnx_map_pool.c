/* formats/onnx/onnx_map_pool.c - poolings. */
#include "formats/onnx/onnx_import_internal.h"
#include "ops/math/reduce.h"
#include "ops/ops.h"
#include "ops/pooling/adaptive_avg_pool2d.h"
#include "ops/pooling/avg_pool2d.h"
#include "ops/pooling/max_pool2d.h"
#include "ops/pooling/pool_nd.h"
#include "ops/shape_rules.h"

#include <string.h>

/* Whether the fast poolings can do it: over pictures, not dilated, one output,
 * and no large windows that are mostly outside the picture. */
static bool onnx_pool_is_plain(const struct onnx_call *call,
                               const struct window *window)
{
    enum { never_much = 32 };
    const struct tensor *x = onnx_known(call, onnx_input(call, 0));
    bool is_plain = window->rank == 2 && window->padding == WINDOW_GIVEN &&
                    call->n_outputs == 1;

    for (int i = 0; is_plain && i < window->rank; i++) {
        int64_t size = x && x->shape.rank == 4 ? x->shape.dims[2 + i] : -1;

        is_plain = window->dilation[i] == 1 && window->before[i] >= 0 &&
                   window->after[i] >= 0 &&
                   window->before[i] < window->kernel[i] &&
                   window->after[i] < window->kernel[i] &&
                   window->kernel[i] <= RULE_MAX_POOL &&
                   (size < 0 || window->kernel[i] <= size ||
                    window->kernel[i] <= never_much);
    }
    return is_plain;
}

static bool onnx_pool_read_window(struct onnx_call *call, struct window *window)
{
    const struct tensor *x = onnx_known(call, onnx_input(call, 0));

    if (!onnx_window_read(call, onnx_window_rank(call, NULL), NULL, window))
        return false;
    window->ceil = onnx_int(call, "ceil_mode", 0);
    onnx_window_fix(window, x);
    return true;
}

static void onnx_pool_import_max(struct onnx_call *call)
{
    struct pool_nd_attrs attrs = {.is_by_column =
                                      onnx_int(call, "storage_order", 0)};
    const struct window *window = &attrs.window;

    if (!onnx_pool_read_window(call, &attrs.window))
        return;
    if (onnx_pool_is_plain(call, window)) {
        struct max_pool2d_attrs plain = {.ceil = window->ceil};

        memcpy(plain.kernel, window->kernel, sizeof plain.kernel);
        memcpy(plain.stride, window->stride, sizeof plain.stride);
        memcpy(plain.before, window->before, sizeof plain.before);
        memcpy(plain.after, window->after, sizeof plain.after);
        onnx_emit(call, &op_max_pool2d, &plain);
    } else {
        onnx_emit(call, &op_max_pool_nd, &attrs);
    }
}

static void onnx_pool_import_avg(struct onnx_call *call)
{
    struct pool_nd_attrs attrs = {.counts_padding =
                                      onnx_int(call, "count_include_pad", 0)};
    const struct window *window = &attrs.window;

    if (!onnx_pool_read_window(call, &attrs.window))
        return;
    if (onnx_pool_is_plain(call, window)) {
        struct avg_pool2d_attrs plain = {
            .ceil = window->ceil, .counts_padding = attrs.counts_padding};

        memcpy(plain.kernel, window->kernel, sizeof plain.kernel);
        memcpy(plain.stride, window->stride, sizeof plain.stride);
        memcpy(plain.before, window->before, sizeof plain.before);
        memcpy(plain.after, window->after, sizeof plain.after);
        onnx_emit(call, &op_avg_pool2d, &plain);
    } else {
        onnx_emit(call, &op_avg_pool_nd, &attrs);
    }
}

/* In opset 1, p is a float. */
static int64_t read_power(struct onnx_call *call)
{
    int64_t power = call->opset < 2 ? (int64_t)onnx_float(call, "p", 2)
                                    : onnx_int(call, "p", 2);

    if (power < 1)
        onnx_fail(call, ASSAY_BAD_INPUT, "p is %lld", (long long)power);
    return power;
}

static void import_lp_pool(struct onnx_call *call)
{
    struct pool_nd_attrs attrs = {.power = read_power(call)};

    if (onnx_pool_read_window(call, &attrs.window))
        onnx_emit(call, &op_lp_pool_nd, &attrs);
}

static void import_max_unpool(struct onnx_call *call)
{
    struct pool_nd_attrs attrs = {0};

    if (onnx_pool_read_window(call, &attrs.window))
        onnx_emit(call, &op_max_unpool, &attrs);
}

/* ---- global ------------------------------------------------------------- */

/* The axes after the first two, as a constant; fails if the rank of the input
 * is unknown. */
static uint32_t onnx_pool_find_axes(struct onnx_call *call)
{
    const struct tensor *x = onnx_known(call, onnx_input(call, 0));
    int64_t axes[SHAPE_MAX_RANK];

    if (!x || x->shape.rank < 3) {
        onnx_fail(call, ASSAY_UNSUPPORTED,
                  "the number of dimensions of its input is unknown");
        return GRAPH_NONE;
    }
    for (int i = 2; i < x->shape.rank; i++)
        axes[i - 2] = i;
    return onnx_new_i64s(call, axes, (size_t)x->shape.rank - 2);
}

static void reduce_all(struct onnx_call *call, const struct op_class *op)
{
    struct reduce_attrs attrs = {.keeps_dims = true};
    uint32_t inputs[2] = {onnx_input(call, 0), onnx_pool_find_axes(call)};

    onnx_emit_inputs(call, op, &attrs, inputs, 2);
}

static void import_global_avg_pool(struct onnx_call *call)
{
    struct adaptive_avg_pool2d_attrs attrs = {.size = {1, 1}};
    const struct tensor *x = onnx_known(call, onnx_input(call, 0));

    if (!x || x->shape.rank == 4)
        onnx_emit(call, &op_adaptive_avg_pool2d, &attrs);
    else
        reduce_all(call, &op_reduce_mean);
}

static void import_global_max_pool(struct onnx_call *call)
{
    reduce_all(call, &op_reduce_max);
}

static void import_global_lp_pool(struct onnx_call *call)
{
    int64_t power = read_power(call);

    if (power > 2)
        onnx_fail(call, ASSAY_UNSUPPORTED, "p is %lld; 1 and 2 are supported",
                  (long long)power);
    reduce_all(call, power == 1 ? &op_reduce_l1 : &op_reduce_l2);
}

const struct onnx_op onnx_pool_ops[] = {
    {"AveragePool", 1, ONNX_NOW, 1, 1, onnx_pool_import_avg},
    {"GlobalAveragePool", 1, ONNX_NOW, 1, 1, import_global_avg_pool},
    {"GlobalLpPool", 1, ONNX_NOW, 1, 1, import_global_lp_pool},
    {"GlobalMaxPool", 1, ONNX_NOW, 1, 1, import_global_max_pool},
    {"LpPool", 1, ONNX_NOW, 1, 1, import_lp_pool},
    {"MaxPool", 1, ONNX_NOW, 1, 1, onnx_pool_import_max},
    {"MaxUnpool", 9, ONNX_NOW, 2, 3, import_max_unpool},
    {0},
};
