/* base/toml.h - reads TOML 1.0, the format of our configuration files.
 *
 * A document becomes a tree of values that live until toml_free(). Every value
 * has its place in the file, so that a caller can complain about line 7.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_TOML_H
#define BASE_TOML_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* This list generates the constants and their names in messages. */
#define TOML_KIND_LIST(X)                                                      \
    X(TOML_STRING, "a string")                                                 \
    X(TOML_INTEGER, "an integer")                                              \
    X(TOML_FLOAT, "a float")                                                   \
    X(TOML_BOOL, "a boolean")                                                  \
    X(TOML_OFFSET_DATETIME, "a date and time with an offset")                  \
    X(TOML_LOCAL_DATETIME, "a date and time")                                  \
    X(TOML_LOCAL_DATE, "a date")                                               \
    X(TOML_LOCAL_TIME, "a time")                                               \
    X(TOML_ARRAY, "an array")                                                  \
    X(TOML_TABLE, "a table")

enum toml_kind {
#define TOML_KIND_ENUM(name, text) name,
    TOML_KIND_LIST(TOML_KIND_ENUM)
#undef TOML_KIND_ENUM
};

enum { TOML_MAX_DEPTH = 128 /* of nested tables and arrays */ };

/* Parts that the kind does not have are 0. */
struct toml_time {
    int year, month, day;
    int hour, minute, second; /* 60 in a leap second */
    int nanosecond;           /* more digits are cut off */
    int offset_minutes;       /* east of UTC */
};

/* NUL-terminated, but may hold NULs. */
struct toml_text {
    const char *text;
    size_t n;
};

struct toml_place {
    uint32_t line, column; /* from 1; columns count bytes */
};

struct toml_items {
    struct toml_value *first, *last; /* in the order of the file */
    size_t n;
};

/* How a table or array came to be, which decides what may be added to it: for
 * the reader only. */
enum toml_origin {
    TOML_IMPLICIT,   /* made by [a.b] for a: may be defined later */
    TOML_HEADER,     /* defined by [a], or the root */
    TOML_DOTTED,     /* made by a.b = 1 for a */
    TOML_CLOSED,     /* written as a value: { } or [ ] */
    TOML_TABLE_ARRAY /* made by [[a]] */
};

struct toml_value {
    enum toml_kind kind;
    enum toml_origin origin;
    int depth; /* the root's is 0 */
    struct toml_place place;
    struct toml_text key; /* text is NULL for items of an array, and the root */
    struct toml_place key_place;
    const char *file;        /* the name for messages */
    struct toml_value *next; /* item of the same table or array, or NULL */
    union {
        struct toml_text string;
        int64_t integer;
        double real;
        bool boolean;
        struct toml_time time;
        struct toml_items items; /* of an array or a table */
    };
};

struct toml;

/* Reads a whole text or file; name goes in front of messages:
 * "budgets.toml: line 7, column 3: expected a value" (ASSAY_BAD_INPUT). On
 * failure *out is NULL. */
enum assay_status toml_read_text(const char *text, size_t n, const char *name,
                                 struct toml **out, struct error *err);
enum assay_status toml_read_file(const char *path, struct toml **out,
                                 struct error *err);
void toml_free(struct toml *toml); /* accepts NULL */

/* The table of the whole document. Borrowed, like everything in it. */
const struct toml_value *toml_root(const struct toml *toml);

/* NULL if the table has no such key. Takes linear time: fine for files that
 * people write. */
const struct toml_value *toml_find(const struct toml_value *table,
                                   const char *key);

/* A value of this kind. A missing key leaves *value unchanged; a value of
 * another kind is ASSAY_BAD_INPUT: "config.toml: line 7: size must be an
 * integer, not a string". */
enum assay_status toml_get(const struct toml_value *table, const char *key,
                           enum toml_kind kind, const struct toml_value **value,
                           struct error *err);

/* ASSAY_BAD_INPUT, "config.toml: line 7: ..." with the line of a value's key,
 * or of the value if it has none. */
enum assay_status toml_complain(const struct toml_value *value,
                                struct error *err, const char *format, ...)
    ASSAY_PRINTF(3, 4);

/* Refuses the first unknown key of the table:
 * "config.toml: line 7: unknown key bach_size". */
enum assay_status toml_check_keys(const struct toml_value *table,
                                  const char *const *known, size_t n_known,
                                  struct error *err);

/* "an integer" */
const char *toml_kind_text(enum toml_kind kind);

#endif
