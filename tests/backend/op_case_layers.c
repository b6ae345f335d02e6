/* tests/backend/op_case_layers.c - cases of layers. */
#include "op_case_internal.h"
#include "ops/convolution/conv2d.h"
#include "ops/convolution/conv_nd.h"
#include "ops/convolution/conv_transpose2d.h"
#include "ops/math/clip.h"
#include "ops/math/unary_math.h"
#include "ops/movement/concat.h"
#include "ops/norm/batch_norm.h"
#include "ops/ops.h"
#include "ops/pooling/adaptive_avg_pool2d.h"
#include "ops/pooling/avg_pool2d.h"
#include "ops/pooling/max_pool2d.h"
#include "ops/pooling/pool_nd.h"
#include "ops/product/linear.h"

#include <string.h>

static int64_t out_size(const struct op_case *c, int64_t size)
{
    return (size + 2 * c->p + c->e - c->d * (c->k - 1) - 1) / c->s + 1;
}

static enum assay_status add_conv2d(struct case_builder *b,
                                    const struct op_case *c, uint32_t x,
                                    struct tensor *residual, uint32_t *y)
{
    struct shape w = shape_of(4, c->o, c->c / c->g, c->k, c->k);
    struct shape out =
        shape_of(4, c->n, c->o, out_size(c, c->h), out_size(c, c->w));
    struct conv2d_attrs attrs = {.stride = {c->s, c->s},
                                 .dilation = {c->d, c->d},
                                 .before = {c->p, c->p},
                                 .after = {c->p + c->e, c->p + c->e},
                                 .groups = c->g,
                                 .has_relu = c->relu || c->relu6,
                                 .relu_limit = c->relu6 ? 1 : 0,
                                 .activation = (enum conv2d_activation)c->a,
                                 .slope = 0.1F};
    uint32_t inputs[CONV2D_INPUTS] = {x, GRAPH_NONE, GRAPH_NONE, GRAPH_NONE};
    struct shape channels = shape_of(1, c->o);
    enum assay_status st =
        case_parameter(b, "weight", &w, -1, 1, &inputs[CONV2D_WEIGHT]);

    if (!st && !c->nobias)
        st = case_parameter(b, "bias", &channels, -1, 1, &inputs[CONV2D_BIAS]);
    if (!st && c->residual)
        st =
            case_input(b, "residual", &out, residual, &inputs[CONV2D_RESIDUAL]);
    if (!st)
        st = case_append(b, &op_conv2d, &attrs, inputs, CONV2D_INPUTS, y);
    return st;
}

static enum assay_status add_transposed(struct case_builder *b,
                                        const struct op_case *c, uint32_t x,
                                        struct tensor *second, uint32_t *y)
{
    struct shape w = shape_of(4, c->c, c->o, c->k, c->k);
    struct shape channels = shape_of(1, c->o);
    struct conv_transpose2d_attrs attrs = {.stride = {c->s, c->s},
                                           .before = {c->p, c->p},
                                           .after = {c->p, c->p},
                                           .more = {c->e, c->e},
                                           .has_relu = c->relu};
    uint32_t inputs[] = {x, GRAPH_NONE, GRAPH_NONE};
    enum assay_status st = case_parameter(b, "weight", &w, -1, 1, &inputs[1]);

    (void)second;
    if (!st && !c->nobias)
        st = case_parameter(b, "bias", &channels, -1, 1, &inputs[2]);
    if (!st)
        st = case_append(b, &op_conv_transpose2d, &attrs, inputs, 3, y);
    return st;
}

static enum assay_status add_linear(struct case_builder *b,
                                    const struct op_case *c, uint32_t x,
                                    struct tensor *second, uint32_t *y)
{
    struct shape w = shape_of(2, c->o, c->c), channels = shape_of(1, c->o);
    struct linear_attrs attrs = {.has_relu = c->relu};
    uint32_t inputs[] = {x, GRAPH_NONE, GRAPH_NONE};
    enum assay_status st = case_parameter(b, "weight", &w, -1, 1, &inputs[1]);

    (void)second;
    if (!st && !c->nobias)
        st = case_parameter(b, "bias", &channels, -1, 1, &inputs[2]);
    if (!st)
        st = case_append(b, &op_linear, &attrs, inputs, 3, y);
    return st;
}

static enum assay_status add_max_pool2d(struct case_builder *b,
                                        const struct op_case *c, uint32_t x,
                                        struct tensor *second, uint32_t *y)
{
    struct max_pool2d_attrs attrs = {.kernel = {c->k, c->k},
                                     .stride = {c->s, c->s},
                                     .before = {c->p, c->p},
                                     .after = {c->p, c->p},
                                     .ceil = c->ceil};

