/* What base/toml.h promises. */
#include "base/mem.h"
#include "base/str.h"
#include "base/toml.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct toml *read(const char *text)
{
    struct error err = {0};
    struct toml *toml;

    CHECK_STATUS(toml_read_text(text, strlen(text), "config.toml", &toml, &err),
                 ASSAY_OK, &err);
    return toml;
}

static void check_refuses(const char *text, const char *message)
{
    struct error err = {0};
    struct toml *toml;

    CHECK_STATUS(toml_read_text(text, strlen(text), "t", &toml, &err),
                 ASSAY_BAD_INPUT, &err);
    CHECK(toml == NULL);
    CHECK_STR(err.text, message);
}

/* One value, read under the key v. */
static struct toml_value scalar(const char *text)
{
    static struct str document;
    struct toml_value value;
    struct toml *toml;

    str_clear(&document);
    CHECK_INT(str_printf(&document, "v = %s", text), ASSAY_OK);
    toml = read(document.text);
    value = *toml_find(toml_root(toml), "v");
    toml_free(toml);
    str_release(&document);
    return value;
}

static void check_string(const char *text, const char *want)
{
    struct str document = {0};
    struct toml *toml;

    CHECK_INT(str_printf(&document, "v = %s", text), ASSAY_OK);
    toml = read(document.text);
    CHECK_STR(toml_find(toml_root(toml), "v")->string.text, want);
    toml_free(toml);
    str_release(&document);
}

TEST(numbers_of_every_notation_are_read)
{
    CHECK_INT(scalar("1_000").integer, 1000);
    CHECK_INT(scalar("-17").integer, -17);
    CHECK_INT(scalar("+0").integer, 0);
    CHECK_INT(scalar("0xDEAD_beef").integer, 0xdeadbeef);
    CHECK_INT(scalar("0o755").integer, 0755);
    CHECK_INT(scalar("0b1101").integer, 13);
    CHECK_INT(scalar("-9223372036854775808").integer, INT64_MIN);
    CHECK_INT(scalar("0x7fffffffffffffff").integer, INT64_MAX);
    CHECK(scalar("3.141_5").real == 3.1415);
    CHECK(scalar("-1e+2").real == -100);
    CHECK(scalar("6.626e-34").real == 6.626e-34);
    CHECK(scalar("-inf").real == -INFINITY);
    CHECK(isnan(scalar("+nan").real));
    CHECK_INT(scalar("1e5").kind, TOML_FLOAT);
    CHECK_INT(scalar("true").boolean, true);
}

TEST(malformed_numbers_are_refused)
{
    static const char *const texts[] = {
        "01", "1_",  "_1",  "1__0", "1.",   ".5",  "1.e5", "1e",   "+0x1",
        "0x", "0xg", "0b2", "1._5", "1_.5", "tru", "infx", "1e1_", "--1"};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct error err = {0};
        struct toml *toml;
        char text[64];

        snprintf(text, sizeof text, "v = %s", texts[i]);
        if (toml_read_text(text, strlen(text), "t", &toml, &err) !=
            ASSAY_BAD_INPUT)
            fail_msg("%s is taken for a value", texts[i]);
    }
    check_refuses("v = 9223372036854775808",
                  "t: line 1, column 5: the integer does not fit in 64 bits");
    check_refuses("v = 0x8000000000000000",
                  "t: line 1, column 5: the integer does not fit in 64 bits");
}

TEST(strings_of_all_four_kinds_are_read)
{
    check_string("\"a\\tb\\\"\\\\\\u00e4\\U0001F34E\"",
                 "a\tb\"\\\xc3\xa4\xf0\x9f\x8d\x8e");
    check_string("'C:\\new\"'", "C:\\new\"");
    check_string("\"\"\"\nx\n  y\\\n   \n  z\"\"\"", "x\n  yz");
    check_string("\"\"\"a\"\"b\"\"\"\"\"", "a\"\"b\"\"");
    check_string("'''\r\n\\n'\r\nq'''''", "\\n'\nq''");
    check_string("\"\"", "");
    check_string("''''''", "");
}

