/* ops/movement/col2im.c - see col2im.h. */
#include "ops/movement/col2im.h"

#include "ops/int_list_internal.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"
#include "ops/widen_internal.h"

#include <string.h>

enum { COL2IM_X, COL2IM_SIZES, COL2IM_PATCH };

/* Also finds the shape of the picture. */
static enum assay_status col2im_fit(const struct node *node,
                                    const struct tensor *const *inputs,
                                    struct fitted_window *fitted,
                                    struct shape *y, struct error *err)
{
    struct window window = ((const struct col2im_attrs *)node->attrs)->window;
    const struct shape *x = &inputs[COL2IM_X]->shape;
    struct int_list sizes, patch;
    int64_t elements = 1;
    enum assay_status st = rule_rank(inputs, COL2IM_X, 3, err);

    if (!st)
        st = int_list_read(inputs[COL2IM_SIZES], &sizes, err);
    if (!st)
        st = int_list_read(inputs[COL2IM_PATCH], &patch, err);
    if (!st && (sizes.n != (size_t)window.rank || patch.n != sizes.n))
        st = error_set(err, ASSAY_BAD_INPUT,
                       "%zu sizes and %zu of a patch for %d dimensions",
                       sizes.n, patch.n, window.rank);
    if (st)
        return st;
    *y = shape_of(2, x->dims[0], INT64_C(1));
    y->rank = window.rank + 2;
    for (int i = 0; i < window.rank; i++) {
        if (patch.of[i] < 1 || patch.of[i] > INT32_MAX || sizes.of[i] < 1 ||
            elements > INT32_MAX / patch.of[i])
            return error_set(
                err, ASSAY_BAD_INPUT,
                "a size of %lld or a patch of %lld is not possible",
                (long long)sizes.of[i], (long long)patch.of[i]);
        window.kernel[i] = patch.of[i];
        elements *= patch.of[i];
        y->dims[2 + i] = sizes.of[i];
    }
    y->dims[1] = x->dims[1] / elements;
    st = window_fit(&window, y, fitted, err);
    if (!st &&
        (x->dims[1] % elements || x->dims[2] != window_volume(fitted->out)))
        st = rule_misfit("columns", x, "the picture", y, err);
    return st;
}

static enum assay_status col2im_infer(const struct node *node,
                                      const struct tensor *const *inputs,
                                      struct tensor *outputs, struct error *err)
{
    struct fitted_window fitted;
    struct shape y;
    enum assay_status st = col2im_fit(node, inputs, &fitted, &y, err);

    if (!st)
        rule_set(&outputs[0], inputs[0]->dtype, &y);
    return st;
}

/* Adds one row of the columns: element `tap` of all patches of a channel. */
static void col2im_add(const struct fitted_window *window, int64_t tap,
                       const float *from, float *picture)
{
    int64_t at[WINDOW_MAX_RANK], step[WINDOW_MAX_RANK];

    for (int i = WINDOW_MAX_RANK - 1; i >= 0; i--) {
        step[i] = tap % window->kernel[i] * window->dilation[i];
        tap /= window->kernel[i];
    }
    for (int64_t patch = 0; patch < window_volume(window->out); patch++) {
        int64_t rest = patch, place = 0, stride = 1;
        bool is_inside = true;

        for (int i = WINDOW_MAX_RANK - 1; i >= 0; i--) {
            at[i] = rest % window->out[i] * window->stride[i] -
                    window->before[i] + step[i];
            rest /= window->out[i];
            is_inside &= at[i] >= 0 && at[i] < window->in[i];
            place += at[i] * stride;
            stride *= window->in[i];
        }
        if (is_inside)
            picture[place] += from[patch];
    }
}

static enum assay_status col2im_kernel(const struct op_context *context,
                                       const struct node *node,
                                       const struct tensor *const *inputs,
                                       struct tensor *outputs,
                                       struct error *err)
{
    struct fitted_window window;
    struct shape y;
    int64_t taps, patches, size;
    enum assay_status st = col2im_fit(node, inputs, &window, &y, err);

    (void)context;
    if (!st && inputs[COL2IM_X]->dtype != DTYPE_F32)
        st = rule_undefined(node, inputs[COL2IM_X]->dtype, err);
    if (st)
        return st;
    taps = window_volume(window.kernel);
    patches = window_volume(window.out);
    size = window_volume(window.in);
    if (tensor_bytes(&outputs[0]))
        memset(tensor_data(&outputs[0]), 0, tensor_bytes(&outputs[0]));
    for (int64_t row = 0; row < y.dims[0] * y.dims[1] * taps; row++)
        col2im_add(&window, row % taps,
                   tensor_f32(inputs[COL2IM_X]) + row * patches,
                   tensor_f32(&outputs[0]) + row / taps * size);
    return ASSAY_OK;
}

WIDEN_FORWARD(col2im_forward, col2im_kernel)

ATTR_FIELDS(col2im, FIELD_WINDOW(col2im_attrs));

const struct op_class op_col2im = {
    .name = "Col2Im",
    OP_ATTRS(col2im),
    OP_TAKES(3, 3),
    OP_MAKES(1, 1),
    .infer = col2im_infer,
    .host_inputs = OP_INPUT(COL2IM_SIZES) | OP_INPUT(COL2IM_PATCH),
    .forward = col2im_forward,
    .cost = rule_cost_input,
};
