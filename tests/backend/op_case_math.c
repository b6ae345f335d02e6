/* tests/backend/op_case_math.c - cases of arithmetic: elementwise ops, sums,
 * products, norms. */
#include "op_case_internal.h"
#include "ops/convolution/conv2d.h"
#include "ops/math/arg_max.h"
#include "ops/math/binary_math.h"
#include "ops/math/cast.h"
#include "ops/math/softmax.h"
#include "ops/math/top_k.h"
#include "ops/math/unary_math.h"
#include "ops/norm/batch_norm.h"
#include "ops/norm/dropout_training.h"
#include "ops/norm/group_norm.h"
#include "ops/norm/normalize.h"
#include "ops/ops.h"
#include "ops/product/attention.h"
#include "ops/product/dense.h"
#include "ops/product/einsum.h"
#include "ops/product/matmul.h"

#include <stdio.h>
#include <string.h>

enum assay_status case_unary(struct case_builder *b, const struct op_class *op,
                             uint32_t x, uint32_t *y)
{
    struct unary_attrs attrs = {.alpha = 0.3, .beta = 0.4};

    return case_append(b, op, &attrs, &x, 1, y);
}

/* ---- two inputs or more -------------------------------------------------- */

/* k=1: of one shape; k=2: by one number per channel; k=3: by rows of one; k=4:
 * operands swapped, broadcast as a whole. */
static struct shape other_shape(const struct op_case *c)
{
    switch (c->k) {
    case 2:
        return shape_of(4, c->n, c->c, (int64_t)1, (int64_t)1);
    case 3:
        return shape_of(2, c->h, (int64_t)1);
    case 4:
        return shape_of(1, c->w);
    default:
        return shape_of(4, c->n, c->c, c->h, c->w);
    }
}

static enum assay_status add_binary(struct case_builder *b,
                                    const struct op_case *c, uint32_t x,
                                    struct tensor *second, uint32_t *y)
{
    static const struct {
        const char *name;
        const struct op_class *op;
    } ops[] = {{"sub", &op_sub},   {"div", &op_div},     {"pow", &op_pow},
               {"min", &op_min},   {"max", &op_max},     {"sum", &op_sum},
               {"mean", &op_mean}, {"prelu", &op_prelu}, {"times", &op_mul}};
    struct binary_attrs attrs = {0};
    struct shape shape = other_shape(c);
    uint32_t inputs[] = {x, GRAPH_NONE, x};
    size_t i = 0, n = 2;
    enum assay_status st = case_input(b, "other", &shape, second, &inputs[1]);

    while (strcmp(ops[i].name, c->op))
        i++;
    if (ops[i].op == &op_sum || ops[i].op == &op_mean)
        n = 3;
    if (c->k == 4 && ops[i].op != &op_prelu) {
        inputs[0] = inputs[1];
        inputs[1] = x;
    }
    return st ? st : case_append(b, ops[i].op, &attrs, inputs, n, y);
}

/* An exponent of another type, as exporters write squares. */
static enum assay_status add_square(struct case_builder *b,
                                    const struct op_case *c, uint32_t x,
                                    struct tensor *second, uint32_t *y)
{
    static const int64_t two = 2;
    struct binary_attrs attrs = {0};
    uint32_t inputs[] = {x, GRAPH_NONE};
    enum assay_status st = case_integers(b, "two", &two, 1, &inputs[1]);

    (void)c, (void)second;
    return st ? st : case_append(b, &op_pow, &attrs, inputs, 2, y);
}

/* ---- norms ----------------------------------------------------------------
 */

static enum assay_status
add_batch_norm_training(struct case_builder *b, const struct op_case *c,
                        uint32_t x, struct tensor *second, uint32_t *y)
{
    static const char *const names[] = {"x", "weight", "bias", "mean",
                                        "variance"};
    struct shape channels = shape_of(1, c->c);
    struct normalize_attrs attrs = {.eps = 1e-3F,
                                    .momentum = 0.9F,
                                    .is_unbiased = c->counted,
                                    .has_relu = c->relu || c->relu6,
                                    .relu_limit = c->relu6 ? 1 : 0};
    struct shape y_shape = c->h > 1 ? shape_of(4, c->n, c->c, c->h, c->w)
                                    : shape_of(2, c->n, c->c);
    size_t n = BATCH_NORM_INPUTS + (c->residual ? 1 : 0);
    uint32_t inputs[BATCH_NORM_INPUTS + 1] = {x}, outputs[3];
    enum assay_status st = ASSAY_OK;

    for (size_t i = 1; !st && i < BATCH_NORM_INPUTS; i++)
        st = case_parameter(b, names[i], &channels,
                            i == BATCH_NORM_VARIANCE ? 0.5F : -1, 1.5F,
                            &inputs[i]);
    if (!st && c->residual)
        st = case_input(b, "residual", &y_shape, second,
                        &inputs[BATCH_NORM_RESIDUAL]);
    if (!st)
        st = case_append_outputs(b, &op_batch_norm_training, &attrs, inputs, n,
                                 outputs, 3);
    *y = outputs[0];
    return st;
}

