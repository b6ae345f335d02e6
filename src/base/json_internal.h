/* base/json_internal.h - what the JSON reader's files share.
 *
 * One buffer slides over the document. The token being read always lies in it
 * in one piece: texts are returned in place, with a NUL written over the byte
 * after them, and escapes are replaced in place. A NUL after the last byte
 * stops every scan, so scans check for the end only when they find a NUL.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_JSON_INTERNAL_H
#define BASE_JSON_INTERNAL_H

#include "base/json.h"

enum json_state {
    AT_VALUE,       /* a value must follow */
    AT_FIRST_VALUE, /* after [ */
    AT_FIRST_KEY,   /* after { */
    AT_COLON,
    AFTER_VALUE
};

struct json_place {
    const char *counted; /* newlines before this are counted */
    uint64_t line;
    uint64_t line_start; /* offset in the document */
};

struct json_reader {
    char *at;      /* the first byte not yet read */
    char *end;     /* of the buffered bytes; a NUL stands there */
    char *token;   /* start of the token being read; kept when refilling */
    char *cut;     /* where the NUL after the text was put, */
    char cut_byte; /* and what it replaced */
    bool in_object;
    bool is_last;    /* the source has no more */
    bool is_cut_off; /* between two tokens */
    enum json_state state;
    enum json_token kind;
    char *text;
    size_t n_text;
    size_t depth;
    unsigned char *levels; /* 1 if the level is an object */

    char *buffer;
    size_t capacity;
    uint64_t offset; /* of the buffer in the document */
    struct json_place place;
    struct json_limits limits;
    struct json_source source;
    struct error failure; /* once set, every call returns it */
    const char *rest;     /* of the caller's text, for read_from_text() */
    size_t n_rest;
};

/* Record what is wrong in reader->failure and return false, so that a scan can
 * end with them. json_fail_expected: something else, or nothing, stands where
 * `expected` says what should. */
bool json_fail(struct json_reader *reader, const char *at, const char *what)
    __attribute__((cold));
bool json_fail_at_end(struct json_reader *reader, const char *middle)
    __attribute__((cold));
bool json_fail_expected(struct json_reader *reader, const char *at,
                        const char *expected) __attribute__((cold));
bool json_fail_limit(struct json_reader *reader, const char *at,
                     const char *what, size_t limit, const char *unit)
    __attribute__((cold));

/* Copies the failure for the caller. */
enum assay_status json_report(struct json_reader *reader, struct error *err)
    __attribute__((cold));

/* The place after counting the newlines before `at`. */
struct json_place json_place_at(const struct json_reader *reader,
                                const char *at);

/* Moves the token to the front of the buffer and fills the rest. Invalidates
 * pointers into the buffer other than the reader's own. */
bool json_refill(struct json_reader *reader);

#endif
