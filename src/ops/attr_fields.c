/* ops/attr_fields.c - see attr_fields.h. */
#include "ops/attr_fields.h"

size_t attr_kind_bytes(enum attr_kind kind)
{
    static const size_t bytes[] = {
        [ATTR_NUMBER] = sizeof(int64_t),   [ATTR_SMALL] = sizeof(int),
        [ATTR_COUNT] = sizeof(size_t),     [ATTR_SEED] = sizeof(uint32_t),
        [ATTR_FLAG] = sizeof(bool),        [ATTR_FLOAT] = sizeof(float),
        [ATTR_DOUBLE] = sizeof(double),    [ATTR_WORD] = sizeof(int),
        [ATTR_DTYPE] = sizeof(enum dtype),
    };

    return bytes[kind];
}

const struct attr_field *attr_fields(const struct op_class *op)
{
    static const struct attr_field none[] = {{0}};

    return op->attrs_bytes ? op->fields : none;
}
