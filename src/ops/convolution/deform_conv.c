/* ops/convolution/deform_conv.c - see deform_conv.h. */
#include "ops/convolution/deform_conv.h"

#include "base/mem.h"
#include "ops/convolution/conv_internal.h"
#include "ops/op_threads.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

#include <math.h>

enum {
    DEFORM_X,
    DEFORM_WEIGHT,
    DEFORM_OFFSET,
    DEFORM_BIAS,
    DEFORM_MASK,
    DEFORM_INPUTS
};

static enum assay_status deform_fit(const struct node *node,
                                    const struct tensor *const *inputs,
                                    struct fitted_window *fitted,
                                    struct error *err)
{
    const struct deform_conv_attrs *attrs = node->attrs;
    struct window window = attrs->window;
    enum assay_status st = rule_ranks(inputs, 3, 4, err);

    if (!st)
        st = conv_check(&inputs[DEFORM_X]->shape, &inputs[DEFORM_WEIGHT]->shape,
                        attrs->groups, false, err);
    for (int i = 0; !st && i < 2; i++)
        window.kernel[i] = inputs[DEFORM_WEIGHT]->shape.dims[2 + i];
    return st ? st : window_fit(&window, &inputs[DEFORM_X]->shape, fitted, err);
}

/* Checks the offsets or the mask, with `each` numbers for a tap. */
static enum assay_status deform_check(const struct tensor *tensor,
                                      const char *name, int64_t n, int64_t each,
                                      const struct fitted_window *fitted,
                                      struct error *err)
{
    struct shape wanted = shape_of(4, n, each * window_volume(fitted->kernel),
                                   fitted->out[1], fitted->out[2]);

    return !tensor || shape_equal(&tensor->shape, &wanted)
               ? ASSAY_OK
               : rule_misfit(name, &tensor->shape, "what is needed", &wanted,
                             err);
}

static enum assay_status deform_conv_infer(const struct node *node,
                                           const struct tensor *const *inputs,
                                           struct tensor *outputs,
                                           struct error *err)
{
    const struct deform_conv_attrs *attrs = node->attrs;
    const struct shape *x = &inputs[DEFORM_X]->shape;
    const struct shape *w = &inputs[DEFORM_WEIGHT]->shape;
    struct fitted_window fitted;
    struct shape y;
    enum assay_status st = deform_fit(node, inputs, &fitted, err);

    if (!st && (attrs->offset_groups < 1 || x->dims[1] % attrs->offset_groups))
        st = error_set(err, ASSAY_BAD_INPUT,
                       "%lld channels cannot be divided into %lld groups",
                       (long long)x->dims[1], (long long)attrs->offset_groups);
    if (!st)
        st = deform_check(inputs[DEFORM_OFFSET], "offsets", x->dims[0],
                          2 * attrs->offset_groups, &fitted, err);
    if (!st)
        st = deform_check(op_input(node, inputs, DEFORM_MASK), "mask",
                          x->dims[0], attrs->offset_groups, &fitted, err);
    if (!st)
        st = rule_bias(op_input(node, inputs, DEFORM_BIAS), w->dims[0], err);
    if (st)
        return st;
    y = shape_of(4, x->dims[0], w->dims[0], fitted.out[1], fitted.out[2]);
    rule_set(&outputs[0], DTYPE_F32, &y);
    return ASSAY_OK;
}

/* Between four pixels; what is outside is 0. */
static float deform_sample(const float *plane, int64_t height, int64_t width,
                           float y, float x)
{
    int64_t top, left;
    float down, right, sum = 0;

    if (!(y > -1 && y < (float)height && x > -1 && x < (float)width))
        return 0;
    top = (int64_t)floorf(y);
    left = (int64_t)floorf(x);
    down = y - (float)top;
    right = x - (float)left;
    for (int i = 0; i < 4; i++) {
        int64_t row = top + (i >> 1), column = left + (i & 1);
        float weight = (i >> 1 ? down : 1 - down) * (i & 1 ? right : 1 - right);

        if (row >= 0 && row < height && column >= 0 && column < width)
            sum += weight * plane[row * width + column];
    }
    return sum;
}

