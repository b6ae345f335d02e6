/* backend/cuda/cuda_binary.c - launches kernels/binary.cu. */
#include "backend/cuda/cuda_ops.h"

#include "backend/cuda/cuda_gate.h"
#include "backend/cuda/cuda_walk.h"
#include "ops/math/binary_math.h"
#include "ops/ops.h"

#include <stdio.h>
#include <string.h>

/* In the order of kernels/binary.cu. */
enum binary {
    BINARY_SUM,
    BINARY_SUB,
    BINARY_MUL,
    BINARY_DIV,
    BINARY_POW,
    BINARY_MOD,
    BINARY_FMOD,
    BINARY_MIN,
    BINARY_MAX,
    BINARY_PRELU,
    BINARY_EQUAL,
    BINARY_GREATER,
    BINARY_GREATER_OR_EQUAL,
    BINARY_LESS,
    BINARY_LESS_OR_EQUAL,
    BINARY_AND,
    BINARY_OR,
    BINARY_XOR,
    BINARY_SHIFT_LEFT,
    BINARY_SHIFT_RIGHT
};

static const struct {
    const struct op_class *op;
    enum binary binary;
} binary_ops[] = {
    {&op_sum, BINARY_SUM},
    {&op_mean, BINARY_SUM},
    {&op_sub, BINARY_SUB},
    {&op_mul, BINARY_MUL},
    {&op_div, BINARY_DIV},
    {&op_pow, BINARY_POW},
    {&op_mod, BINARY_MOD},
    {&op_min, BINARY_MIN},
    {&op_max, BINARY_MAX},
    {&op_prelu, BINARY_PRELU},
    {&op_equal, BINARY_EQUAL},
    {&op_greater, BINARY_GREATER},
    {&op_greater_or_equal, BINARY_GREATER_OR_EQUAL},
    {&op_less, BINARY_LESS},
    {&op_less_or_equal, BINARY_LESS_OR_EQUAL},
    {&op_and, BINARY_AND},
    {&op_or, BINARY_OR},
    {&op_xor, BINARY_XOR},
    {&op_bit_shift, BINARY_SHIFT_LEFT},
};

static enum binary binary_of(const struct node *node)
{
    const struct binary_attrs *attrs = node->attrs;
    enum binary binary;
    size_t i = 0;

    while (binary_ops[i].op != node->op)
        i++;
    binary = binary_ops[i].binary;
    if (binary == BINARY_MOD && attrs->is_fmod)
        return BINARY_FMOD;
    if (binary == BINARY_SHIFT_LEFT && attrs->to_right)
        return BINARY_SHIFT_RIGHT;
    return binary;
}

static bool is_comparison(enum binary binary)
{
    return binary >= BINARY_EQUAL && binary <= BINARY_LESS_OR_EQUAL;
}

bool cuda_can_binary(const struct cuda *cuda, const struct node *node,
                     const struct tensor *const *inputs)
{
    enum binary binary = binary_of(node);
    const char *computed = cuda_computed_in(inputs[0]->dtype);

    (void)cuda;
    if (binary == BINARY_POW && inputs[0]->dtype == DTYPE_F32)
        return inputs[1]->dtype != DTYPE_BOOL;
    for (size_t i = 0; i < node->n_inputs; i++) {
        if (!inputs[i] || inputs[i]->dtype != inputs[0]->dtype)
            return false;
    }
    if (binary >= BINARY_AND && binary <= BINARY_XOR)
        return strcmp(computed, "bool") == 0;
    if (binary >= BINARY_SHIFT_LEFT)
        return strcmp(computed, "uint64") == 0;
    return strcmp(computed, "bool") != 0 || is_comparison(binary);
}

/* How the output is stored: as the first input of its shape that has a layout,
 * or else dense. */
static const struct layout *binary_layout(const struct cuda_call *call)
{
    const struct shape *y = &call->outputs[0].shape;

    for (size_t i = 0; i < call->node->n_inputs; i++) {
        if (call->inputs[i]->layout && shape_equal(&call->inputs[i]->shape, y))
            return call->inputs[i]->layout;
    }
    return NULL;
}

static bool is_same(const struct tensor *a, const struct tensor *y)
{
    return a->layout == y->layout && a->dtype == y->dtype &&
           shape_equal(&a->shape, &y->shape);
}

/* y = a op b; y may be a. */
static enum assay_status cuda_run_pair(struct cuda_call *call, int op,
                                       const struct tensor *a,
                                       const struct tensor *b,
                                       const struct tensor *y)
{
    struct cuda_view av = cuda_view_repeated(a, &y->shape);
    struct cuda_view bv = cuda_view_repeated(b, &y->shape);
    struct cuda_view yv = cuda_view_of(y);
    struct cuda_device *device = call->cuda->device;
    const char *computed = cuda_computed_in(a->dtype);
    int64_t n = (int64_t)tensor_elements(y);
    struct cuda_walk walk;
    char name[CUDA_NAME];

    if (computed[0] == 'f' && op < (int)BINARY_EQUAL && is_same(a, y) &&
        is_same(b, y)) {
        cuda_kernel_name(name, "same", (enum dtype)yv.type);
        return CUDA_LAUNCH(call, "binary", name,
                           cuda_grid_for(device, (size_t)n, 8), op, av.data,
                           bv.data, yv.data, n);
    }
    if (op == BINARY_MUL && is_same(a, y) && cuda_is_gate(y, b))
        return cuda_gate(call, a, b, 1, y);
    if (op == BINARY_MUL && is_same(b, y) && cuda_is_gate(y, a))
        return cuda_gate(call, b, a, 1, y);
    walk = cuda_walk_over(&y->shape, (struct cuda_view *[]){&av, &bv, &yv}, 3);
    snprintf(name, sizeof name, "binary_%s", computed);
    return CUDA_LAUNCH(call, "binary", name,
                       cuda_grid_for(device, (size_t)n, 2), op, walk, av, bv,
                       yv);
}

