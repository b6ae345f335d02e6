/* formats/torch/pickle_value_internal.h - what a pickle of tensors can hold.
 *
 * Values live in the arena of whoever reads them; texts are borrowed from the
 * pickle's own bytes. A value may be reached in several ways, and may even hold
 * itself: whoever walks them bounds the depth and the number of steps.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_TORCH_PICKLE_VALUE_INTERNAL_H
#define FORMATS_TORCH_PICKLE_VALUE_INTERNAL_H

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pickle_kind {
    PICKLE_PLAIN, /* None, a float, a device: never looked into */
    PICKLE_BOOL,
    PICKLE_INT,
    PICKLE_LONG, /* an integer of more than 64 bits, as its bytes */
    PICKLE_TEXT,
    PICKLE_TUPLE,
    PICKLE_LIST,
    PICKLE_DICT,
    PICKLE_GLOBAL, /* a class or function of torch_values_internal.h, never
                      called */
    PICKLE_STORAGE,
    PICKLE_TENSOR
};

/* Bytes without a NUL behind them. */
struct pickle_text {
    const char *bytes;
    size_t n;
};

struct pickle_value;

struct pickle_item {
    struct pickle_item *next;
    struct pickle_value *key; /* of a dict's item, else NULL */
    struct pickle_value *value;
};

struct pickle_items {
    struct pickle_item *first, *last;
    size_t n;
};

struct pickle_value {
    enum pickle_kind kind;
    union {
        int64_t integer;           /* INT, BOOL */
        struct pickle_text text;   /* TEXT, LONG */
        struct pickle_items items; /* TUPLE, LIST, DICT */
        const struct torch_global *global;
        struct torch_storage *storage;
        struct torch_tensor *tensor;
    };
};

/* NULL without memory. The value starts zeroed but for its kind. */
struct pickle_value *pickle_value_new(struct arena *arena,
                                      enum pickle_kind kind);

/* Adds an item at the end; ASSAY_NOMEM or ASSAY_OK. */
enum assay_status pickle_items_add(struct arena *arena,
                                   struct pickle_items *items,
                                   struct pickle_value *key,
                                   struct pickle_value *value,
                                   struct error *err);

/* The i-th item's value, NULL where there are fewer. */
struct pickle_value *pickle_items_at(const struct pickle_items *items,
                                     size_t i);

/* The value of a text key of a dict; NULL where it is no dict or has none. */
const struct pickle_value *pickle_dict_get(const struct pickle_value *dict,
                                           const char *key);

bool pickle_text_is(const struct pickle_text *text, const char *wanted);

#endif
