/* ops/control/loop.c - a graph again and again, see control.h. */
#include "ops/control/control.h"

#include "ops/control/kept_pieces_internal.h"
#include "ops/int_list_internal.h"
#include "ops/ops.h"

enum { max_values = 64 }; /* inputs or outputs of a body */

/* What goes round: the body's inputs and, behind an iteration, its outputs. */
struct loop {
    const struct op_context *context;
    const struct node *node;
    size_t n_states, n_kept;
    struct tensor inputs[max_values];  /* number, condition, states, captured */
    struct tensor outputs[max_values]; /* condition, states, kept */
    struct kept_pieces kept[max_values];
};

/* A tensor of no dimensions. */
static enum assay_status make_scalar(struct loop *loop, enum dtype dtype,
                                     struct tensor *out, struct error *err)
{
    struct shape shape = shape_of(0);

    return tensor_new(loop->context->pool, dtype, &shape, out, err);
}

static bool condition_of(const struct tensor *tensor)
{
    return tensor->dtype == DTYPE_BOOL && tensor_elements(tensor) == 1 &&
           *(const uint8_t *)tensor_data(tensor);
}

static enum assay_status loop_start(struct loop *loop,
                                    const struct tensor *const *inputs,
                                    struct error *err)
{
    enum assay_status st = make_scalar(loop, DTYPE_BOOL, &loop->inputs[1], err);

    if (st)
        return st;
    *(uint8_t *)tensor_data(&loop->inputs[1]) =
        !inputs[1] || condition_of(inputs[1]);
    for (size_t i = 2; i < loop->node->n_inputs; i++)
        loop->inputs[i] = tensor_share(inputs[i]);
    return ASSAY_OK;
}

/* Condition and states of an iteration become the next one's. */
static enum assay_status loop_carry_over(struct loop *loop, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; i <= loop->n_states; i++) {
        tensor_release(&loop->inputs[1 + i]);
        loop->inputs[1 + i] = loop->outputs[i];
        loop->outputs[i].buffer = NULL;
    }
    for (size_t i = 0; i < loop->n_kept; i++) {
        struct tensor *piece = &loop->outputs[1 + loop->n_states + i];

        if (!st)
            st = kept_pieces_add(&loop->kept[i], *piece, err);
        else
            tensor_release(piece);
        piece->buffer = NULL;
    }
    return st;
}

static enum assay_status iterate(struct loop *loop, int64_t most,
                                 struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (int64_t i = 0; !st && i < most && condition_of(&loop->inputs[1]);
         i++) {
        tensor_release(&loop->inputs[0]);
        st = make_scalar(loop, DTYPE_I64, &loop->inputs[0], err);
        if (st)
            break;
        *tensor_i64(&loop->inputs[0]) = i;
        st = loop->context->run_body(loop->context->runner, 0, loop->inputs,
                                     loop->outputs, err);
        if (!st)
            st = loop_carry_over(loop, err);
    }
    return st;
}

static enum assay_status loop_finish(struct loop *loop, struct tensor *outputs,
                                     struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; i < loop->n_states; i++)
        outputs[i] = tensor_share(&loop->inputs[2 + i]);
    for (size_t i = 0; !st && i < loop->n_kept; i++)
        st = kept_pieces_stack(&loop->kept[i], 0, false, loop->context->pool,
                               &outputs[loop->n_states + i], err);
    return st;
}

static enum assay_status loop_forward(const struct op_context *context,
                                      const struct node *node,
                                      const struct tensor *const *inputs,
                                      struct tensor *outputs, struct error *err)
{
    const struct loop_attrs *attrs = node->attrs;
    struct loop loop = {.context = context,
                        .node = node,
                        .n_states = attrs->n_states,
                        .n_kept = node->n_outputs - attrs->n_states};
    int64_t most;
    enum assay_status st = int_read(inputs[0], INT64_MAX, &most, err);

    if (!st)
        st = loop_start(&loop, inputs, err);
    if (!st)
        st = iterate(&loop, most, err);
    if (!st)
        st = loop_finish(&loop, outputs, err);
    for (size_t i = 0; i < max_values; i++) {
        tensor_release(&loop.inputs[i]);
        tensor_release(&loop.outputs[i]);
        kept_pieces_release(&loop.kept[i]);
    }
    return st;
}

const struct op_class op_loop = {
    .name = "Loop",
    .attrs_bytes = sizeof(struct loop_attrs),
    .min_inputs = 2,
    .max_inputs = max_values,
    .min_outputs = 1,
    .max_outputs = max_values - 1,
    .forward = loop_forward,
};
