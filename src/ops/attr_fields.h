/* ops/attr_fields.h - how an op lists its attributes by name, in its own file:
 *
 *   ATTR_FIELDS(clip, FIELD_FLOAT(clip_attrs, low),
 *               FIELD_FLOAT(clip_attrs, high));
 *
 * makes clip_fields, for the `fields` of its class. The order is that of the
 * struct, and nothing of it is left out.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_ATTR_FIELDS_H
#define OPS_ATTR_FIELDS_H

#include "graph/attr_field.h"
#include "graph/op_class.h"

enum { FIELD_FAR = INT32_MAX }; /* no size of a model comes near */

#define FIELD_PLACE(type, field, of_kind, bytes)                               \
    .name = #field, .kind = (of_kind), .offset = offsetof(struct type, field), \
    .n = sizeof(((struct type *)0)->field) / (bytes)
#define FIELD_NUMBER(type, field, low, high)                                   \
    {                                                                          \
        FIELD_PLACE(type, field, ATTR_NUMBER, sizeof(int64_t)), .min = (low),  \
                                                                .max = (high)  \
    }
#define FIELD_SIZE(type, field)   FIELD_NUMBER(type, field, 1, FIELD_FAR)
#define FIELD_AMOUNT(type, field) FIELD_NUMBER(type, field, 0, FIELD_FAR)
#define FIELD_ANY(type, field)    FIELD_NUMBER(type, field, INT64_MIN, INT64_MAX)
#define FIELD_AXIS(type, field)                                                \
    FIELD_NUMBER(type, field, -SHAPE_MAX_RANK, SHAPE_MAX_RANK)
#define FIELD_SMALL(type, field, low, high)                                    \
    {                                                                          \
        FIELD_PLACE(type, field, ATTR_SMALL, sizeof(int)), .min = (low),       \
                                                           .max = (high)       \
    }
#define FIELD_COUNT(type, field, most)                                         \
    {                                                                          \
        FIELD_PLACE(type, field, ATTR_COUNT, sizeof(size_t)), .max = (most)    \
    }
#define FIELD_SEED(type, field)                                                \
    {                                                                          \
        FIELD_PLACE(type, field, ATTR_SEED, sizeof(uint32_t))                  \
    }
#define FIELD_FLAG(type, field)                                                \
    {                                                                          \
        FIELD_PLACE(type, field, ATTR_FLAG, sizeof(bool))                      \
    }
#define FIELD_FLOAT(type, field)                                               \
    {                                                                          \
        FIELD_PLACE(type, field, ATTR_FLOAT, sizeof(float))                    \
    }
#define FIELD_DOUBLE(type, field)                                              \
    {                                                                          \
        FIELD_PLACE(type, field, ATTR_DOUBLE, sizeof(double))                  \
    }
#define FIELD_DTYPE(type, field)                                               \
    {                                                                          \
        FIELD_PLACE(type, field, ATTR_DTYPE, sizeof(enum dtype))               \
    }
#define FIELD_WORD(type, field, list)                                          \
    {                                                                          \
        FIELD_PLACE(type, field, ATTR_WORD, sizeof(int)), .words = (list)      \
    }
/* A list that several files of ops share leaves out `static`. */
#define ATTR_FIELDS(name, ...) static SHARED_ATTR_FIELDS(name, __VA_ARGS__)
#define SHARED_ATTR_FIELDS(name, ...)                                          \
    const struct attr_field name##_fields[] = {__VA_ARGS__, {0}}

size_t attr_kind_bytes(enum attr_kind kind);

/* NULL where an op has attributes that it does not list; an empty list where
 * it has none. */
const struct attr_field *attr_fields(const struct op_class *op);

#endif