/* What each tap of each channel sees at one position of image n. */
static void deform_gather(const struct node *node,
                          const struct tensor *const *inputs,
                          const struct fitted_window *window, int64_t n,
                          int64_t at, float *taps)
{
    const struct deform_conv_attrs *attrs = node->attrs;
    const struct tensor *mask = op_input(node, inputs, DEFORM_MASK);
    int64_t channels = inputs[DEFORM_X]->shape.dims[1];
    int64_t n_taps = window_volume(window->kernel);
    int64_t positions = window_volume(window->out);
    int64_t top = at / window->out[2] * window->stride[1] - window->before[1];
    int64_t left = at % window->out[2] * window->stride[2] - window->before[2];
    int64_t each = channels / attrs->offset_groups;

    for (int64_t i = 0; i < channels * n_taps; i++) {
        int64_t c = i / n_taps, tap = i % n_taps;
        int64_t of_group = (n * attrs->offset_groups + c / each) * n_taps + tap;
        const float *offset =
            tensor_f32(inputs[DEFORM_OFFSET]) + of_group * 2 * positions + at;
        int64_t row = tap / window->kernel[2], column = tap % window->kernel[2];
        float y = (float)(top + row * window->dilation[1]) + offset[0];
        float x =
            (float)(left + column * window->dilation[2]) + offset[positions];

        taps[i] =
            deform_sample(tensor_f32(inputs[DEFORM_X]) +
                              (n * channels + c) * window_volume(window->in),
                          window->in[1], window->in[2], y, x);
        if (mask)
            taps[i] *= tensor_f32(mask)[of_group * positions + at];
    }
}

static enum assay_status deform_conv_forward(const struct op_context *context,
                                             const struct node *node,
                                             const struct tensor *const *inputs,
                                             struct tensor *outputs,
                                             struct error *err)
{
    const struct deform_conv_attrs *attrs = node->attrs;
    const struct tensor *bias = op_input(node, inputs, DEFORM_BIAS);
    const struct shape *w = &inputs[DEFORM_WEIGHT]->shape;
    struct fitted_window window;
    int64_t positions, channels, length, each;
    bool is_short = false;
    enum assay_status st = deform_fit(node, inputs, &window, err);

    if (st)
        return st;
    positions = window_volume(window.out);
    channels = inputs[DEFORM_X]->shape.dims[1] * window_volume(window.kernel);
    length = w->dims[1] * window_volume(window.kernel);
    each = w->dims[0] / attrs->groups;
#pragma omp parallel for num_threads(op_threads(context))                      \
    reduction(||                                                               \
              : is_short)
    for (int64_t i = 0; i < inputs[DEFORM_X]->shape.dims[0] * positions; i++) {
        int64_t n = i / positions, at = i % positions;
        float *taps = mem_array((size_t)channels, sizeof *taps);

        is_short = is_short || !taps;
        if (taps)
            deform_gather(node, inputs, &window, n, at, taps);
        for (int64_t o = 0; taps && o < w->dims[0]; o++) {
            const float *weight =
                tensor_f32(inputs[DEFORM_WEIGHT]) + o * length;
            const float *seen = taps + o / each * length;
            float sum = bias ? tensor_f32(bias)[o] : 0;

            for (int64_t k = 0; k < length; k++)
                sum += weight[k] * seen[k];
            tensor_f32(&outputs[0])[(n * w->dims[0] + o) * positions + at] =
                sum;
        }
        mem_free(taps);
    }
    return is_short ? error_nomem(err, (size_t)channels * sizeof(float),
                                  "a convolution")
                    : ASSAY_OK;
}

static void deform_conv_cost(const struct node *node,
                             const struct tensor *const *inputs,
                             const struct tensor *outputs, struct cost *cost)
{
    const struct shape *w = &inputs[DEFORM_WEIGHT]->shape;

    (void)node;
    cost->macs += tensor_elements(&outputs[0]) *
                  (uint64_t)(w->dims[1] * w->dims[2] * w->dims[3]);
    cost->flops += 8 * tensor_elements(inputs[DEFORM_OFFSET]);
}

ATTR_FIELDS(deform_conv, FIELD_WINDOW(deform_conv_attrs),
            FIELD_SIZE(deform_conv_attrs, groups),
            FIELD_SIZE(deform_conv_attrs, offset_groups));

const struct op_class op_deform_conv = {
    .name = "DeformConv",
    OP_ATTRS(deform_conv),
    OP_TAKES(3, DEFORM_INPUTS),
    OP_MAKES(1, 1),
    .infer = deform_conv_infer,
    .forward = deform_conv_forward,
    .cost = deform_conv_cost,
    .is_f32 = true,
};
