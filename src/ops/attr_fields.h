/* ops/attr_fields.h - how an op lists its attributes by name, in its own file:
 *
 *   ATTR_FIELDS(clip, FIELD_FLOAT(clip_attrs, low),
 *               FIELD_FLOAT(clip_attrs, high));
 *
 * defines clip_fields; OP_ATTRS(clip) puts it into the op's class. A list has
 * all members of the struct, in order.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_ATTR_FIELDS_H
#define OPS_ATTR_FIELDS_H

#include "graph/attr_field.h"
#include "graph/op_class.h"

enum { FIELD_FAR = INT32_MAX }; /* larger than any size in a model */

#define FIELD_OF(type, field, of_kind, c_type, ...)                            \
    {                                                                          \
        .name = #field, .kind = (of_kind),                                     \
        .offset = offsetof(struct type, field),                                \
        .n = sizeof(((struct type *)0)->field) / sizeof(c_type), __VA_ARGS__   \
    }
#define FIELD_NUMBER(type, field, low, high)                                   \
    FIELD_OF(type, field, ATTR_NUMBER, int64_t, .min = (low), .max = (high))
#define FIELD_SIZE(type, field)   FIELD_NUMBER(type, field, 1, FIELD_FAR)
#define FIELD_AMOUNT(type, field) FIELD_NUMBER(type, field, 0, FIELD_FAR)
#define FIELD_ANY(type, field)    FIELD_NUMBER(type, field, INT64_MIN, INT64_MAX)
#define FIELD_AXIS(type, field)                                                \
    FIELD_NUMBER(type, field, -SHAPE_MAX_RANK, SHAPE_MAX_RANK)
#define FIELD_SMALL(type, field, low, high)                                    \
    FIELD_OF(type, field, ATTR_SMALL, int, .min = (low), .max = (high))
#define FIELD_COUNT(type, field, most)                                         \
    FIELD_OF(type, field, ATTR_COUNT, size_t, .max = (most))
#define FIELD_WORD(type, field, list)                                          \
    FIELD_OF(type, field, ATTR_WORD, int, .words = (list))
#define FIELD_SEED(type, field)                                                \
    FIELD_OF(type, field, ATTR_SEED, uint32_t, .max = 0)
#define FIELD_FLAG(type, field) FIELD_OF(type, field, ATTR_FLAG, bool, .max = 0)
#define FIELD_FLOAT(type, field)                                               \
    FIELD_OF(type, field, ATTR_FLOAT, float, .max = 0)
#define FIELD_DOUBLE(type, field)                                              \
    FIELD_OF(type, field, ATTR_DOUBLE, double, .max = 0)
#define FIELD_DTYPE(type, field)                                               \
    FIELD_OF(type, field, ATTR_DTYPE, enum dtype, .max = 0)
#define ATTR_FIELDS(name, ...) static SHARED_ATTR_FIELDS(name, __VA_ARGS__)
/* For a list that several files use. */
#define SHARED_ATTR_FIELDS(name, ...)                                          \
    const struct attr_field name##_fields[] = {__VA_ARGS__, {0}}

size_t attr_kind_bytes(enum attr_kind kind);

/* NULL if the op has attributes that it does not list; an empty list if it has
 * no attributes. */
const struct attr_field *attr_fields(const struct op_class *op);

#endif
