/* ops/convolution/window.c - see window.h. */
#include "ops/convolution/window.h"

#include "ops/shape_rules.h"

/* Pads a side so that there are size / stride positions. */
static void fit_same(const struct window *window, struct fitted_window *fitted,
                     int side)
{
    int64_t size = fitted->in[side], stride = fitted->stride[side];
    int64_t reach = fitted->dilation[side] * (fitted->kernel[side] - 1) + 1;
    int64_t positions = (size + stride - 1) / stride;
    int64_t pad = (positions - 1) * stride + reach - size;

    if (pad < 0)
        pad = 0;
    fitted->before[side] =
        window->padding == WINDOW_SAME_UPPER ? pad / 2 : pad - pad / 2;
    fitted->after[side] = pad - fitted->before[side];
}

enum assay_status window_fit(const struct window *window, const struct shape *x,
                             struct fitted_window *fitted, struct error *err)
{
    int missing = WINDOW_MAX_RANK - window->rank;
    char text[64];

    if (x->rank != window->rank + 2)
        return error_set(err, ASSAY_BAD_INPUT,
                         "x is %s; a window of rank %d needs %d dimensions",
                         shape_text(x, text, sizeof text), window->rank,
                         window->rank + 2);
    for (int side = 0; side < WINDOW_MAX_RANK; side++) {
        int from = side - missing;
        bool is_there = from >= 0;

        fitted->kernel[side] = is_there ? window->kernel[from] : 1;
        fitted->stride[side] = is_there ? window->stride[from] : 1;
        fitted->dilation[side] = is_there ? window->dilation[from] : 1;
        fitted->before[side] = is_there ? window->before[from] : 0;
        fitted->after[side] = is_there ? window->after[from] : 0;
        fitted->in[side] = is_there ? x->dims[2 + from] : 1;
        if (is_there && window->padding != WINDOW_GIVEN)
            fit_same(window, fitted, side);
        fitted->out[side] = rule_windows(
            fitted->in[side], fitted->kernel[side], fitted->stride[side],
            fitted->dilation[side], fitted->before[side], fitted->after[side],
            window->ceil);
        if (fitted->out[side] <= 0)
            return error_set(err, ASSAY_BAD_INPUT,
                             "a window of %lld does not fit into %s",
                             (long long)fitted->kernel[side],
                             shape_text(x, text, sizeof text));
    }
    return ASSAY_OK;
}

void window_shape(const struct window *window,
                  const struct fitted_window *fitted, struct shape *y)
{
    for (int i = 0; i < window->rank; i++)
        y->dims[2 + i] = fitted->out[WINDOW_MAX_RANK - window->rank + i];
    y->rank = window->rank + 2;
}

const char *const window_paddings[] = {"given", "same_upper", "same_lower",
                                       NULL};

void window_pads_to_onnx(struct onnx_sink *to, const struct window *window)
{
    static const char *const paddings[] = {
        [WINDOW_SAME_UPPER] = "SAME_UPPER", [WINDOW_SAME_LOWER] = "SAME_LOWER"};

    if (window->padding == WINDOW_GIVEN)
        onnx_attr_pads(to, window->before, window->after, (size_t)window->rank);
    else
        onnx_attr_text(to, "auto_pad", paddings[window->padding]);
}

void window_to_onnx(struct onnx_sink *to, const struct window *window)
{
    size_t rank = (size_t)window->rank;

    onnx_attr_ints(to, "strides", window->stride, rank);
    onnx_attr_ints(to, "dilations", window->dilation, rank);
    window_pads_to_onnx(to, window);
}
