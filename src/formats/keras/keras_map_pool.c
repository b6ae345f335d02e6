/* formats/keras/keras_map_pool.c - windows and pooling. */
#include "formats/keras/keras_import_internal.h"
#include "ops/math/reduce.h"
#include "ops/ops.h"
#include "ops/pooling/adaptive_avg_pool2d.h"
#include "ops/pooling/avg_pool2d.h"
#include "ops/pooling/max_pool2d.h"
#include "ops/pooling/pool_nd.h"

#include <string.h>

/* ---- windows ------------------------------------------------------------ */

static void pad_same(struct keras_call *call, struct window *window,
                     const struct keras_value *x)
{
    for (int i = 0; i < 2; i++) {
        int64_t reach = (window->kernel[i] - 1) * window->dilation[i] + 1;
        int64_t stride = window->stride[i], size = keras_side(call, x, i);
        int64_t positions = (size + stride - 1) / stride;
        int64_t all = (positions - 1) * stride + reach - size;

        if (stride > 1 && !x->is_sized)
            window->padding = WINDOW_SAME_UPPER;
        all = stride == 1 ? reach - 1 : all < 0 ? 0 : all;
        window->before[i] = all / 2;
        window->after[i] = all - all / 2;
    }
}

struct window keras_window(struct keras_call *call, const char *kernel,
                           const struct keras_value *x)
{
    struct window window = {.rank = 2};
    const char *padding = keras_text(call, "padding", "valid");
    const struct json_value *stride = keras_get(call, "strides");
    bool has_stride = stride && stride->kind != JSON_NULL;

    keras_pair(call, kernel, 2, window.kernel);
    keras_pair(call, "dilation_rate", 1, window.dilation);
    if (has_stride)
        keras_pair(call, "strides", 1, window.stride);
    else if (strcmp(kernel, "pool_size") == 0)
        memcpy(window.stride, window.kernel, sizeof window.stride);
    else
        window.stride[0] = window.stride[1] = 1;
    if (strcmp(padding, "same") == 0 && x->shape.rank == 4)
        pad_same(call, &window, x);
    else if (strcmp(padding, "valid") != 0)
        keras_fail(call, ASSAY_UNSUPPORTED, "padding '%.20s' is not supported",
                   padding);
    if (window.padding != WINDOW_GIVEN) {
        memset(window.before, 0, sizeof window.before);
        memset(window.after, 0, sizeof window.after);
    }
    return window;
}

/* ---- pools -------------------------------------------------------------- */

static void keras_pool_import_max(struct keras_call *call)
{
    struct keras_value *x = call->inputs[0];
    uint32_t from = keras_images(call, x);
    struct pool_nd_attrs attrs = {.window = keras_window(call, "pool_size", x)};
    const struct window *window = &attrs.window;
    struct max_pool2d_attrs plain = {0};

    if (window->padding != WINDOW_GIVEN) {
        keras_put_images(call,
                         keras_emit(call, &op_max_pool_nd, &attrs, &from, 1));
        return;
    }
    memcpy(plain.kernel, window->kernel, sizeof plain.kernel);
    memcpy(plain.stride, window->stride, sizeof plain.stride);
    memcpy(plain.before, window->before, sizeof plain.before);
    memcpy(plain.after, window->after, sizeof plain.after);
    keras_put_images(call, keras_emit(call, &op_max_pool2d, &plain, &from, 1));
}

/* The average leaves padding out. */
static void keras_pool_import_avg(struct keras_call *call)
{
    struct keras_value *x = call->inputs[0];
    uint32_t from = keras_images(call, x);
    struct pool_nd_attrs attrs = {.window = keras_window(call, "pool_size", x)};
    const struct window *window = &attrs.window;
    struct avg_pool2d_attrs plain = {0};

    if (window->padding != WINDOW_GIVEN) {
        keras_put_images(call,
                         keras_emit(call, &op_avg_pool_nd, &attrs, &from, 1));
        return;
    }
    memcpy(plain.kernel, window->kernel, sizeof plain.kernel);
    memcpy(plain.stride, window->stride, sizeof plain.stride);
    memcpy(plain.before, window->before, sizeof plain.before);
    memcpy(plain.after, window->after, sizeof plain.after);
    keras_put_images(call, keras_emit(call, &op_avg_pool2d, &plain, &from, 1));
}

/* Puts [n, c, 1, 1] as it is, or without the ones. */
static void keras_pool_put_global(struct keras_call *call, uint32_t pooled)
{
    if (keras_bool(call, "keepdims", false))
        keras_put_images(call, pooled);
    else
        keras_put_last(call, keras_emit(call, &op_flatten, NULL, &pooled, 1));
}

static void import_global_avg(struct keras_call *call)
{
    struct adaptive_avg_pool2d_attrs attrs = {.size = {1, 1}};
    uint32_t x = keras_images(call, call->inputs[0]);

    keras_pool_put_global(
        call, keras_emit(call, &op_adaptive_avg_pool2d, &attrs, &x, 1));
}

static void import_global_max(struct keras_call *call)
{
    static const int64_t axes[] = {2, 3};
    struct reduce_attrs attrs = {.keeps_dims = true};
    uint32_t inputs[] = {keras_images(call, call->inputs[0]),
                         keras_new_i64s(call, axes, 2)};

    keras_pool_put_global(call,
                          keras_emit(call, &op_reduce_max, &attrs, inputs, 2));
}

const struct keras_layer keras_pool_layers[] = {
    {"AveragePooling2D", 1, 1, keras_pool_import_avg},
    {"GlobalAveragePooling2D", 1, 1, import_global_avg},
    {"GlobalMaxPooling2D", 1, 1, import_global_max},
    {"MaxPooling2D", 1, 1, keras_pool_import_max},
    {0},
};