TEST(dates_and_times_are_read)
{
    struct toml_value value = scalar("1979-05-27 00:32:00.999999-07:30 # x");

    CHECK_INT(value.kind, TOML_OFFSET_DATETIME);
    CHECK_INT(value.time.year, 1979);
    CHECK_INT(value.time.month, 5);
    CHECK_INT(value.time.day, 27);
    CHECK_INT(value.time.hour, 0);
    CHECK_INT(value.time.minute, 32);
    CHECK_INT(value.time.nanosecond, 999999000);
    CHECK_INT(value.time.offset_minutes, -450);
    CHECK_INT(scalar("2024-02-29").kind, TOML_LOCAL_DATE);
    CHECK_INT(scalar("2024-02-29t23:59:60").kind, TOML_LOCAL_DATETIME);
    CHECK_INT(scalar("07:32:00.1234567899").time.nanosecond, 123456789);
    check_refuses("v = 2023-02-29",
                  "t: line 1, column 5: no such date or time");
    check_refuses("v = 1900-02-29T00:00:00Z",
                  "t: line 1, column 5: no such date or time");
    check_refuses("v = 24:00:00", "t: line 1, column 5: no such date or time");
}

TEST(tables_keep_file_order_and_places)
{
    struct toml *toml = read("# budgets\n"
                             "z.b = 1\n"
                             "z.a = [1, [2,\n"
                             "  # inside\n"
                             "  3,], { x.y = 4, q = [] }]\n"
                             "\n"
                             " [ t . \"u v\" ]\n"
                             "[[list]]\n"
                             "[list.sub]\n"
                             "n = 1\n"
                             "[[list]]\n");
    const struct toml_value *root = toml_root(toml), *z = root->items.first;
    const struct toml_value *a = z->items.first->next, *list, *deep;

    CHECK_STR(z->key.text, "z");
    CHECK_STR(z->items.first->key.text, "b");
    CHECK_INT(a->key_place.line, 3);
    CHECK_INT(a->key_place.column, 3);
    CHECK_INT(a->place.column, 7);
    CHECK_INT(a->items.n, 3);
    CHECK_INT(a->items.first->next->items.last->place.line, 5);
    deep = toml_find(a->items.last, "x");
    CHECK_INT(toml_find(deep, "y")->integer, 4);
    deep = toml_find(toml_find(root, "t"), "u v");
    CHECK_INT(deep->kind, TOML_TABLE);
    CHECK_INT(deep->key_place.line, 7);
    list = toml_find(root, "list");
    CHECK_INT(list->items.n, 2);
    CHECK(toml_find(list->items.first, "sub") != NULL);
    CHECK(toml_find(list->items.last, "sub") == NULL);
    CHECK(list->next == NULL);
    toml_free(toml);
}

TEST(a_second_definition_names_the_line_of_the_first)
{
    check_refuses("a = 1\nb = 2\na = 3",
                  "t: line 3, column 1: a is already defined, in line 1");
    check_refuses("[a]\n[a]",
                  "t: line 2, column 2: a is already defined, in line 1");
    check_refuses("a = {}\n[a.b]",
                  "t: line 2, column 2: a is already defined, in line 1");
    check_refuses("[a.b]\n[a]\nb.c = 1",
                  "t: line 3, column 1: b is already defined, in line 1");
    check_refuses("a = []\n[[a]]",
                  "t: line 2, column 3: a is already defined, in line 1");
    check_refuses("[x]\na.b = 1\n[x.a]",
                  "t: line 3, column 4: a is already defined, in line 2");
}

TEST(mistakes_are_reported_with_line_and_column)
{
    check_refuses("a = ",
                  "t: line 1, column 5: the file ends where a value should be");
    check_refuses("a = ,", "t: line 1, column 5: expected a value");
    check_refuses("a", "t: line 1, column 2: expected = after the key");
    check_refuses("= 1", "t: line 1, column 1: expected a key");
    check_refuses("a = 1 b = 2",
                  "t: line 1, column 7: expected the end of the line");
    check_refuses("\n[a", "t: line 2, column 3: expected ]");
    check_refuses("[[a] ]", "t: line 1, column 4: expected ]]");
    check_refuses("a = [1 2]", "t: line 1, column 8: expected a comma or ]");
    check_refuses("a = [1,\n",
                  "t: line 2, column 1: the file ends where a value should be");
    check_refuses("a = [1\n",
                  "t: line 2, column 1: the file ends in the middle of an "
                  "array");
    check_refuses("a = {b = 1,}", "t: line 1, column 12: expected a key");
    check_refuses("a = {b = 1\n}",
                  "t: line 1, column 11: expected a comma or }");
    check_refuses("a = \"x\ny\"",
                  "t: line 1, column 7: the string does not end on its line");
    check_refuses("a = \"\"\"x\ny",
                  "t: line 2, column 2: the file ends in the middle of a "
                  "string");
    check_refuses("a = \"\\e\"", "t: line 1, column 6: unknown escape");
    check_refuses("a = \"\\ud800\"",
                  "t: line 1, column 8: there is no such Unicode character");
    check_refuses("a = 1\n\n# \xff", "t: line 3, column 3: the text is not "
                                     "UTF-8");
    check_refuses("a = 1\rb = 2",
                  "t: line 1, column 6: expected the end of the line");
}

