/* ops/math/unary_onnx.c - see unary_onnx_internal.h. */
#include "ops/math/unary_onnx_internal.h"

#include "ops/math/unary_math.h"
#include "ops/ops.h"

#include <math.h>

/* Those with numbers of their own, and what ONNX calls them. */
void unary_to_onnx(struct onnx_sink *to)
{
    static const struct {
        const struct op_class *op;
        const char *alpha, *beta;
    } names[] = {
        {&op_celu, "alpha", NULL},
        {&op_elu, "alpha", NULL},
        {&op_hard_sigmoid, "alpha", "beta"},
        {&op_leaky_relu, "alpha", NULL},
        {&op_selu, "alpha", "gamma"},
        {&op_shrink, "lambd", "bias"},
        {&op_thresholded_relu, "alpha", NULL},
    };
    const struct unary_attrs *attrs = to->node->attrs;
    size_t i = 0;

    while (names[i].op != to->node->op)
        i++;
    onnx_attr_float(to, names[i].alpha, attrs->alpha);
    if (names[i].beta)
        onnx_attr_float(to, names[i].beta, attrs->beta);
    onnx_put_node(to, to->node->op->name, 1);
}

/* x times something of x. */
static void unary_put_gated(struct onnx_sink *to, const char *gate)
{
    const char *x = onnx_name(to, to->node->inputs[0]);
    const char *y = onnx_name(to, to->node->outputs[0]);
    const char *pair[2] = {x, gate};

    onnx_put_op(to, "Mul", pair, 2, &y, 1);
}

void silu_to_onnx(struct onnx_sink *to)
{
    const char *x = onnx_name(to, to->node->inputs[0]);
    const char *gate = onnx_add_name(to, "gate");

    onnx_put_op(to, "Sigmoid", &x, 1, &gate, 1);
    unary_put_gated(to, gate);
}

void hard_swish_to_onnx(struct onnx_sink *to)
{
    const char *x = onnx_name(to, to->node->inputs[0]);
    const char *gate = onnx_add_name(to, "gate");

    onnx_attr_float(to, "alpha", 1.0 / 6);
    onnx_attr_float(to, "beta", 0.5);
    onnx_put_op(to, "HardSigmoid", &x, 1, &gate, 1);
    unary_put_gated(to, gate);
}

void mish_to_onnx(struct onnx_sink *to)
{
    const char *x = onnx_name(to, to->node->inputs[0]);
    const char *soft = onnx_add_name(to, "soft");
    const char *gate = onnx_add_name(to, "gate");

    onnx_put_op(to, "Softplus", &x, 1, &soft, 1);
    onnx_put_op(to, "Tanh", &soft, 1, &gate, 1);
    unary_put_gated(to, gate);
}

/* x (1 + erf(x / sqrt 2)) / 2 */
void gelu_to_onnx(struct onnx_sink *to)
{
    const char *scaled = onnx_add_name(to, "scaled");
    const char *erf_of = onnx_add_name(to, "erf");
    const char *sum = onnx_add_name(to, "sum");
    const char *gate = onnx_add_name(to, "gate");
    const char *pair[2] = {onnx_name(to, to->node->inputs[0]),
                           onnx_add_scalar(to, (float)sqrt(0.5))};

    onnx_put_op(to, "Mul", pair, 2, &scaled, 1);
    onnx_put_op(to, "Erf", &scaled, 1, &erf_of, 1);
    pair[0] = erf_of;
    pair[1] = onnx_add_scalar(to, 1);
    onnx_put_op(to, "Add", pair, 2, &sum, 1);
    pair[0] = sum;
    pair[1] = onnx_add_scalar(to, 0.5F);
    onnx_put_op(to, "Mul", pair, 2, &gate, 1);
    unary_put_gated(to, gate);
}
