/* ops/math/bit_cast.c - see bit_cast.h. */
#include "ops/math/bit_cast.h"

#include "ops/attr_fields.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

#include <string.h>

/* Types of less than 8 bits take a byte here and are not reinterpreted. */
static bool is_byte_sized(enum dtype dtype)
{
    return dtype < DTYPE_F4E2M1;
}

static enum assay_status bit_cast_infer(const struct node *node,
                                        const struct tensor *const *inputs,
                                        struct tensor *outputs,
                                        struct error *err)
{
    enum dtype from = inputs[0]->dtype;
    enum dtype to = ((const struct bit_cast_attrs *)node->attrs)->dtype;

    if (!is_byte_sized(from) || !is_byte_sized(to))
        return error_set(err, ASSAY_BAD_INPUT,
                         "the bits of %s as %s are not supported",
                         dtype_name(from), dtype_name(to));
    if (dtype_bytes(from) != dtype_bytes(to))
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s has %zu bytes and %s has %zu", dtype_name(from),
                         dtype_bytes(from), dtype_name(to), dtype_bytes(to));
    rule_set(&outputs[0], to, &inputs[0]->shape);
    return ASSAY_OK;
}

static enum assay_status bit_cast_forward(const struct op_context *context,
                                          const struct node *node,
                                          const struct tensor *const *inputs,
                                          struct tensor *outputs,
                                          struct error *err)
{
    (void)context, (void)node, (void)err;
    if (tensor_bytes(&outputs[0]))
        memcpy(tensor_data(&outputs[0]), tensor_data(inputs[0]),
               tensor_bytes(&outputs[0]));
    return ASSAY_OK;
}

ATTR_FIELDS(bit_cast, FIELD_DTYPE(bit_cast_attrs, dtype));

const struct op_class op_bit_cast = {
    .name = "BitCast",
    OP_ATTRS(bit_cast),
    OP_TAKES(1, 1),
    OP_MAKES(1, 1),
    .infer = bit_cast_infer,
    .forward = bit_cast_forward,
};