TEST(nesting_stops_at_its_limit_however_it_is_written)
{
    struct str text = {0};

    CHECK_INT(str_append(&text, "a = "), ASSAY_OK);
    for (int i = 0; i < 1000000; i++)
        CHECK_INT(str_append_char(&text, '['), ASSAY_OK);
    check_refuses(text.text, "t: line 1, column 133: nested too deeply");
    str_clear(&text);
    for (int i = 0; i < 100000; i++)
        CHECK_INT(str_append(&text, "a."), ASSAY_OK);
    CHECK_INT(str_append(&text, "a = 1"), ASSAY_OK);
    check_refuses(text.text, "t: line 1, column 259: nested too deeply");
    str_release(&text);
}

TEST(a_hundred_thousand_keys_are_read_quickly)
{
    struct str text = {0};
    struct toml *toml;

    for (int i = 0; i < 100000; i++)
        CHECK_INT(str_printf(&text, "key-%d = %d\n", i, i), ASSAY_OK);
    toml = read(text.text);
    CHECK_INT(toml_root(toml)->items.n, 100000);
    CHECK_INT(toml_root(toml)->items.last->integer, 99999);
    toml_free(toml);
    str_release(&text);
}

TEST(a_missing_key_leaves_the_value_alone)
{
    struct toml *toml = read("n = 7\n[t]\n");
    const struct toml_value *root = toml_root(toml), *table = NULL;

    CHECK_INT(toml_get(root, "none", TOML_TABLE, &table, NULL), ASSAY_OK);
    CHECK(table == NULL);
    CHECK_INT(toml_get(root, "t", TOML_TABLE, &table, NULL), ASSAY_OK);
    CHECK(table == toml_find(root, "t"));
    toml_free(toml);
}

TEST(a_value_of_another_kind_is_named_with_its_line)
{
    struct toml *toml = read("\n\nbatch_size = '16'\n");
    const struct toml_value *value = NULL;
    struct error err = {0};

    CHECK_INT(
        toml_get(toml_root(toml), "batch_size", TOML_INTEGER, &value, &err),
        ASSAY_BAD_INPUT);
    CHECK_STR(
        err.text,
        "config.toml: line 3: batch_size must be an integer, not a string");
    toml_free(toml);
}

TEST(an_unknown_key_is_named_with_its_line)
{
    static const char *const known[] = {"batch_size", "seed"};
    struct toml *toml = read("seed = 1\n\nbach_size = 16\n");
    struct error err = {0};

    CHECK_INT(toml_check_keys(toml_root(toml), known, 2, &err),
              ASSAY_BAD_INPUT);
    CHECK_STR(err.text, "config.toml: line 3: unknown key bach_size");
    CHECK_INT(toml_check_keys(toml_root(toml), known, 0, NULL),
              ASSAY_BAD_INPUT);
    toml_free(toml);
}

TEST(a_missing_file_is_named)
{
    struct error err = {0};
    struct toml *toml;

    CHECK_INT(toml_read_file("/no/such.toml", &toml, &err), ASSAY_NOT_FOUND);
    CHECK_HAS(err.text, "/no/such.toml");
    CHECK(toml == NULL);
}

TEST(a_document_leaks_nothing_whichever_allocation_fails)
{
    static const char text[] = "a.b = [1, {c = \"x\\n\"}, 2.5]\n[t]\n[[u.v]]\n";
    long before = mem_live(), nth = 0;
    enum assay_status st;

    do {
        struct toml *toml;
        struct error err = {0};

        mem_fail_at(nth++);
        st = toml_read_text(text, strlen(text), "t", &toml, &err);
        mem_fail_at(-1);
        if (st)
            CHECK_INT(st, ASSAY_NOMEM);
        toml_free(toml);
        CHECK_INT(mem_live(), before);
    } while (st == ASSAY_NOMEM);
    CHECK_INT(st, ASSAY_OK);
    CHECK(nth > 5);
}