/* LayerNorm along the last axis, or InstanceNorm. */
static enum assay_status add_norm(struct case_builder *b,
                                  const struct op_case *c, uint32_t x,
                                  struct tensor *second, uint32_t *y)
{
    bool is_layer = strcmp(c->op, "layer_norm") == 0;
    struct normalize_attrs attrs = {.eps = 1e-3F, .axis = -1};
    struct shape scale = shape_of(1, is_layer ? c->w : c->c);
    uint32_t inputs[3] = {x};
    enum assay_status st =
        case_parameter(b, "scale", &scale, 0.5F, 1.5F, &inputs[1]);

    (void)second;
    if (!st && !c->nobias)
        st = case_parameter(b, "bias", &scale, -1, 1, &inputs[2]);
    return st ? st
              : case_append(b, is_layer ? &op_layer_norm : &op_instance_norm,
                            &attrs, inputs, c->nobias ? 2 : 3, y);
}

/* g groups of channels. */
static enum assay_status add_group_norm(struct case_builder *b,
                                        const struct op_case *c, uint32_t x,
                                        struct tensor *second, uint32_t *y)
{
    struct group_norm_attrs attrs = {.groups = c->g, .eps = 1e-3F};
    struct shape channels = shape_of(1, c->c);
    uint32_t inputs[3] = {x};
    enum assay_status st =
        case_parameter(b, "scale", &channels, 0.5F, 1.5F, &inputs[1]);

    (void)second;
    if (!st)
        st = case_parameter(b, "bias", &channels, -1, 1, &inputs[2]);
    return st ? st : case_append(b, &op_group_norm, &attrs, inputs, 3, y);
}

/* The index along axis k, as float32. */
static enum assay_status add_arg_max(struct case_builder *b,
                                     const struct op_case *c, uint32_t x,
                                     struct tensor *second, uint32_t *y)
{
    struct arg_max_attrs attrs = {.axis = c->k, .keeps_dims = true};
    struct cast_attrs cast = {.dtype = DTYPE_F32};
    uint32_t index;
    enum assay_status st = case_append(b, &op_arg_max, &attrs, &x, 1, &index);

    (void)second;
    return st ? st : case_append(b, &op_cast, &cast, &index, 1, y);
}

/* The k largest along the last axis. */
static enum assay_status add_top_k(struct case_builder *b,
                                   const struct op_case *c, uint32_t x,
                                   struct tensor *second, uint32_t *y)
{
    struct top_k_attrs attrs = {.axis = -1};
    uint32_t inputs[2] = {x}, outputs[2];
    enum assay_status st = case_integers(b, "k", &c->k, 1, &inputs[1]);

    (void)second;
    if (!st)
        st = case_append_outputs(b, &op_top_k, &attrs, inputs, 2, outputs, 2);
    *y = outputs[0];
    return st;
}

/* Along axis k. */
static enum assay_status add_cum_sum(struct case_builder *b,
                                     const struct op_case *c, uint32_t x,
                                     struct tensor *second, uint32_t *y)
{
    struct cum_sum_attrs attrs = {.is_exclusive = c->counted};
    uint32_t inputs[2] = {x};
    enum assay_status st = case_integers(b, "axis", &c->k, 1, &inputs[1]);

    (void)second;
    return st ? st : case_append(b, &op_cum_sum, &attrs, inputs, 2, y);
}

/* A convolution of 1x1 in groups, with its activation. */
static enum assay_status add_grouped(struct case_builder *b,
                                     const struct op_case *c, uint32_t *x)
{
    struct shape w = shape_of(4, c->c, c->c / c->g, (int64_t)1, (int64_t)1);
    struct conv2d_attrs attrs = conv2d_defaults();
    uint32_t inputs[] = {*x, GRAPH_NONE, GRAPH_NONE, GRAPH_NONE};
    enum assay_status st = case_parameter(b, "weight", &w, -1, 1, &inputs[1]);

    attrs.groups = c->g;
    attrs.activation = (enum conv2d_activation)c->a;
    return st ? st
              : case_append(b, &op_conv2d, &attrs, inputs, CONV2D_INPUTS, x);
}