    (void)second;
    return case_append(b, &op_max_pool2d, &attrs, &x, 1, y);
}

static enum assay_status add_avg_pool2d(struct case_builder *b,
                                        const struct op_case *c, uint32_t x,
                                        struct tensor *second, uint32_t *y)
{
    struct avg_pool2d_attrs attrs = {.kernel = {c->k, c->k},
                                     .stride = {c->s, c->s},
                                     .before = {c->p, c->p},
                                     .after = {c->p, c->p},
                                     .ceil = c->ceil,
                                     .counts_padding = c->counted};

    (void)second;
    return case_append(b, &op_avg_pool2d, &attrs, &x, 1, y);
}

static enum assay_status add_adaptive(struct case_builder *b,
                                      const struct op_case *c, uint32_t x,
                                      struct tensor *second, uint32_t *y)
{
    struct adaptive_avg_pool2d_attrs attrs = {.size = {c->o, c->k}};

    (void)second;
    return case_append(b, &op_adaptive_avg_pool2d, &attrs, &x, 1, y);
}

static enum assay_status add_concat(struct case_builder *b,
                                    const struct op_case *c, uint32_t x,
                                    struct tensor *second, uint32_t *y)
{
    struct shape other = shape_of(4, c->n, c->o, c->h, c->w);
    struct concat_attrs attrs = {.axis = 1};
    uint32_t inputs[] = {x, GRAPH_NONE, x};
    enum assay_status st = case_input(b, "other", &other, second, &inputs[1]);

    return st ? st : case_append(b, &op_concat, &attrs, inputs, 3, y);
}

/* With a dropout in between, which must pass its input on. */
static enum assay_status add_clip(struct case_builder *b,
                                  const struct op_case *c, uint32_t x,
                                  struct tensor *second, uint32_t *y)
{
    struct clip_attrs attrs = {.low = c->k == 1 ? 0 : 0.25f, .high = 0.5f};
    enum assay_status st = case_append(b, &op_dropout, NULL, &x, 1, &x);

    (void)second;
    return st ? st : case_append(b, &op_clip, &attrs, &x, 1, y);
}

static enum assay_status add_sigmoid(struct case_builder *b,
                                     const struct op_case *c, uint32_t x,
                                     struct tensor *second, uint32_t *y)
{
    (void)c, (void)second;
    return case_append(b, &op_sigmoid, NULL, &x, 1, y);
}

static enum assay_status add_relu(struct case_builder *b,
                                  const struct op_case *c, uint32_t x,
                                  struct tensor *second, uint32_t *y)
{
    (void)c, (void)second;
    return case_append(b, &op_relu, NULL, &x, 1, y);
}

static enum assay_status add_add(struct case_builder *b,
                                 const struct op_case *c, uint32_t x,
                                 struct tensor *second, uint32_t *y)
{
    struct shape shape = shape_of(4, c->n, c->c, c->h, c->w);
    uint32_t inputs[] = {x, GRAPH_NONE};
    enum assay_status st = case_input(b, "other", &shape, second, &inputs[1]);

    return st ? st : case_append(b, &op_add, NULL, inputs, 2, y);
}

/* k=1: of one shape; k=2: by one number per image and channel, with the
 * operands swapped; k=3: by one number per channel. */
static enum assay_status add_mul(struct case_builder *b,
                                 const struct op_case *c, uint32_t x,
                                 struct tensor *second, uint32_t *y)
{
    bool is_scale = c->k == 2;
    struct shape shape = shape_of(4, c->n, c->c, is_scale ? (int64_t)1 : c->h,
                                  is_scale ? (int64_t)1 : c->w);
    uint32_t inputs[] = {x, x};
    enum assay_status st;

    if (c->k == 3)
        shape = shape_of(3, c->c, (int64_t)1, (int64_t)1);
    st = case_input(b, "other", &shape, second, &inputs[is_scale ? 0 : 1]);
    return st ? st : case_append(b, &op_mul, NULL, inputs, 2, y);
}

/* In sequence: each must leave the padding alone. */
static enum assay_status add_activations(struct case_builder *b,
                                         const struct op_case *c, uint32_t x,
                                         struct tensor *second, uint32_t *y)
{
    static const struct op_class *const ops[] = {
        &op_leaky_relu, &op_silu, &op_hard_swish, &op_mish,
        &op_elu,        &op_gelu, &op_tanh,
    };
    struct unary_attrs attrs = {.alpha = 0.3};
    enum assay_status st = ASSAY_OK;

    (void)c, (void)second;
    *y = x;
    for (size_t i = 0; !st && i < sizeof ops / sizeof *ops; i++)
        st = case_append(b, ops[i], &attrs, y, 1, y);
    return st;
}

