/* What the reading half of base/json.h promises. */
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { buffer_bytes = 256 * 1024 /* of the reader */ };

static void dump_token(const struct json_reader *reader, enum json_token token,
                       struct str *out)
{
    static const char marks[] = ".{}[]ksn+-0";
    size_t n;
    const char *text = json_text(reader, &n);

    CHECK_INT(text[n], '\0');
    str_append_char(out, marks[token]);
    if (n || token == JSON_KEY || token == JSON_STRING) {
        str_append_char(out, '<');
        str_append_n(out, text, n);
        str_append_char(out, '>');
    }
}

static enum assay_status dump(struct json_reader *reader, struct str *out,
                              struct error *err)
{
    enum json_token token = JSON_NULL;
    enum assay_status st = ASSAY_OK;

    str_clear(out);
    while (st == ASSAY_OK && token != JSON_END) {
        st = json_next(reader, &token, err);
        if (st == ASSAY_OK)
            dump_token(reader, token, out);
    }
    return st;
}

static enum assay_status dump_text(const char *text, size_t n, struct str *out,
                                   struct error *err)
{
    struct json_reader *reader;
    enum assay_status st = json_reader_new_text(text, n, &reader, err);

    if (st == ASSAY_OK)
        st = dump(reader, out, err);
    json_reader_free(reader);
    return st;
}

static void check_reads(const char *text, const char *want)
{
    struct error err = {0};
    struct str out = {0};

    CHECK_STATUS(dump_text(text, strlen(text), &out, &err), ASSAY_OK, &err);
    CHECK_STR(str_text(&out), want);
    str_release(&out);
}

static void check_refuses_n(const char *text, size_t n, const char *message)
{
    struct error err = {0};
    struct str out = {0};

    CHECK_STATUS(dump_text(text, n, &out, &err), ASSAY_BAD_INPUT, &err);
    CHECK_STR(err.text, message);
    str_release(&out);
}

static void check_refuses(const char *text, const char *message)
{
    check_refuses_n(text, strlen(text), message);
}

static const char example[] =
    " {\"ph\": \"X\", \"ts\" :12.5e-3,\r\n\t\"args\":{\"a\\n\\u00e4\\\"\":"
    "[true,false , null,-0,[],{}, \"\"]},\"\xe2\x82\xac\": \"\\ud83c\\udf4e"
    " \xf0\x9f\x8d\x8e\\/\\b\\f\\r\\t\\\\\"} ";
static const char example_tokens[] =
    "{k<ph>s<X>k<ts>n<12.5e-3>k<args>{k<a\n\xc3\xa4\">[+-0n<-0>[]{}s<>]}"
    "k<\xe2\x82\xac>s<\xf0\x9f\x8d\x8e \xf0\x9f\x8d\x8e/\b\f\r\t\\>}.";

TEST(a_document_is_read_as_tokens)
{
    check_reads(example, example_tokens);
    check_reads("[]", "[].");
    check_reads("\xef\xbb\xbf 12", "n<12>.");
    check_reads("\"x\"", "s<x>.");
    check_reads("[0,-1,1.0,1e5,1E+5,1.5e-10,123456789012345678901]",
                "[n<0>n<-1>n<1.0>n<1e5>n<1E+5>n<1.5e-10>"
                "n<123456789012345678901>].");
}

TEST(halves_of_surrogate_pairs_become_replacement_characters)
{
    check_reads("[\"\\ud83c\",\"\\udf4e!\",\"\\ud83cx\",\"\\ud83c\\ud83c\\udf4e"
                "\",\"\\ud83c\\n\"]",
                "[s<\xef\xbf\xbd>s<\xef\xbf\xbd!>s<\xef\xbf\xbdx>"
                "s<\xef\xbf\xbd\xf0\x9f\x8d\x8e>s<\xef\xbf\xbd\n>].");
}

