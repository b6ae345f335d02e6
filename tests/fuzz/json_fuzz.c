/* Any bytes as a JSON document, read in three ways that must agree: as a text,
 * across the end of the reader's buffer, and skipped. */
#include "base/json.h"
#include "base/mem.h"
#include "fuzz.h"

#include <string.h>

/* Reads to the end; *hash becomes a hash of all tokens. */
static enum assay_status read_all(struct json_reader *reader, uint64_t *hash)
{
    enum json_token token = JSON_NULL;

    while (token != JSON_END) {
        struct error err = {0};
        enum assay_status st = json_next(reader, &token, &err);
        uint64_t line, column;
        int64_t number;
        const char *text;
        size_t n;

        if (st && !err.text[0])
            __builtin_trap();
        if (st)
            return st;
        text = json_text(reader, &n);
        if (text[n] != '\0')
            __builtin_trap();
        for (size_t i = 0; i < n; i++)
            *hash = *hash * 31 + (unsigned char)text[i];
        *hash = *hash * 31 + (unsigned)token;
        json_position(reader, &line, &column);
        if (token == JSON_NUMBER && json_int64(reader, &number) &&
            (double)number != json_double(reader))
            __builtin_trap();
        json_fixed(reader, 3, &number);
    }
    return ASSAY_OK;
}

/* The same document after so many blanks that it lies across the end of the
 * reader's buffer. */
struct shifted {
    const uint8_t *data;
    size_t n, n_blanks;
};

static enum assay_status read_shifted(void *context, char *buffer, size_t size,
                                      size_t *n, struct error *err)
{
    struct shifted *shifted = context;

    (void)err;
    if (shifted->n_blanks) {
        *n = size < shifted->n_blanks ? size : shifted->n_blanks;
        memset(buffer, ' ', *n);
        shifted->n_blanks -= *n;
        return ASSAY_OK;
    }
    *n = size < shifted->n ? size : shifted->n;
    if (*n)
        memcpy(buffer, shifted->data, *n);
    shifted->data += *n;
    shifted->n -= *n;
    return ASSAY_OK;
}

static void check_shifted(const uint8_t *data, size_t n, enum assay_status want,
                          uint64_t want_hash)
{
    struct shifted shifted = {data, n, (256 << 10) - n / 2};
    struct json_source source = {read_shifted, &shifted};
    struct json_reader *reader;
    uint64_t hash = 0;

    if (json_reader_new(source, NULL, &reader, NULL))
        return;
    if (read_all(reader, &hash) != want || hash != want_hash)
        __builtin_trap();
    json_reader_free(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *text = n ? (const char *)data : "";
    bool has_mark = n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0;
    long before = mem_live();
    struct json_reader *reader;
    enum assay_status st, skipped;
    uint64_t hash = 0;

    if (json_reader_new_text(text, n, &reader, NULL))
        return 0;
    st = read_all(reader, &hash);
    json_reader_free(reader);
    if (n < 4096 && hash % 32 == 0 && !has_mark)
        check_shifted(data, n, st, hash);
    if (json_reader_new_text(text, n, &reader, NULL))
        return 0;
    skipped = json_skip(reader, NULL);
    if (skipped && !st)
        __builtin_trap();
    json_reader_free(reader);
    if (mem_live() != before)
        __builtin_trap();
    return 0;
}
