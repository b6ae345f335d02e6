/* ops/product/attention.c - see attention.h. The portable kernel runs the ops
 * that it stands for, one after the other. */
#include "ops/product/attention.h"

#include "ops/math/softmax.h"
#include "ops/ops.h"

/* One of these ops; what it makes takes the place of *made, which is released.
 * Without a context only its type and shape. */
static enum assay_status attention_step(const struct op_context *context,
                                        const struct op_class *op,
                                        const struct tensor *first,
                                        const struct tensor *second,
                                        struct tensor *made, struct error *err)
{
    struct softmax_attrs last = {.axis = -1};
    uint32_t numbers[2] = {0, 1};
    struct node node = {.op = op,
                        .attrs = op == &op_softmax ? &last : NULL,
                        .inputs = numbers,
                        .n_inputs = second ? 2 : 1,
                        .n_outputs = 1};
    const struct tensor *inputs[2] = {first, second};
    struct tensor shape = {0}, y = {0};
    enum assay_status st = op->infer(&node, inputs, &shape, err);

    if (!st && !context)
        y = shape;
    else if (!st)
        st = tensor_new(context->pool, shape.dtype, &shape.shape, &y, err);
    if (!st && context)
        st = op->forward(context, &node, inputs, &y, err);
    if (st) {
        tensor_release(&y);
        return st;
    }
    tensor_release(made);
    *made = y;
    return ASSAY_OK;
}

static enum assay_status attention_steps(const struct op_context *context,
                                         const struct tensor *const *inputs,
                                         struct tensor *made, struct error *err)
{
    enum assay_status st =
        attention_step(context, &op_matmul, inputs[ATTENTION_Q],
                       inputs[ATTENTION_K], made, err);

    for (int i = ATTENTION_PLUS; !st && i <= ATTENTION_MASK; i++) {
        if (inputs[i])
            st = attention_step(context, &op_sum, made, inputs[i], made, err);
    }
    if (!st)
        st = attention_step(context, &op_softmax, made, NULL, made, err);
    if (!st)
        st = attention_step(context, &op_matmul, made, inputs[ATTENTION_V],
                            made, err);
    return st;
}

static enum assay_status attention_infer(const struct node *node,
                                         const struct tensor *const *inputs,
                                         struct tensor *outputs,
                                         struct error *err)
{
    struct tensor made = {0};
    enum assay_status st = attention_steps(NULL, inputs, &made, err);

    (void)node;
    if (!st)
        outputs[0] = made;
    return st;
}

static enum assay_status attention_forward(const struct op_context *context,
                                           const struct node *node,
                                           const struct tensor *const *inputs,
                                           struct tensor *outputs,
                                           struct error *err)
{
    struct tensor made = {0};
    enum assay_status st = attention_steps(context, inputs, &made, err);

    (void)node;
    if (!st)
        st = tensor_assign(&outputs[0], &made, err);
    tensor_release(&made);
    return st;
}

/* Every number of q, and every one of y, meets all columns of k. */
static void attention_cost(const struct node *node,
                           const struct tensor *const *inputs,
                           const struct tensor *outputs, struct cost *cost)
{
    const struct shape *k = &inputs[ATTENTION_K]->shape;
    uint64_t m = (uint64_t)k->dims[k->rank - 1];

    (void)node;
    cost->macs +=
        (tensor_elements(&outputs[0]) + tensor_elements(inputs[ATTENTION_Q])) *
        m;
}

const struct op_class op_attention = {
    .name = "Attention",
    OP_TAKES(ATTENTION_INPUTS, ATTENTION_INPUTS),
    OP_MAKES(1, 1),
    .infer = attention_infer,
    .forward = attention_forward,
    .cost = attention_cost,
};