TEST(violations_of_rfc_8259_are_refused_with_their_place)
{
    check_refuses("[1 2]", "line 1, column 4: expected a comma or ]");
    check_refuses("{\"a\":1\n \"b\":2}",
                  "line 2, column 2: expected a comma or }");
    check_refuses("[1,]", "line 1, column 4: expected a value");
    check_refuses("[,1]", "line 1, column 2: expected a value");
    check_refuses("{\"a\":1,}",
                  "line 1, column 8: expected a key in double quotes");
    check_refuses("{a:1}", "line 1, column 2: expected a key in double quotes");
    check_refuses("{\"a\" 1}", "line 1, column 6: expected a colon");
    check_refuses("{\"a\":}", "line 1, column 6: expected a value");
    check_refuses("[1}", "line 1, column 3: expected a comma or ]");
    check_refuses("[tru]", "line 1, column 2: expected a value");
    check_refuses("[trux", "line 1, column 2: expected a value");
    check_refuses("[NaN]", "line 1, column 2: expected a value");
    check_refuses("[truex]", "line 1, column 6: expected a comma or ]");
    check_refuses(
        "[1] 2",
        "line 1, column 5: extra text after the end of the JSON value");
    check_refuses("['a']", "line 1, column 2: expected a value");
    check_refuses("[1/*x*/]", "line 1, column 3: expected a comma or ]");
    check_refuses("]", "line 1, column 1: expected a value");
    check_refuses_n("[\0]", 3, "line 1, column 2: expected a value");
    check_refuses("[\v1]", "line 1, column 2: expected a value");
}

TEST(malformed_numbers_are_refused)
{
    check_refuses("[01]", "line 1, column 3: expected a comma or ]");
    check_refuses("[-]", "line 1, column 3: expected a digit");
    check_refuses("[1.]", "line 1, column 4: expected a digit");
    check_refuses("[1.e5]", "line 1, column 4: expected a digit");
    check_refuses("[1e]", "line 1, column 4: expected a digit");
    check_refuses("[1e+]", "line 1, column 5: expected a digit");
    check_refuses("[.5]", "line 1, column 2: expected a value");
    check_refuses("[+5]", "line 1, column 2: expected a value");
    check_refuses("[0x10]", "line 1, column 3: expected a comma or ]");
}

TEST(malformed_strings_are_refused)
{
    check_refuses("[\"a\nb\"]",
                  "line 1, column 4: a control character must be escaped");
    check_refuses_n("[\"a\0b\"]", 7,
                    "line 1, column 4: a control character must be escaped");
    check_refuses("[\"a\\x\"]", "line 1, column 4: unknown escape");
    check_refuses("[\"a\\\nb\"]", "line 1, column 4: unknown escape");
    check_refuses("[\"\\u12g4\"]", "line 1, column 3: unknown escape");
    check_refuses("[\"\\u123\"]", "line 1, column 3: unknown escape");
    check_refuses("[\n\n\"\\n\\n\\'\"]", "line 3, column 6: unknown escape");
    check_refuses("[\"\xc3(\"]", "line 1, column 3: the text is not UTF-8");
    check_refuses("[\"\xed\xa0\x80\"]",
                  "line 1, column 3: the text is not UTF-8");
    check_refuses("[\"12345678\xff\"]",
                  "line 1, column 11: the text is not UTF-8");
}

TEST(a_truncated_document_says_what_it_ends_in)
{
    check_refuses("", "line 1, column 1: there is no JSON value in the file");
    check_refuses(" \n ",
                  "line 2, column 2: there is no JSON value in the file");
    check_refuses("[1,",
                  "line 1, column 4: the file ends in the middle of an array");
    check_refuses("[{\"a\"",
                  "line 1, column 6: the file ends in the middle of an object");
    check_refuses("[{\"a\":1",
                  "line 1, column 8: the file ends in the middle of an object");
    check_refuses("[\"ab",
                  "line 1, column 5: the file ends in the middle of a string");
    check_refuses("[\"ab\\",
                  "line 1, column 6: the file ends in the middle of a string");
    check_refuses("[-",
                  "line 1, column 3: the file ends in the middle of a number");
    check_refuses("[fals",
                  "line 1, column 6: the file ends in the middle of a word");
}

