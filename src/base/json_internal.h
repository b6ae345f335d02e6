/* base/json_internal.h - what the JSON reader's files share.
 *
 * One buffer slides over the document. The token being read always lies in it
 * as a whole: texts are handed out where they stand, with a NUL put over the
 * byte behind them, and escapes are replaced in place. A NUL behind the last
 * byte stops every scan, so that only there the end has to be thought of.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_JSON_INTERNAL_H
#define BASE_JSON_INTERNAL_H

#include "base/json.h"

enum json_state {
    AT_VALUE,       /* a value must follow */
    AT_FIRST_VALUE, /* behind [ */
    AT_FIRST_KEY,   /* behind { */
    AT_COLON,
    BEHIND_VALUE
};

struct json_place {
    const char *counted; /* newlines before this one are */
    uint64_t line;
    uint64_t line_start; /* offset in the document */
};

struct json_reader {
    char *at;      /* the first byte not yet read */
    char *end;     /* of what the buffer holds; a NUL stands there */
    char *token;   /* the start of what is being read: kept when refilling */
    char *cut;     /* where the NUL behind the text was put, */
    char cut_byte; /* and what it replaced */
    bool in_object;
    bool is_last;    /* the source has no more */
    bool is_cut_off; /* between two tokens */
    enum json_state state;
    enum json_token kind;
    char *text;
    size_t n_text;
    size_t depth;
    unsigned char *levels; /* 1 where the level is an object */

    char *buffer;
    size_t capacity;
    uint64_t offset; /* of the buffer in the document */
    struct json_place place;
    struct json_limits limits;
    struct json_source source;
    struct error failure; /* once set, every call answers it */
    const char *rest;     /* of the caller's text, for read_from_text() */
    size_t n_rest;
};

/* Note what is wrong in reader->failure and answer false, so that a scan can
 * end with them. json_fail_wanted: something else stands where `wanted` should,
 * or nothing at all. */
bool json_fail(struct json_reader *reader, const char *at, const char *what)
    __attribute__((cold));
bool json_fail_at_end(struct json_reader *reader, const char *middle)
    __attribute__((cold));
bool json_fail_wanted(struct json_reader *reader, const char *at,
                      const char *wanted) __attribute__((cold));
bool json_fail_limit(struct json_reader *reader, const char *at,
                     const char *what, size_t limit, const char *unit)
    __attribute__((cold));

/* Hands the failure to the caller. */
enum assay_status json_report(struct json_reader *reader, struct error *err)
    __attribute__((cold));

/* Newlines before `at` are counted in the answer. */
struct json_place json_place_at(const struct json_reader *reader,
                                const char *at);

/* Moves the token to the front of the buffer and fills the rest. Pointers into
 * the buffer other than the reader's own are void then. */
bool json_refill(struct json_reader *reader);

/* Replaces the escapes of the n bytes of text, which never grows by it, and
 * returns its new length. Halves of a surrogate pair that stand alone become
 * U+FFFD. Where an escape is malformed *bad is set to its backslash; it stays
 * as it was otherwise. */
size_t json_unescape(char *text, size_t n, const char **bad);

#endif
