/* formats/onnx_window.c - see onnx_window.h. */
#include "formats/onnx_window.h"

#include <inttypes.h>
#include <string.h>

/* Larger ones could overflow what is computed from them. */
static const int64_t largest = INT64_C(1) << 31;

/* A list of n numbers from min on; left alone where it is not there. */
static void read_list(struct onnx_call *call, const char *name, int64_t min,
                      int64_t *to, size_t n)
{
    const int64_t *from;
    size_t found = onnx_ints(call, name, &from);

    if (!found)
        return;
    if (found != n)
        onnx_fail(call, ASSAY_BAD_INPUT, "%s has %zu numbers, %zu are wanted",
                  name, found, n);
    for (size_t i = 0; !call->st && i < n; i++) {
        if (from[i] < min || from[i] >= largest)
            onnx_fail(call, ASSAY_BAD_INPUT, "%s has the number %" PRId64, name,
                      from[i]);
        to[i] = from[i];
    }
}

static void read_padding(struct onnx_call *call, struct onnx_window *window)
{
    const char *automatic = onnx_text(call, "auto_pad", "NOTSET");
    int64_t pads[2 * WINDOW_MAX_RANK] = {0};

    if (strcmp(automatic, "SAME_UPPER") == 0)
        window->padding = WINDOW_SAME_UPPER;
    else if (strcmp(automatic, "SAME_LOWER") == 0)
        window->padding = WINDOW_SAME_LOWER;
    else if (strcmp(automatic, "NOTSET") == 0 || !automatic[0])
        read_list(call, "pads", -largest, pads, (size_t)window->rank * 2);
    else if (strcmp(automatic, "VALID") != 0)
        onnx_fail(call, ASSAY_UNSUPPORTED, "auto_pad '%.40s' is not known",
                  automatic);
    for (int i = 0; i < window->rank; i++) {
        window->before[i] = pads[i];
        window->after[i] = pads[window->rank + i];
    }
}

bool onnx_window_read(struct onnx_call *call, int rank, const int64_t *kernel,
                      struct onnx_window *window)
{
    *window = (struct onnx_window){.rank = rank};
    if (rank < 1 || rank > WINDOW_MAX_RANK) {
        onnx_fail(call, ASSAY_UNSUPPORTED,
                  "windows of 1 to %d dimensions are supported, not %d",
                  WINDOW_MAX_RANK, rank);
        return false;
    }
    for (int i = 0; i < rank; i++) {
        window->stride[i] = window->dilation[i] = 1;
        window->kernel[i] = kernel ? kernel[i] : 0;
    }
    read_list(call, "kernel_shape", 1, window->kernel, (size_t)rank);
    read_list(call, "strides", 1, window->stride, (size_t)rank);
    read_list(call, "dilations", 1, window->dilation, (size_t)rank);
    read_padding(call, window);
    for (int i = 0; !call->st && i < rank; i++) {
        if (window->kernel[i] < 1 || (kernel && kernel[i] != window->kernel[i]))
            onnx_fail(call, ASSAY_BAD_INPUT,
                      "kernel_shape says %" PRId64 " where the weight has "
                      "%" PRId64,
                      window->kernel[i], kernel ? kernel[i] : 0);
    }
    return !call->st;
}

bool onnx_window_fix(struct onnx_window *window, const struct tensor *x)
{
    if (window->padding == WINDOW_GIVEN)
        return true;
    if (!x || x->shape.rank != window->rank + 2)
        return false;
    for (int i = 0; i < window->rank; i++) {
        int64_t size = x->shape.dims[2 + i], stride = window->stride[i];
        int64_t windows = (size + stride - 1) / stride;
        int64_t reach = window->dilation[i] * (window->kernel[i] - 1) + 1;
        int64_t pad = (windows - 1) * stride + reach - size;

        if (size < 0)
            return false;
        if (pad < 0)
            pad = 0;
        window->before[i] = pad / 2;
        window->after[i] = pad - pad / 2;
        if (window->padding == WINDOW_SAME_LOWER) {
            window->before[i] = pad - pad / 2;
            window->after[i] = pad / 2;
        }
    }
    window->padding = WINDOW_GIVEN;
    return true;
}
