/* ops/ops.c - see ops.h. */
#include "ops/ops.h"

#include <string.h>

const struct op_class *const op_classes[] = {
#define ADDRESS(symbol) &symbol,
    OP_LIST(ADDRESS)
#undef ADDRESS
        NULL,
};

const struct op_class *op_find(const char *name)
{
    for (size_t i = 0; op_classes[i]; i++) {
        if (strcmp(op_classes[i]->name, name) == 0)
            return op_classes[i];
    }
    return NULL;
}