/* Over k channels; with g > 1, of what such a convolution makes. */
static enum assay_status add_local_norm(struct case_builder *b,
                                        const struct op_case *c, uint32_t x,
                                        struct tensor *second, uint32_t *y)
{
    struct local_response_norm_attrs attrs = {
        .size = c->k, .alpha = 0.9F, .beta = c->a ? 0.6F : 0.75F, .bias = 1};
    enum assay_status st = c->g > 1 ? add_grouped(b, c, &x) : ASSAY_OK;

    (void)second;
    return st ? st : case_append(b, &op_local_response_norm, &attrs, &x, 1, y);
}

/* ---- products -------------------------------------------------------------
 */

/* [n,c,h,w] times [w,o], or k=2: times [1,c,w,o]; k=3: a line times it. */
static enum assay_status add_matmul(struct case_builder *b,
                                    const struct op_case *c, uint32_t x,
                                    struct tensor *second, uint32_t *y)
{
    struct shape other = shape_of(2, c->w, c->o);
    uint32_t inputs[] = {x, GRAPH_NONE};
    enum assay_status st;

    if (c->k == 2)
        other = shape_of(4, (int64_t)1, c->c, c->w, c->o);
    if (c->k == 3)
        other = shape_of(1, c->w);
    st = case_input(b, "other", &other, second, &inputs[1]);
    return st ? st : case_append(b, &op_matmul, NULL, inputs, 2, y);
}

/* With [n,w,o] for each of n; k=2: with [c,o,w], for each of c, in another
 * order; k=3: with [w,o], added up over all rows. */
static enum assay_status add_einsum(struct case_builder *b,
                                    const struct op_case *c, uint32_t x,
                                    struct tensor *second, uint32_t *y)
{
    static const char *const equations[] = {"nchw,nwo->ncho", "nchw,cow->nohc",
                                            "nchw,wo->o"};
    const struct shape others[] = {shape_of(3, c->n, c->w, c->o),
                                   shape_of(3, c->c, c->o, c->w),
                                   shape_of(2, c->w, c->o)};
    struct einsum_attrs attrs;
    uint32_t inputs[] = {x, GRAPH_NONE};
    enum assay_status st =
        case_input(b, "other", &others[c->k - 1], second, &inputs[1]);

    snprintf(attrs.equation, sizeof attrs.equation, "%s", equations[c->k - 1]);
    return st ? st : case_append(b, &op_einsum, &attrs, inputs, 2, y);
}

/* [n,c,h,w] times weights [w,o]; a: an enum dense_activation. k=2: a MatMul. */
static enum assay_status add_dense(struct case_builder *b,
                                   const struct op_case *c, uint32_t x,
                                   struct tensor *second, uint32_t *y)
{
    struct shape w = shape_of(2, c->w, c->o), columns = shape_of(1, c->o);
    struct shape plus = shape_of(4, c->n, c->c, c->h, c->o);
    struct dense_attrs attrs = {.activation = (int)c->a};
    uint32_t inputs[DENSE_INPUTS] = {x, GRAPH_NONE, GRAPH_NONE, GRAPH_NONE};
    enum assay_status st =
        case_parameter(b, "weight", &w, -1, 1, &inputs[DENSE_WEIGHT]);

    if (!st && c->k == 2)
        return case_append(b, &op_matmul, NULL, inputs, 2, y);
    if (!st && !c->nobias)
        st = case_parameter(b, "bias", &columns, -1, 1, &inputs[DENSE_BIAS]);
    if (!st && c->residual)
        st = case_input(b, "plus", &plus, second, &inputs[DENSE_PLUS]);
    return st ? st : case_append(b, &op_dense, &attrs, inputs, DENSE_INPUTS, y);
}

/* q [n,c,h,w], k [n,c,w,a] and v [n,c,a,o]. k=2: with a summand for each head
 * and a mask for each of n; k=3: one k and v for all heads. */
static enum assay_status add_attention(struct case_builder *b,
                                       const struct op_case *c, uint32_t x,
                                       struct tensor *second, uint32_t *y)
{
    int64_t m = (int64_t)c->a, heads = c->k == 3 ? 1 : c->c;
    struct shape k = shape_of(4, c->n, heads, c->w, m);
    struct shape v = shape_of(4, c->n, heads, m, c->o);
    struct shape plus = shape_of(4, (int64_t)1, c->c, c->h, m);
    struct shape mask = shape_of(4, c->n, (int64_t)1, c->h, m);
    uint32_t inputs[ATTENTION_INPUTS] = {x, GRAPH_NONE, GRAPH_NONE, GRAPH_NONE,
                                         GRAPH_NONE};
    enum assay_status st =
        case_parameter(b, "k", &k, -1, 1, &inputs[ATTENTION_K]);

