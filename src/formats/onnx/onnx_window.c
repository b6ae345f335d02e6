/* formats/onnx/onnx_window.c - see onnx_import_internal.h: windows. */
#include "formats/onnx/onnx_import_internal.h"

#include <inttypes.h>
#include <string.h>

/* Larger ones could overflow what is computed from them. */
static const int64_t largest = INT64_C(1) << 31;

int onnx_window_rank(const struct onnx_call *call, const struct tensor *known)
{
    const int64_t *sizes;
    size_t n = onnx_ints(call, "kernel_shape", &sizes);

    if (n)
        return n > SHAPE_MAX_RANK ? SHAPE_MAX_RANK : (int)n;
    return known && known->shape.rank > 2 ? known->shape.rank - 2 : 0;
}

void onnx_window_list(struct onnx_call *call, const char *name, int64_t min,
                      int64_t *to, size_t n)
{
    const int64_t *from;
    size_t found = onnx_ints(call, name, &from);

    if (!found)
        return;
    if (found != n)
        onnx_fail(call, ASSAY_BAD_INPUT, "%s has %zu numbers instead of %zu",
                  name, found, n);
    for (size_t i = 0; !call->st && i < n; i++) {
        if (from[i] < min || from[i] >= largest)
            onnx_fail(call, ASSAY_BAD_INPUT, "%s contains %" PRId64, name,
                      from[i]);
        to[i] = from[i];
    }
}

static void onnx_window_read_padding(struct onnx_call *call,
                                     struct window *window)
{
    const char *automatic = onnx_text(call, "auto_pad", "NOTSET");
    int64_t pads[2 * WINDOW_MAX_RANK] = {0};

    if (strcmp(automatic, "SAME_UPPER") == 0)
        window->padding = WINDOW_SAME_UPPER;
    else if (strcmp(automatic, "SAME_LOWER") == 0)
        window->padding = WINDOW_SAME_LOWER;
    else if (strcmp(automatic, "NOTSET") == 0 || !automatic[0])
        onnx_window_list(call, "pads", 0, pads, (size_t)window->rank * 2);
    else if (strcmp(automatic, "VALID") != 0)
        onnx_fail(call, ASSAY_UNSUPPORTED, "auto_pad '%.40s' is not supported",
                  automatic);
    for (int i = 0; i < window->rank; i++) {
        window->before[i] = pads[i];
        window->after[i] = pads[window->rank + i];
    }
}

bool onnx_window_read(struct onnx_call *call, int rank, const int64_t *kernel,
                      struct window *window)
{
    *window = (struct window){.rank = rank};
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
    onnx_window_list(call, "kernel_shape", 1, window->kernel, (size_t)rank);
    onnx_window_list(call, "strides", 1, window->stride, (size_t)rank);
    onnx_window_list(call, "dilations", 1, window->dilation, (size_t)rank);
    onnx_window_read_padding(call, window);
    for (int i = 0; !call->st && i < rank; i++) {
        if (window->kernel[i] < 1 || (kernel && kernel[i] != window->kernel[i]))
            onnx_fail(call, ASSAY_BAD_INPUT,
                      "kernel_shape has %" PRId64 ", but the weight has "
                      "%" PRId64,
                      window->kernel[i], kernel ? kernel[i] : 0);
    }
    return !call->st;
}

bool onnx_window_fix(struct window *window, const struct tensor *x)
{
    struct fitted_window fitted;
    int missing = WINDOW_MAX_RANK - window->rank;

    if (window->padding == WINDOW_GIVEN)
        return true;
    if (!x || window_fit(window, &x->shape, &fitted, NULL))
        return false;
    for (int i = 0; i < window->rank; i++) {
        window->before[i] = fitted.before[missing + i];
        window->after[i] = fitted.after[missing + i];
    }
    window->padding = WINDOW_GIVEN;
    return true;
}