static enum assay_status add_batch_norm(struct case_builder *b,
                                        const struct op_case *c, uint32_t x,
                                        struct tensor *second, uint32_t *y)
{
    static const char *const names[] = {"x", "weight", "bias", "mean",
                                        "variance"};
    struct shape channels = shape_of(1, c->c);
    struct batch_norm_attrs attrs = {.eps = 1e-5f, .has_relu = c->relu};
    uint32_t inputs[BATCH_NORM_INPUTS] = {x};
    enum assay_status st = ASSAY_OK;

    (void)second;
    for (size_t i = 1; !st && i < BATCH_NORM_INPUTS; i++)
        st = case_parameter(b, names[i], &channels,
                            i == BATCH_NORM_VARIANCE ? 0.5f : -1, 1.5f,
                            &inputs[i]);
    return st ? st
              : case_append(b, &op_batch_norm, &attrs, inputs,
                            BATCH_NORM_INPUTS, y);
}

static enum assay_status add_resize(struct case_builder *b,
                                    const struct op_case *c, uint32_t x,
                                    struct tensor *second, uint32_t *y)
{
    struct shape like = shape_of(4, c->n, (int64_t)1, c->o, c->k);
    uint32_t inputs[] = {x, GRAPH_NONE};
    enum assay_status st = case_input(b, "like", &like, second, &inputs[1]);

    return st ? st : case_append(b, &op_resize_nearest, NULL, inputs, 2, y);
}

/* ---- general windows ------------------------------------------------------
 */

/* In two dimensions, with the given padding or (ceil) padding by the size. */
static struct window window_of(const struct op_case *c)
{
    struct window window = {
        .rank = 2, .padding = c->ceil ? WINDOW_SAME_UPPER : WINDOW_GIVEN};

    for (int i = 0; i < 2; i++) {
        window.kernel[i] = c->k;
        window.stride[i] = c->s;
        window.dilation[i] = c->d;
        window.before[i] = window.after[i] = c->p;
    }
    return window;
}

static enum assay_status add_conv_nd(struct case_builder *b,
                                     const struct op_case *c, uint32_t x,
                                     struct tensor *second, uint32_t *y)
{
    bool is_back = strcmp(c->op, "conv_transpose_nd") == 0;
    struct conv_nd_attrs attrs = {.window = window_of(c), .groups = c->g};
    struct conv_transpose_nd_attrs back = {
        .window = window_of(c), .groups = c->g, .more = {c->s - 1, 0}};
    struct shape w = shape_of(4, is_back ? c->c : c->o,
                              (is_back ? c->o : c->c) / c->g, c->k, c->k);
    struct shape channels = shape_of(1, c->o);
    uint32_t inputs[] = {x, GRAPH_NONE, GRAPH_NONE};
    enum assay_status st = case_parameter(b, "weight", &w, -1, 1, &inputs[1]);

    (void)second;
    if (!st && !c->nobias)
        st = case_parameter(b, "bias", &channels, -1, 1, &inputs[2]);
    if (st)
        return st;
    return is_back ? case_append(b, &op_conv_transpose_nd, &back, inputs, 3, y)
                   : case_append(b, &op_conv_nd, &attrs, inputs, 3, y);
}

static enum assay_status add_pool_nd(struct case_builder *b,
                                     const struct op_case *c, uint32_t x,
                                     struct tensor *second, uint32_t *y)
{
    struct pool_nd_attrs attrs = {
        .window = window_of(c), .counts_padding = c->counted, .power = 3};
    const struct op_class *op = &op_lp_pool_nd;

    (void)second;
    if (strcmp(c->op, "max_pool_nd") == 0)
        op = &op_max_pool_nd;
    if (strcmp(c->op, "avg_pool_nd") == 0)
        op = &op_avg_pool_nd;
    return case_append(b, op, &attrs, &x, 1, y);
}

const struct case_maker case_layers[] = {
    {"conv2d", add_conv2d},
    {"conv_transpose2d", add_transposed},
    {"linear", add_linear},
    {"max_pool2d", add_max_pool2d},
    {"avg_pool2d", add_avg_pool2d},
    {"adaptive_avg_pool2d", add_adaptive},
    {"concat", add_concat},
    {"clip", add_clip},
    {"sigmoid", add_sigmoid},
    {"relu", add_relu},
    {"add", add_add},
    {"mul", add_mul},
    {"activations", add_activations},
    {"batch_norm", add_batch_norm},
    {"resize", add_resize},
    {"conv_nd", add_conv_nd},
    {"conv_transpose_nd", add_conv_nd},
    {"max_pool_nd", add_pool_nd},
    {"avg_pool_nd", add_pool_nd},
    {"lp_pool_nd", add_pool_nd},
    {NULL, NULL},
};
