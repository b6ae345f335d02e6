/* base/json_buffer.c - the JSON reader's buffer: filling it, and finding the
 * line and column of its bytes. */
#include "base/json_internal.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    buffer_bytes = 256 * 1024,
    min_buffer_bytes = 64, /* longer than any keyword or escape */
    padding = 16, /* readable bytes after the buffer, for word-wise scans */
    default_depth = 512,
    default_text = 16 * 1024 * 1024
};

/* ---- failures and places ---------------------------------------------- */

struct json_place json_place_at(const struct json_reader *reader,
                                const char *at)
{
    struct json_place place = reader->place;

    while (place.counted < at) {
        const char *newline =
            memchr(place.counted, '\n', (size_t)(at - place.counted));

        place.counted = newline ? newline + 1 : at;
        if (newline) {
            place.line++;
            place.line_start =
                reader->offset + (uint64_t)(place.counted - reader->buffer);
        }
    }
    return place;
}

static uint64_t column_at(const struct json_reader *reader,
                          const struct json_place *place, const char *at)
{
    return reader->offset + (uint64_t)(at - reader->buffer) -
           place->line_start + 1;
}

bool json_fail(struct json_reader *reader, const char *at, const char *what)
{
    struct json_place place = json_place_at(reader, at);

    error_set(&reader->failure, ASSAY_BAD_INPUT,
              "line %" PRIu64 ", column %" PRIu64 ": %s", place.line,
              column_at(reader, &place, at), what);
    return false;
}

bool json_fail_at_end(struct json_reader *reader, const char *middle)
{
    char what[64];

    snprintf(what, sizeof what, "the file ends in the middle of %s", middle);
    return json_fail(reader, reader->end, what);
}

bool json_fail_expected(struct json_reader *reader, const char *at,
                        const char *expected)
{
    if (at < reader->end)
        return json_fail(reader, at, expected);
    if (reader->depth == 0)
        return json_fail(reader, at, "there is no JSON value in the file");
    reader->is_cut_off = true;
    return json_fail_at_end(reader,
                            reader->in_object ? "an object" : "an array");
}

bool json_fail_limit(struct json_reader *reader, const char *at,
                     const char *what, size_t limit, const char *unit)
{
    char text[96];

    snprintf(text, sizeof text, "%s than the limit of %zu %s", what, limit,
             unit);
    return json_fail(reader, at, text);
}

enum assay_status json_report(struct json_reader *reader, struct error *err)
{
    reader->kind = JSON_END;
    return error_set(err, reader->failure.status, "%s", reader->failure.text);
}

/* ---- the buffer ------------------------------------------------------- */

static enum assay_status read_from_text(void *context, char *buffer,
                                        size_t size, size_t *n,
                                        struct error *err)
{
    struct json_reader *reader = context;

    (void)err;
    *n = size < reader->n_rest ? size : reader->n_rest;
    memcpy(buffer, reader->rest, *n);
    reader->rest += *n;
    reader->n_rest -= *n;
    return ASSAY_OK;
}

static bool set_capacity(struct json_reader *reader, size_t capacity)
{
    char *moved = mem_realloc(reader->buffer, capacity + padding);

    if (!moved) {
        error_nomem(&reader->failure, capacity, "the JSON reader's buffer");
        return false;
    }
    memset(moved + reader->capacity, 0, capacity + padding - reader->capacity);
    reader->buffer = moved;
    reader->capacity = capacity;
    return true;
}

/* A token that fills the whole buffer needs a larger one. */
static bool json_buffer_grow(struct json_reader *reader)
{
    if (reader->capacity > reader->limits.max_text)
        return json_fail_limit(reader, reader->token,
                               "a string or number is longer",
                               reader->limits.max_text, "bytes");
    return set_capacity(reader, reader->capacity * 2);
}

