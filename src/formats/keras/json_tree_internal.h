/* formats/keras/json_tree_internal.h - a small JSON document as a tree, for
 * random access.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_KERAS_JSON_TREE_INTERNAL_H
#define FORMATS_KERAS_JSON_TREE_INTERNAL_H

#include "base/arena.h"
#include "base/json.h"

struct json_value {
    /* JSON_OBJECT_BEGIN, JSON_ARRAY_BEGIN, JSON_STRING, JSON_NUMBER,
     * JSON_TRUE, JSON_FALSE, JSON_NULL */
    enum json_token kind;
    const char *key;  /* in an object; else NULL */
    const char *text; /* of strings; else "" */
    double number;
    struct json_value *first, *next; /* the members */
    size_t n;
};

/* Allocates from the arena, also if it fails. */
enum assay_status json_tree_read(const char *text, size_t n,
                                 struct arena *arena,
                                 const struct json_value **out,
                                 struct error *err);

/* A member of an object or an item of an array; NULL if there is none or
 * `value` is NULL or of another kind. */
const struct json_value *json_tree_get(const struct json_value *value,
                                       const char *key);
const struct json_value *json_tree_at(const struct json_value *value, size_t i);

/* The value, or the fallback if it is NULL or of another kind. */
const char *json_tree_text(const struct json_value *value,
                           const char *fallback);
double json_tree_number(const struct json_value *value, double fallback);
int64_t json_tree_int(const struct json_value *value, int64_t fallback);
bool json_tree_bool(const struct json_value *value, bool fallback);

static inline bool json_tree_is(const struct json_value *value,
                                enum json_token kind)
{
    return value && value->kind == kind;
}

#endif