    (void)second;
    if (!st)
        st = case_parameter(b, "v", &v, -1, 1, &inputs[ATTENTION_V]);
    if (!st && c->k == 2)
        st = case_parameter(b, "plus", &plus, -2, 2, &inputs[ATTENTION_PLUS]);
    if (!st && c->k == 2)
        st = case_parameter(b, "mask", &mask, -2, 2, &inputs[ATTENTION_MASK]);
    return st ? st
              : case_append(b, &op_attention, NULL, inputs, ATTENTION_INPUTS,
                            y);
}

/* a [n,c], b [c,o]; k=2: both transposed; c is a row. */
static enum assay_status add_gemm(struct case_builder *b,
                                  const struct op_case *c, uint32_t x,
                                  struct tensor *second, uint32_t *y)
{
    bool is_turned = c->k == 2;
    struct gemm_attrs attrs = {.alpha = 0.7F,
                               .beta = -0.3F,
                               .transposes_a = is_turned,
                               .transposes_b = is_turned};
    int64_t depth = is_turned ? c->n : c->c;
    struct shape other =
        is_turned ? shape_of(2, c->o, depth) : shape_of(2, depth, c->o);
    struct shape row = shape_of(1, c->o);
    uint32_t inputs[] = {x, GRAPH_NONE, GRAPH_NONE};
    enum assay_status st = case_input(b, "other", &other, second, &inputs[1]);

    if (!st && !c->nobias)
        st = case_parameter(b, "row", &row, -1, 1, &inputs[2]);
    return st ? st
              : case_append(b, &op_gemm, &attrs, inputs, c->nobias ? 2 : 3, y);
}

/* ---- softmax and dropout --------------------------------------------------
 */

/* Along the channels; k=3: along the last dimension. */
static enum assay_status add_softmax(struct case_builder *b,
                                     const struct op_case *c, uint32_t x,
                                     struct tensor *second, uint32_t *y)
{
    struct softmax_attrs attrs = {.axis = c->k == 3 ? -1 : 1,
                                  .is_flat = c->k == 2};
    bool is_log = strcmp(c->op, "log_softmax") == 0;

    (void)second;
    return case_append(b, is_log ? &op_log_softmax : &op_softmax, &attrs, &x, 1,
                       y);
}

/* k=1: with a seed as input; k=2: draws as ONNX does. */
static enum assay_status add_dropout(struct case_builder *b,
                                     const struct op_case *c, uint32_t x,
                                     struct tensor *second, uint32_t *y)
{
    static const int64_t seed = 77, on = 1;
    struct dropout_training_attrs attrs = {.seed = 5};
    struct shape one = shape_of(1, (int64_t)1);
    uint32_t inputs[DROPOUT_INPUTS] = {x};
    enum assay_status st =
        case_parameter(b, "ratio", &one, 0.3F, 0.3F, &inputs[DROPOUT_RATIO]);

    (void)second;
    if (!st)
        st = case_integers(b, "on", &on, 1, &inputs[DROPOUT_TRAINING]);
    if (!st)
        st = case_integers(b, "seed", &seed, 1, &inputs[DROPOUT_SEED]);
    return st ? st
              : case_append(b, &op_dropout_training, &attrs, inputs,
                            c->k == 2 ? DROPOUT_SEED : DROPOUT_INPUTS, y);
}

const struct case_maker case_math[] = {
    {"attention", add_attention},
    {"sub", add_binary},
    {"times", add_binary},
    {"div", add_binary},
    {"pow", add_binary},
    {"min", add_binary},
    {"max", add_binary},
    {"sum", add_binary},
    {"mean", add_binary},
    {"prelu", add_binary},
    {"square", add_square},
    {"batch_norm_training", add_batch_norm_training},
    {"layer_norm", add_norm},
    {"instance_norm", add_norm},
    {"group_norm", add_group_norm},
    {"arg_max", add_arg_max},
    {"top_k", add_top_k},
    {"cum_sum", add_cum_sum},
    {"local_response_norm", add_local_norm},
    {"dense", add_dense},
    {"matmul", add_matmul},
    {"einsum", add_einsum},
    {"gemm", add_gemm},
    {"softmax", add_softmax},
    {"log_softmax", add_softmax},
    {"dropout_training", add_dropout},
    {NULL, NULL},
};