TEST(every_prefix_of_a_document_is_refused)
{
    struct str out = {0};

    for (size_t n = 0; n < sizeof example - 3; n++) {
        struct error err = {0};

        if (dump_text(example, n, &out, &err) != ASSAY_BAD_INPUT)
            fail_msg("%zu bytes are taken for a document", n);
    }
    str_release(&out);
}

/* A source that returns its bytes in pieces, and may fail at the end. */
struct pieces {
    const char *text;
    size_t n, piece;
    enum assay_status at_end;
};

static enum assay_status read_piece(void *context, char *buffer, size_t size,
                                    size_t *n, struct error *err)
{
    struct pieces *pieces = context;

    *n = pieces->n < pieces->piece ? pieces->n : pieces->piece;
    if (*n > size)
        *n = size;
    memcpy(buffer, pieces->text, *n);
    pieces->text += *n;
    pieces->n -= *n;
    if (*n == 0 && pieces->at_end)
        return error_set(err, pieces->at_end, "the disk is on fire");
    return ASSAY_OK;
}

static enum assay_status dump_pieces(struct pieces *pieces,
                                     const struct json_limits *limits,
                                     struct str *out, struct error *err)
{
    struct json_source source = {read_piece, pieces};
    struct json_reader *reader;
    enum assay_status st = json_reader_new(source, limits, &reader, err);

    if (st == ASSAY_OK)
        st = dump(reader, out, err);
    json_reader_free(reader);
    return st;
}

TEST(a_token_may_lie_across_the_end_of_the_buffer)
{
    size_t n = sizeof example - 1;
    char *text = mem_alloc(buffer_bytes + n);
    struct str out = {0};

    memset(text, ' ', buffer_bytes);
    for (size_t before = 0; before <= n; before++) {
        size_t start = buffer_bytes - before;
        struct pieces pieces = {text, start + n, 100000, ASSAY_OK};
        struct error err = {0};

        memcpy(text + start, example, n);
        CHECK_STATUS(dump_pieces(&pieces, NULL, &out, &err), ASSAY_OK, &err);
        CHECK_STR(str_text(&out), example_tokens);
    }
    str_release(&out);
    mem_free(text);
}

TEST(a_text_longer_than_the_buffer_comes_in_one_piece)
{
    size_t n = 3 * buffer_bytes + 5;
    char *text = mem_alloc(n + 4);
    struct pieces pieces = {text, n + 4, 70000, ASSAY_OK};
    struct error err = {0};
    struct str out = {0};

    memset(text, 'x', n + 4);
    memcpy(text, "[\"", 2);
    memcpy(text + n + 2, "\"]", 2);
    CHECK_STATUS(dump_pieces(&pieces, NULL, &out, &err), ASSAY_OK, &err);
    CHECK_INT(out.n, n + 6);
    str_release(&out);
    mem_free(text);
}

TEST(texts_and_nesting_beyond_the_limits_are_refused)
{
    struct json_limits limits = {.max_depth = 3, .max_text = 10};
    struct pieces fits = {"[[[\"0123456789\"]]]", 18, 100, ASSAY_OK};
    struct pieces deep = {"[[[[", 4, 100, ASSAY_OK};
    struct pieces text = {"[\"01234567890\"]", 15, 100, ASSAY_OK};
    struct error err = {0};
    struct str out = {0};

    CHECK_STATUS(dump_pieces(&fits, &limits, &out, &err), ASSAY_OK, &err);
    CHECK_INT(dump_pieces(&deep, &limits, &out, &err), ASSAY_BAD_INPUT);
    CHECK_STR(err.text, "line 1, column 4: nested deeper than the limit of 3 "
                        "levels");
    err = (struct error){0};
    CHECK_INT(dump_pieces(&text, &limits, &out, &err), ASSAY_BAD_INPUT);
    CHECK_STR(err.text, "line 1, column 3: a string or number is longer than "
                        "the limit of 10 bytes");
    str_release(&out);
}

