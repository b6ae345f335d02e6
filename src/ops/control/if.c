/* ops/control/if.c - runs one of two graphs, see control.h. */
#include "ops/control/control.h"

#include "ops/ops.h"

enum { max_captured = 64 };

static enum assay_status read_condition(const struct tensor *condition,
                                        bool *is_true, struct error *err)
{
    char text[64];

    if (condition->dtype != DTYPE_BOOL || tensor_elements(condition) != 1)
        return error_set(err, ASSAY_BAD_INPUT,
                         "the condition is %s %s, not one bool",
                         dtype_name(condition->dtype),
                         shape_text(&condition->shape, text, sizeof text));
    *is_true = *(const uint8_t *)tensor_data(condition);
    return ASSAY_OK;
}

static enum assay_status if_forward(const struct op_context *context,
                                    const struct node *node,
                                    const struct tensor *const *inputs,
                                    struct tensor *outputs, struct error *err)
{
    size_t n_then = ((const struct if_attrs *)node->attrs)->n_then;
    struct tensor captured[max_captured];
    size_t first = 1, last = 1 + n_then;
    bool is_true = false;
    enum assay_status st = read_condition(inputs[0], &is_true, err);

    if (st)
        return st;
    if (!is_true) {
        first = last;
        last = node->n_inputs;
    }
    for (size_t i = first; i < last; i++)
        captured[i - first] = *inputs[i];
    return context->run_body(context->runner, is_true ? 0 : 1, captured,
                             outputs, err);
}

const struct op_class op_if = {
    .name = "If",
    .attrs_bytes = sizeof(struct if_attrs),
    OP_TAKES(1, max_captured),
    OP_MAKES(1, max_captured),
    .host_inputs = OP_INPUT(0),
    .passes_inputs = true,
    .forward = if_forward,
};
