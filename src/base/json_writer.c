/* base/json_writer.c - the writing half of json.h. */
#include "base/base64.h"
#include "base/decimal.h"
#include "base/json.h"
#include "base/utf8.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct json_writer json_writer(struct sink *sink, int indent)
{
    return (struct json_writer){
        .sink = sink, .indent = indent, .is_inline = {indent == 0}};
}

static void break_line(struct json_writer *writer)
{
    sink_puts(writer->sink, "\n");
    sink_repeat(writer->sink, " ",
                (size_t)writer->indent * (size_t)writer->depth);
}

/* What stands between the item before and this one. */
static void separate(struct json_writer *writer)
{
    bool *has_items = &writer->has_items[writer->depth];

    if (*has_items)
        sink_puts(writer->sink, ",");
    if (!writer->is_inline[writer->depth]) {
        if (writer->depth > 0)
            break_line(writer);
    } else if (*has_items && writer->indent > 0) {
        sink_puts(writer->sink, " ");
    }
    *has_items = true;
}

static void json_writer_begin_value(struct json_writer *writer)
{
    if (!writer->after_key)
        separate(writer);
    writer->after_key = false;
}

static void json_writer_put(struct json_writer *writer, const char *text)
{
    json_writer_begin_value(writer);
    sink_puts(writer->sink, text);
}

static void json_writer_begin(struct json_writer *writer, const char *bracket,
                              bool is_inline)
{
    bool outer = writer->is_inline[writer->depth];

    json_writer_put(writer, bracket);
    if (writer->depth + 1 == JSON_MAX_WRITE_DEPTH) {
        if (!writer->sink->failed_errno)
            writer->sink->failed_errno = EOVERFLOW;
        return;
    }
    writer->depth++;
    writer->has_items[writer->depth] = false;
    writer->is_inline[writer->depth] = is_inline || outer;
}

static void end(struct json_writer *writer, const char *bracket)
{
    bool breaks =
        writer->has_items[writer->depth] && !writer->is_inline[writer->depth];

    if (writer->depth > 0)
        writer->depth--;
    if (breaks)
        break_line(writer);
    sink_puts(writer->sink, bracket);
}

void json_object_begin(struct json_writer *writer)
{
    json_writer_begin(writer, "{", false);
}

void json_object_end(struct json_writer *writer)
{
    end(writer, "}");
}

void json_array_begin(struct json_writer *writer)
{
    json_writer_begin(writer, "[", false);
}

void json_array_end(struct json_writer *writer)
{
    end(writer, "]");
}

void json_inline_array_begin(struct json_writer *writer)
{
    json_writer_begin(writer, "[", true);
}

void json_inline_object_begin(struct json_writer *writer)
{
    json_writer_begin(writer, "{", true);
}

/* The short escape of a character that has one, NULL for the others. */
static const char *short_escape(unsigned char c)
{
    switch (c) {
    case '"':
        return "\\\"";
    case '\\':
        return "\\\\";
    case '\b':
        return "\\b";
    case '\f':
        return "\\f";
    case '\n':
        return "\\n";
    case '\r':
        return "\\r";
    case '\t':
        return "\\t";
    }
    return NULL;
}

/* A character that cannot stand as it is: a control, a quote, a backslash, or
 * a byte that is not UTF-8. */
static void put_escaped(struct sink *sink, unsigned char c)
{
    const char *escape = short_escape(c);
    char code[8];

    if (escape) {
        sink_puts(sink, escape);
    } else if (c < 0x20) {
        snprintf(code, sizeof code, "\\u%04x", c);
        sink_puts(sink, code);
    } else {
        sink_puts(sink, "\xef\xbf\xbd");
    }
}

static void put_quoted(struct sink *sink, const char *text)
{
    const char *end = text + strlen(text), *plain = text;

    sink_puts(sink, "\"");
    while (text < end) {
        unsigned char c = (unsigned char)*text;
        size_t length = utf8_length(text, (size_t)(end - text));

        if (length && c >= 0x20 && c != '"' && c != '\\') {
            text += length;
            continue;
        }
        sink_write(sink, plain, (size_t)(text - plain));
        put_escaped(sink, c);
        plain = ++text;
    }
    sink_write(sink, plain, (size_t)(text - plain));
    sink_puts(sink, "\"");
}

void json_key(struct json_writer *writer, const char *key)
{
    separate(writer);
    put_quoted(writer->sink, key);
    sink_puts(writer->sink, writer->indent > 0 ? ": " : ":");
    writer->after_key = true;
}

void json_write_string(struct json_writer *writer, const char *text)
{
    if (!text) {
        json_write_null(writer);
        return;
    }
    json_writer_begin_value(writer);
    put_quoted(writer->sink, text);
}

void json_write_base64(struct json_writer *writer, const void *bytes, size_t n)
{
    json_writer_put(writer, "\"");
    base64_write(writer->sink, bytes, n);
    sink_puts(writer->sink, "\"");
}

void json_write_int(struct json_writer *writer, int64_t value)
{
    char text[DECIMAL_MAX];

    snprintf(text, sizeof text, "%" PRId64, value);
    json_writer_put(writer, text);
}

void json_write_uint(struct json_writer *writer, uint64_t value)
{
    char text[DECIMAL_MAX];

    snprintf(text, sizeof text, "%" PRIu64, value);
    json_writer_put(writer, text);
}

void json_write_double(struct json_writer *writer, double value)
{
    char text[DECIMAL_MAX];

    if (!isfinite(value)) {
        json_write_null(writer);
        return;
    }
    decimal_write(text, value);
    json_writer_put(writer, text);
}

void json_write_rounded(struct json_writer *writer, double value, int digits)
{
    char text[DECIMAL_MAX];

    if (!isfinite(value) || digits > DBL_DIG) {
        json_write_double(writer, decimal_round(value, digits));
        return;
    }
    decimal_write_rounded(text, value, digits);
    json_writer_put(writer, text);
}

void json_write_bool(struct json_writer *writer, bool value)
{
    json_writer_put(writer, value ? "true" : "false");
}

void json_write_null(struct json_writer *writer)
{
    json_writer_put(writer, "null");
}

void json_write_raw(struct json_writer *writer, const char *json)
{
    json_writer_put(writer, json);
}

void json_member_string(struct json_writer *writer, const char *key,
                        const char *text)
{
    json_key(writer, key);
    json_write_string(writer, text);
}

void json_member_int(struct json_writer *writer, const char *key, int64_t value)
{
    json_key(writer, key);
    json_write_int(writer, value);
}

void json_member_double(struct json_writer *writer, const char *key,
                        double value)
{
    json_key(writer, key);
    json_write_double(writer, value);
}

void json_member_bool(struct json_writer *writer, const char *key, bool value)
{
    json_key(writer, key);
    json_write_bool(writer, value);
}
