/* graph/attr_field.h - lists the attributes of an op by name, to write and read
 * them as text.
 *
 * SPDX-License-Identifier: MIT */
#ifndef GRAPH_ATTR_FIELD_H
#define GRAPH_ATTR_FIELD_H

#include <stddef.h>
#include <stdint.h>

enum attr_kind {
    ATTR_NUMBER, /* int64_t */
    ATTR_SMALL,  /* int */
    ATTR_COUNT,  /* size_t */
    ATTR_SEED,   /* uint32_t */
    ATTR_FLAG,   /* bool */
    ATTR_FLOAT,  /* float */
    ATTR_DOUBLE, /* double */
    ATTR_WORD,   /* an enum; words names its constants in order */
    ATTR_DTYPE   /* enum dtype, by dtype_name() */
};

struct attr_field {
    const char *name; /* NULL ends a list */
    enum attr_kind kind;
    size_t offset;
    size_t n; /* more than 1: an array */
    const char *const *words;
    int64_t min, max; /* of ATTR_NUMBER, ATTR_SMALL and ATTR_COUNT */
};

#endif