enum assay_status cuda_multiply(struct cuda_call *call, const struct tensor *a,
                                const struct tensor *b, const struct tensor *y)
{
    return cuda_run_pair(call, BINARY_MUL, a, b, y);
}

static enum assay_status cuda_divide_all(struct cuda_call *call)
{
    struct cuda_view y = cuda_view_of(&call->outputs[0]);
    int64_t n = (int64_t)tensor_elements(&call->outputs[0]);
    double by = (double)call->node->n_inputs;
    const char *computed = cuda_computed_in(call->outputs[0].dtype);

    if (call->node->n_inputs < 2 || (computed[0] != 'f' && computed[0] != 'd'))
        return ASSAY_OK;
    return CUDA_LAUNCH(call, "binary", "divide_all",
                       cuda_grid_for(call->cuda->device, (size_t)n, 1), y, n,
                       by);
}

/* y = a op b, where b may be an exponent of another type. */
static enum assay_status cuda_run_mixed(struct cuda_call *call, int op,
                                        const struct tensor *a,
                                        const struct tensor *b,
                                        const struct tensor *y)
{
    struct tensor same = {0};
    enum assay_status st;

    if (a->dtype == b->dtype)
        return cuda_run_pair(call, op, a, b, y);
    st = cuda_tensor_new(call, &b->shape, NULL, &same);
    if (!st)
        st = cuda_copy_view(call, b->shape.rank, b->shape.dims, cuda_view_of(b),
                            cuda_view_of(&same));
    if (!st)
        st = cuda_run_pair(call, op, a, &same, y);
    tensor_release(&same);
    return st;
}

/* In the memory of an operand that nobody needs any more: of detectors, two
 * maps of the finest level are much of what a pass needs at once. */
static bool binary_takes_over(struct cuda_call *call,
                              const struct layout *layout)
{
    struct tensor *y = &call->outputs[0];

    for (size_t i = 0; call->node->n_inputs == 2 && i < 2; i++) {
        const struct tensor *x = call->inputs[i];

        if (op_input_dies(call->context, i) && x->dtype == y->dtype &&
            x->layout == layout && shape_equal(&x->shape, &y->shape) &&
            x->buffer && buffer_references(x->buffer) == 1) {
            *y = tensor_share(x);
            return true;
        }
    }
    return false;
}

enum assay_status cuda_run_binary(struct cuda_call *call)
{
    int op = (int)binary_of(call->node);
    const struct layout *layout =
        is_comparison((enum binary)op) ? NULL : binary_layout(call);
    enum assay_status st = binary_takes_over(call, layout)
                               ? ASSAY_OK
                               : cuda_output(call, 0, layout);
    const struct tensor *y = &call->outputs[0];

    if (st || !tensor_elements(y))
        return st;
    if (call->node->n_inputs == 1)
        st = cuda_copy_view(call, y->shape.rank, y->shape.dims,
                            cuda_view_of(call->inputs[0]), cuda_view_of(y));
    for (size_t i = 1; !st && i < call->node->n_inputs; i++)
        st = cuda_run_mixed(call, op, i == 1 ? call->inputs[0] : y,
                            call->inputs[i], y);
    if (!st && call->node->op == &op_mean)
        st = cuda_divide_all(call);
    return st;
}

/* ---- Where --------------------------------------------------------------- */

bool cuda_can_where(const struct cuda *cuda, const struct node *node,
                    const struct tensor *const *inputs)
{
    (void)cuda, (void)node;
    return inputs[0]->dtype == DTYPE_BOOL && inputs[1] && inputs[2] &&
           inputs[1]->dtype == inputs[2]->dtype;
}

enum assay_status cuda_run_where(struct cuda_call *call)
{
    enum assay_status st = cuda_output(call, 0, NULL);
    const struct tensor *y = &call->outputs[0];
    struct cuda_view condition = cuda_view_repeated(call->inputs[0], &y->shape);
    struct cuda_view a = cuda_view_repeated(call->inputs[1], &y->shape);
    struct cuda_view b = cuda_view_repeated(call->inputs[2], &y->shape);
    struct cuda_view to = cuda_view_of(y);
    struct cuda_walk walk = cuda_walk_over(
        &y->shape, (struct cuda_view *[]){&condition, &a, &b, &to}, 4);
    int bytes = (int)dtype_bytes(y->dtype);

    if (st || !walk.n)
        return st;
    return CUDA_LAUNCH(call, "binary", "where",
                       cuda_grid_for(call->cuda->device, (size_t)walk.n, 2),
                       walk, condition, a, b, to, bytes);
}