/* Drops what lies before the token and makes room after it. */
static bool slide(struct json_reader *reader)
{
    size_t kept = (size_t)(reader->end - reader->token);

    if (kept == reader->capacity) {
        if (!json_buffer_grow(reader))
            return false;
    } else {
        reader->place = json_place_at(reader, reader->token);
        reader->offset += (uint64_t)(reader->token - reader->buffer);
        memmove(reader->buffer, reader->token, kept);
    }
    reader->token = reader->cut = reader->buffer;
    reader->cut_byte = reader->buffer[0];
    reader->place.counted = reader->buffer;
    reader->end = reader->buffer + kept;
    return true;
}

/* RFC 8259 allows a reader to ignore one. */
static void json_buffer_skip_byte_order_mark(struct json_reader *reader)
{
    static const char mark[] = "\xef\xbb\xbf";

    if (memcmp(reader->buffer, mark, sizeof mark - 1) == 0)
        reader->token += sizeof mark - 1;
}

bool json_refill(struct json_reader *reader)
{
    bool is_first = reader->offset == 0 && reader->end == reader->buffer;

    if (!slide(reader))
        return false;
    while (!reader->is_last &&
           reader->end < reader->buffer + reader->capacity) {
        size_t room = reader->capacity - (size_t)(reader->end - reader->buffer);
        size_t n = 0;
        enum assay_status st = reader->source.read(
            reader->source.context, reader->end, room, &n, &reader->failure);

        if (st) {
            reader->failure.status = st;
            return false;
        }
        reader->end += n;
        reader->is_last = n == 0;
    }
    *reader->end = '\0';
    if (is_first)
        json_buffer_skip_byte_order_mark(reader);
    return true;
}

bool json_is_cut_off(const struct json_reader *reader)
{
    return reader->is_cut_off;
}

void json_position(const struct json_reader *reader, uint64_t *line,
                   uint64_t *column)
{
    struct json_place place = json_place_at(reader, reader->token);

    *line = place.line;
    *column = column_at(reader, &place, reader->token);
}

/* ---- making and freeing ----------------------------------------------- */

static enum assay_status json_buffer_make(size_t capacity,
                                          const struct json_limits *limits,
                                          struct json_reader **out,
                                          struct error *err)
{
    struct json_reader *reader = mem_zalloc(sizeof *reader);
    enum assay_status st;

    *out = NULL;
    if (!reader)
        return error_nomem(err, sizeof *reader, "a JSON reader");
    if (limits)
        reader->limits = *limits;
    if (!reader->limits.max_depth)
        reader->limits.max_depth = default_depth;
    if (!reader->limits.max_text)
        reader->limits.max_text = default_text;
    reader->levels = mem_alloc(reader->limits.max_depth);
    if (!reader->levels)
        error_nomem(&reader->failure, reader->limits.max_depth,
                    "a JSON reader's levels");
    if (!reader->levels || !set_capacity(reader, capacity)) {
        st = json_report(reader, err);
        json_reader_free(reader);
        return st;
    }
    reader->at = reader->end = reader->token = reader->buffer;
    reader->cut = reader->buffer;
    reader->place = (struct json_place){.counted = reader->buffer, .line = 1};
    *out = reader;
    return ASSAY_OK;
}

enum assay_status json_reader_new(struct json_source source,
                                  const struct json_limits *limits,
                                  struct json_reader **out, struct error *err)
{
    enum assay_status st = json_buffer_make(buffer_bytes, limits, out, err);

    if (st == ASSAY_OK)
        (*out)->source = source;
    return st;
}

enum assay_status json_reader_new_text(const char *text, size_t n,
                                       struct json_reader **out,
                                       struct error *err)
{
    size_t capacity = n < min_buffer_bytes ? min_buffer_bytes
                      : n < buffer_bytes   ? n
                                           : buffer_bytes;
    enum assay_status st = json_buffer_make(capacity, NULL, out, err);

    if (st)
        return st;
    (*out)->source = (struct json_source){read_from_text, *out};
    (*out)->rest = text;
    (*out)->n_rest = n;
    return ASSAY_OK;
}

void json_reader_free(struct json_reader *reader)
{
    if (!reader)
        return;
    mem_free(reader->buffer);
    mem_free(reader->levels);
    mem_free(reader);
}
