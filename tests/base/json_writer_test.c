/* What the writing half of base/json.h promises. */
#include "base/json.h"
#include "test.h"

#include <errno.h>
#include <math.h>

static struct str text;
static struct sink sink;

static struct json_writer writer_of(int indent)
{
    str_release(&text);
    sink = sink_to_str(&text);
    return json_writer(&sink, indent);
}

static void write_example(struct json_writer *writer)
{
    json_object_begin(writer);
    json_member_int(writer, "a", -1);
    json_key(writer, "b");
    json_array_begin(writer);
    json_write_bool(writer, true);
    json_inline_object_begin(writer);
    json_member_string(writer, "c", NULL);
    json_key(writer, "d");
    json_array_begin(writer);
    json_write_uint(writer, UINT64_MAX);
    json_write_int(writer, INT64_MIN);
    json_array_end(writer);
    json_object_end(writer);
    json_array_end(writer);
    json_key(writer, "e");
    json_object_begin(writer);
    json_object_end(writer);
    json_member_bool(writer, "f", false);
    json_object_end(writer);
}

TEST(members_are_indented_and_inline_ones_stay_on_their_line)
{
    struct json_writer writer = writer_of(2);

    write_example(&writer);
    CHECK_STR(text.text, "{\n"
                         "  \"a\": -1,\n"
                         "  \"b\": [\n"
                         "    true,\n"
                         "    {\"c\": null, \"d\": [18446744073709551615, "
                         "-9223372036854775808]}\n"
                         "  ],\n"
                         "  \"e\": {},\n"
                         "  \"f\": false\n"
                         "}");
    str_release(&text);
}

TEST(without_indent_everything_is_on_one_line_without_spaces)
{
    struct json_writer writer = writer_of(0);

    write_example(&writer);
    CHECK_STR(text.text, "{\"a\":-1,\"b\":[true,{\"c\":null,\"d\":["
                         "18446744073709551615,-9223372036854775808]}],"
                         "\"e\":{},\"f\":false}");
    str_release(&text);
}

TEST(strings_are_escaped_and_bad_utf8_is_replaced)
{
    struct json_writer writer = writer_of(0);

    json_array_begin(&writer);
    json_write_string(&writer, "a\"b\\c\n\r\t\b\f\x01\x1f\x7f/");
    json_write_string(&writer, "\xc3\xa4 \xf0\x9f\x8d\x8e");
    json_write_string(&writer, "\xc3 \xed\xa0\x80 \xf0\x9f");
    json_write_string(&writer, "");
    json_array_end(&writer);
    CHECK_STR(text.text, "[\"a\\\"b\\\\c\\n\\r\\t\\b\\f\\u0001\\u001f\x7f/\","
                         "\"\xc3\xa4 \xf0\x9f\x8d\x8e\","
                         "\"\xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd "
                         "\xef\xbf\xbd\xef\xbf\xbd\",\"\"]");
    str_release(&text);
}

TEST(non_finite_numbers_are_null_and_rounding_keeps_plain_digits)
{
    struct json_writer writer = writer_of(0);

    json_array_begin(&writer);
    json_write_double(&writer, NAN);
    json_write_double(&writer, -INFINITY);
    json_write_double(&writer, 0.1);
    json_write_rounded(&writer, 1234567.0, 3);
    json_write_rounded(&writer, 0.0123456, 2);
    json_write_rounded(&writer, NAN, 2);
    json_array_end(&writer);
    CHECK_STR(text.text, "[null,null,0.1,1230000,0.012,null]");
    str_release(&text);
}

TEST(nesting_too_deep_fails_the_sink)
{
    struct json_writer writer = writer_of(2);

    for (int i = 0; i < JSON_MAX_WRITE_DEPTH - 1; i++)
        json_array_begin(&writer);
    CHECK_INT(sink_status(&sink, NULL), ASSAY_OK);
    for (int i = 0; i < 100; i++)
        json_array_begin(&writer);
    CHECK_INT(sink.failed_errno, EOVERFLOW);
    for (int i = 0; i < 300; i++)
        json_array_end(&writer);
    str_release(&text);
}
