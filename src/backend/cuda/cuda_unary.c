/* backend/cuda/cuda_unary.c - launches kernels/unary.cu: activations and other
 * ops of one input. */
#include "backend/cuda/cuda_ops.h"

#include "backend/cuda/cuda_walk.h"
#include "ops/math/clip.h"
#include "ops/math/unary_math.h"
#include "ops/ops.h"

/* In the order of UNARY_LIST in kernels/unary.cu. */
static const struct op_class *const unary_ops[] = {
    &op_relu,       &op_sigmoid,    &op_silu,   &op_clip, &op_acos,
    &op_acosh,      &op_asin,       &op_asinh,  &op_atan, &op_atanh,
    &op_ceil,       &op_celu,       &op_cos,    &op_cosh, &op_elu,
    &op_erf,        &op_exp,        &op_floor,  &op_gelu, &op_hard_sigmoid,
    &op_hard_swish, &op_leaky_relu, &op_log,    &op_mish, &op_reciprocal,
    &op_round,      &op_selu,       &op_sin,    &op_sinh, &op_softplus,
    &op_softsign,   &op_sqrt,       &op_tan,    &op_tanh, &op_thresholded_relu,
    &op_abs,        &op_neg,        &op_shrink, &op_sign,
};

/* From here on, integers too. */
enum { first_of_integers = 35 };

static const struct op_class *const test_ops[] = {&op_is_nan, &op_is_inf,
                                                  &op_not};

static int op_index(const struct op_class *op, const struct op_class *const *of,
                    size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (of[i] == op)
            return (int)i;
    }
    return -1;
}

static int unary_index(const struct op_class *op)
{
    return op_index(op, unary_ops, sizeof unary_ops / sizeof *unary_ops);
}

static void unary_numbers(const struct node *node, double *alpha, double *beta)
{
    if (node->op == &op_clip) {
        *alpha = (double)clip_attrs(node)->low;
        *beta = (double)clip_attrs(node)->high;
    } else if (node->attrs &&
               node->op->attrs_bytes == sizeof(struct unary_attrs)) {
        const struct unary_attrs *attrs = node->attrs;

        *alpha = attrs->alpha;
        *beta = attrs->beta;
    }
}

/* Floats of one stored type, in any order; to may be from. */
static enum assay_status unary_floats(struct cuda_call *call, int op,
                                      const struct tensor *from,
                                      const struct tensor *to, double alpha,
                                      double beta)
{
    struct tensor all = cuda_as_stored(from);
    cu_pointer x = cuda_at(from), y = cuda_at(to);
    int64_t n = (int64_t)tensor_elements(&all);
    float a = (float)alpha, b = (float)beta;
    char name[CUDA_NAME];

    cuda_kernel_name(name, "unary", cuda_stored(from));
    if (!n)
        return ASSAY_OK;
    return CUDA_LAUNCH(call, "unary", name,
                       cuda_grid_for(call->cuda->device, (size_t)n, 8), op, x,
                       y, n, a, b);
}

bool cuda_can_unary(const struct cuda *cuda, const struct node *node,
                    const struct tensor *const *inputs)
{
    const char *computed = cuda_computed_in(inputs[0]->dtype);

    (void)cuda;
    if (computed[0] == 'f' || computed[0] == 'd')
        return true;
    return computed[0] == 'i' && unary_index(node->op) >= first_of_integers;
}

/* The output is stored as the input is. */
enum assay_status cuda_run_unary(struct cuda_call *call)
{
    const struct tensor *input = call->inputs[0];
    enum assay_status st = cuda_output(call, 0, input->layout);
    int op = unary_index(call->node->op);
    double alpha = 0, beta = 0;
    struct cuda_view x = cuda_view_of(input), y;
    int64_t n = (int64_t)tensor_elements(input);
    bool is_double = input->dtype == DTYPE_F64;

    if (st || !n)
        return st;
    unary_numbers(call->node, &alpha, &beta);
    if (cuda_computed_in(input->dtype)[0] == 'f')
        return unary_floats(call, op, input, &call->outputs[0], alpha, beta);
    y = cuda_view_of(&call->outputs[0]);
    return CUDA_LAUNCH(call, "unary",
                       is_double ? "unary_double" : "unary_int64",
                       cuda_grid_for(call->cuda->device, (size_t)n, 1), op, x,
                       y, n, alpha, beta);
}

bool cuda_can_test(const struct cuda *cuda, const struct node *node,
                   const struct tensor *const *inputs)
{
    enum dtype dtype = inputs[0]->dtype;

    (void)cuda;
    if (node->op == &op_not)
        return dtype == DTYPE_BOOL;
    return cuda_computed_in(dtype)[0] == 'f' || dtype == DTYPE_F64;
}

enum assay_status cuda_run_test(struct cuda_call *call)
{
    enum assay_status st = cuda_output(call, 0, NULL);
    int op =
        op_index(call->node->op, test_ops, sizeof test_ops / sizeof *test_ops);
    struct cuda_view x = cuda_view_of(call->inputs[0]);
    cu_pointer y = cuda_at(&call->outputs[0]);
    int64_t n = (int64_t)tensor_elements(call->inputs[0]);
    double alpha = 0, beta = 0;

    if (st || !n)
        return st;
    unary_numbers(call->node, &alpha, &beta);
    return CUDA_LAUNCH(call, "unary", "unary_test",
                       cuda_grid_for(call->cuda->device, (size_t)n, 1), op, x,
                       y, n, alpha, beta);
}
