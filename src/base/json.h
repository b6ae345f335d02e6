/* base/json.h - reading and writing JSON, as a stream.
 *
 * The reader is a pull parser: json_next() returns one token at a time, and
 * memory does not grow with the document. The writer adds commas, quotes and
 * indentation.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/error.h"
#include "base/sink.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- reading ---------------------------------------------------------- */

enum json_token {
    JSON_END, /* of the document */
    JSON_OBJECT_BEGIN,
    JSON_OBJECT_END,
    JSON_ARRAY_BEGIN,
    JSON_ARRAY_END,
    JSON_KEY,
    JSON_STRING,
    JSON_NUMBER,
    JSON_TRUE,
    JSON_FALSE,
    JSON_NULL
};

/* Where the bytes come from: fills buffer with up to size bytes and sets *n; 0
 * means the end. */
struct json_source {
    enum assay_status (*read)(void *context, char *buffer, size_t size,
                              size_t *n, struct error *err);
    void *context;
};

struct json_limits {
    size_t max_depth; /* of nesting; 0: 512 */
    size_t max_text;  /* bytes of a string or number as written; 0: 16 MiB */
};

struct json_reader;

enum assay_status json_reader_new(struct json_source source,
                                  const struct json_limits *limits,
                                  struct json_reader **out, struct error *err);
/* Reads text that the caller owns and that must outlive the reader. */
enum assay_status json_reader_new_text(const char *text, size_t n,
                                       struct json_reader **out,
                                       struct error *err);
void json_reader_free(struct json_reader *reader); /* accepts NULL */

/* The next token. Strictly RFC 8259: errors are ASSAY_BAD_INPUT with line and
 * column ("line 3, column 14: expected a comma or }"); for a truncated document
 * "the file ends in the middle of ...". */
enum assay_status json_next(struct json_reader *reader, enum json_token *token,
                            struct error *err);

/* The text of a key or string, unescaped, as UTF-8, or of a number as written;
 * "" for other tokens. NUL-terminated, but may hold NULs (\u0000); half a
 * surrogate pair becomes U+FFFD. Borrowed until the next json_next() or skip. n
 * may be NULL. */
const char *json_text(const struct json_reader *reader, size_t *n);

/* The number just read. json_int64() returns false if it has a fraction or does
 * not fit. */
double json_double(const struct json_reader *reader);
bool json_int64(const struct json_reader *reader, int64_t *value);
/* The number just read times 10^decimals, rounded to the nearest integer from
 * its decimal digits; false if that does not fit. json_fixed(reader, 3, &ns)
 * turns microseconds into nanoseconds without going through a double. */
bool json_fixed(const struct json_reader *reader, int decimals, int64_t *value);

/* json_skip() skips the next value, after a key or inside an array;
 * json_skip_rest() skips the rest of the innermost open object or array. Both
 * are as strict as json_next(). */
enum assay_status json_skip(struct json_reader *reader, struct error *err);
enum assay_status json_skip_rest(struct json_reader *reader, struct error *err);

/* After a failure: whether the document ended between two tokens, where
 * something should follow, rather than inside a token. */
bool json_is_cut_off(const struct json_reader *reader);

/* "line 3, column 14", for messages about what was just read. Columns are
 * bytes. */
void json_position(const struct json_reader *reader, uint64_t *line,
                   uint64_t *column);

/* ---- writing ---------------------------------------------------------- */

enum { JSON_MAX_WRITE_DEPTH = 64 };

struct json_writer {
    struct sink *sink;
    int indent; /* spaces per level; 0: all on one line */
    int depth;
    bool has_items[JSON_MAX_WRITE_DEPTH];
    bool is_inline[JSON_MAX_WRITE_DEPTH];
    bool after_key;
};

/* The caller keeps the sink, which remembers failures. Nesting beyond the limit
 * above is one (EOVERFLOW). No newline is written at the end. */
struct json_writer json_writer(struct sink *sink, int indent);

void json_object_begin(struct json_writer *writer);
void json_object_end(struct json_writer *writer);
void json_array_begin(struct json_writer *writer);
void json_array_end(struct json_writer *writer);
/* Like array_begin and object_begin, but the members stay on one line. */
void json_inline_array_begin(struct json_writer *writer);
void json_inline_object_begin(struct json_writer *writer);

void json_key(struct json_writer *writer, const char *key);
/* Bytes that are not UTF-8 become U+FFFD. NULL is written as null. */
void json_write_string(struct json_writer *writer, const char *text);
/* A string with the bytes as base64. */
void json_write_base64(struct json_writer *writer, const void *bytes, size_t n);
void json_write_int(struct json_writer *writer, int64_t value);
void json_write_uint(struct json_writer *writer, uint64_t value);
/* The shortest decimal that reads back as the same double; NaN and the
 * infinities are null. */
void json_write_double(struct json_writer *writer, double value);
/* Rounded to this many significant digits. */
void json_write_rounded(struct json_writer *writer, double value, int digits);
void json_write_bool(struct json_writer *writer, bool value);
void json_write_null(struct json_writer *writer);
/* A value that is already JSON. */
void json_write_raw(struct json_writer *writer, const char *json);

/* key and value in one. */
void json_member_string(struct json_writer *writer, const char *key,
                        const char *text);
void json_member_int(struct json_writer *writer, const char *key,
                     int64_t value);
void json_member_double(struct json_writer *writer, const char *key,
                        double value);
void json_member_bool(struct json_writer *writer, const char *key, bool value);

#endif
