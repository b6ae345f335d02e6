/* formats/torch/pickle_internal.h - reads the pickles that torch.save writes.
 *
 * A pickle is a program for a small stack machine. This one has the opcodes of
 * protocols 2 to 4 that make plain values, and the names in torch_values.c;
 * everything else is refused by name, and nothing is executed. No input makes
 * it recurse, and its memory is bounded by the pickle's size.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_TORCH_PICKLE_INTERNAL_H
#define FORMATS_TORCH_PICKLE_INTERNAL_H

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- values ------------------------------------------------------------- */

enum pickle_kind {
    PICKLE_PLAIN, /* None, a float, a device: never looked into */
    PICKLE_BOOL,
    PICKLE_INT,
    PICKLE_LONG, /* an integer of more than 64 bits, as its bytes */
    PICKLE_TEXT,
    PICKLE_TUPLE,
    PICKLE_LIST,
    PICKLE_DICT,
    PICKLE_GLOBAL, /* a class or function of torch_values.c, never called */
    PICKLE_STORAGE,
    PICKLE_TENSOR
};

/* Not NUL-terminated; borrowed from the pickle's own bytes. */
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

/* Lives in the pickle's arena. A value may be reached in several ways and may
 * even contain itself: code that walks values must bound depth and steps. */
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

/* NULL if out of memory. The value is zeroed except for its kind. */
struct pickle_value *pickle_value_new(struct arena *arena,
                                      enum pickle_kind kind);

/* Adds an item at the end; ASSAY_NOMEM or ASSAY_OK. */
enum assay_status pickle_items_add(struct arena *arena,
                                   struct pickle_items *items,
                                   struct pickle_value *key,
                                   struct pickle_value *value,
                                   struct error *err);

/* The i-th item's value; NULL if there are fewer. */
struct pickle_value *pickle_items_at(const struct pickle_items *items,
                                     size_t i);

/* The value of a text key of a dict; NULL if it is not a dict or has none. */
const struct pickle_value *pickle_dict_get(const struct pickle_value *dict,
                                           const char *key);

bool pickle_text_is(const struct pickle_text *text, const char *wanted);

/* ---- reading ------------------------------------------------------------ */

struct pickle;

enum assay_status pickle_new(struct pickle **out, struct error *err);
/* Frees the values, too. Accepts NULL. */
void pickle_free(struct pickle *pickle);

/* Reads one pickle from the beginning of the bytes, which must outlive the
 * values, and sets *used to its length. */
enum assay_status pickle_read(struct pickle *pickle, const unsigned char *bytes,
                              size_t n, size_t *used, struct pickle_value **out,
                              struct error *err);

/* The storages that the last pickle named, each as often as it did; a linked
 * list, the last one first. */
const struct torch_storage *pickle_storages(const struct pickle *pickle);

#endif