TEST(memory_stays_bounded_when_a_string_never_ends)
{
    struct json_limits limits = {.max_text = 1 << 20};
    size_t n = 8 << 20, before = mem_live_bytes();
    char *text = mem_alloc(n);
    struct pieces pieces = {text, n, n, ASSAY_OK};
    struct error err = {0};
    struct str out = {0};

    memset(text, 'x', n);
    text[0] = '"';
    mem_reset_peak();
    CHECK_INT(dump_pieces(&pieces, &limits, &out, &err), ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "longer than the limit of 1048576 bytes");
    CHECK(mem_peak_bytes() < before + n + (4 << 20));
    str_release(&out);
    mem_free(text);
}

TEST(a_failing_source_is_passed_on_and_stays_failed)
{
    struct pieces pieces = {"[1,", 3, 2, ASSAY_IO};
    struct json_source source = {read_piece, &pieces};
    struct json_reader *reader;
    enum json_token token;
    struct error err = {0};

    CHECK_STATUS(json_reader_new(source, NULL, &reader, &err), ASSAY_OK, &err);
    for (int i = 0; i < 3; i++) {
        err = (struct error){0};
        CHECK_INT(json_next(reader, &token, &err), ASSAY_IO);
        CHECK_STR(err.text, "the disk is on fire");
    }
    json_reader_free(reader);
}

TEST(skipping_passes_over_exactly_one_value)
{
    static const char text[] =
        "{\"a\": {\"x\": [1, {\"y\": \"}\"}]}, \"b\": 5, \"c\": [1, [2], 3, "
        "{\"d\": {}}], \"e\": true}";
    struct json_reader *reader;
    enum json_token token;
    struct error err = {0};
    int64_t value = 0;

    json_reader_new_text(text, strlen(text), &reader, &err);
    json_next(reader, &token, &err);
    json_next(reader, &token, &err);
    CHECK_STATUS(json_skip(reader, &err), ASSAY_OK, &err); /* a */
    json_next(reader, &token, &err);
    CHECK_STR(json_text(reader, NULL), "b");
    CHECK_STATUS(json_skip(reader, &err), ASSAY_OK, &err);
    json_next(reader, &token, &err);
    json_next(reader, &token, &err); /* c and its [ */
    json_next(reader, &token, &err);
    CHECK(json_int64(reader, &value));
    CHECK_INT(value, 1);
    CHECK_STATUS(json_skip(reader, &err), ASSAY_OK, &err); /* [2] */
    json_next(reader, &token, &err);
    CHECK(json_int64(reader, &value));
    CHECK_INT(value, 3);
    CHECK_STATUS(json_skip_rest(reader, &err), ASSAY_OK, &err);
    json_next(reader, &token, &err);
    CHECK_STR(json_text(reader, NULL), "e");
    CHECK_STATUS(json_skip_rest(reader, &err), ASSAY_OK, &err);
    CHECK_STATUS(json_next(reader, &token, &err), ASSAY_OK, &err);
    CHECK_INT(token, JSON_END);
    json_reader_free(reader);
}

TEST(numbers_are_read_as_asked)
{
    static const char text[] = "[12.345, 42, \"7\"]";
    struct json_reader *reader;
    enum json_token token;
    int64_t value = 0;

    json_reader_new_text(text, strlen(text), &reader, NULL);
    json_next(reader, &token, NULL);
    json_next(reader, &token, NULL);
    CHECK(json_double(reader) == 12.345);
    CHECK(!json_int64(reader, &value));
    CHECK(json_fixed(reader, 3, &value));
    CHECK_INT(value, 12345);
    json_next(reader, &token, NULL);
    CHECK(json_int64(reader, &value));
    CHECK_INT(value, 42);
    json_next(reader, &token, NULL);
    CHECK(!json_int64(reader, &value));
    CHECK(!json_fixed(reader, 3, &value));
    CHECK(json_double(reader) == 0);
    json_reader_free(reader);
}

TEST(the_position_is_that_of_the_token_just_read)
{
    static const char text[] = "[\n  \"\\n\\n\",\n\n   17,5\n]";
    static const uint64_t want[][2] = {{1, 1}, {2, 3}, {4, 4}, {4, 7}, {5, 1}};
    struct json_reader *reader;
    enum json_token token;
    uint64_t line, column;

    json_reader_new_text(text, strlen(text), &reader, NULL);
    for (size_t i = 0; i < 5; i++) {
        json_next(reader, &token, NULL);
        json_position(reader, &line, &column);
        CHECK_INT(line, want[i][0]);
        CHECK_INT(column, want[i][1]);
    }
    json_reader_free(reader);
}

TEST(lines_and_columns_are_counted_across_buffers)
{
    size_t n = 5 * buffer_bytes;
    char *text = mem_alloc(n);
    struct pieces pieces = {text, n, 12345, ASSAY_OK};
    struct error err = {0};
    struct str out = {0};

    for (size_t i = 0; i < n; i++)
        text[i] = i % 10 == 9 ? '\n' : ' ';
    text[0] = '[';
    text[n - 5] = '?';
    CHECK_INT(dump_pieces(&pieces, NULL, &out, &err), ASSAY_BAD_INPUT);
    CHECK_STR(err.text, "line 131072, column 6: expected a value");
    memset(text + 1, ' ', n - 1);
    text[n - 1] = '?';
    pieces = (struct pieces){text, n, 12345, ASSAY_OK};
    err = (struct error){0};
    CHECK_INT(dump_pieces(&pieces, NULL, &out, &err), ASSAY_BAD_INPUT);
    CHECK_STR(err.text, "line 1, column 1310720: expected a value");
    str_release(&out);
    mem_free(text);
}

TEST(the_callers_text_is_not_written_to)
{
    char text[sizeof example];
    struct error err = {0};
    struct str out = {0};

    memcpy(text, example, sizeof text);
    CHECK_STATUS(dump_text(text, strlen(text), &out, &err), ASSAY_OK, &err);
    CHECK_STR(text, example);
    str_release(&out);
}

TEST(a_reader_leaks_nothing_whichever_allocation_fails)
{
    size_t n = 2 * buffer_bytes;
    char *text = mem_alloc(n);
    long before = mem_live(), nth = 0;
    enum assay_status st;

    memset(text, '1', n);
    do {
        struct json_source source = {read_piece,
                                     &(struct pieces){text, n, n, ASSAY_OK}};
        struct json_reader *reader;

        mem_fail_at(nth++);
        st = json_reader_new(source, NULL, &reader, NULL);
        if (st == ASSAY_OK)
            st = json_skip(reader, NULL);
        mem_fail_at(-1);
        json_reader_free(reader);
        CHECK_INT(mem_live(), before);
    } while (st == ASSAY_NOMEM);
    CHECK_INT(st, ASSAY_OK);
    CHECK(nth > 4);
    mem_free(text);
}

static bool is_cut_off(const char *text)
{
    enum json_token token = JSON_NULL;
    struct json_reader *reader;
    bool answer;

    CHECK_INT(json_reader_new_text(text, strlen(text), &reader, NULL),
              ASSAY_OK);
    while (!json_next(reader, &token, NULL) && token != JSON_END)
        ;
    answer = json_is_cut_off(reader);
    json_reader_free(reader);
    return answer;
}

TEST(a_document_cut_between_tokens_is_distinguished_from_a_broken_one)
{
    CHECK(is_cut_off("[1"));
    CHECK(is_cut_off("[1, "));
    CHECK(is_cut_off("[{}"));
    CHECK(!is_cut_off("[1]"));
    CHECK(!is_cut_off("[\"a"));
    CHECK(!is_cut_off("[1}"));
    CHECK(!is_cut_off("[tru"));
}
