/* Fields of comma-separated values: no spreadsheet runs them, and the
 * original text is read back. */
#include "base/csv_text.h"

#include "base/str.h"
#include "test.h"

static void check_field(const char *text, const char *field)
{
    struct str out = {0};
    struct sink sink = sink_to_str(&out);

    csv_text(&sink, text);
    CHECK_STR(str_text(&out), field);
    str_release(&out);
}

TEST(a_text_is_quoted_if_needed)
{
    check_field("layer1.0.conv1", "layer1.0.conv1");
    check_field("", "");
    check_field("a,b", "\"a,b\"");
    check_field("a \"b\" c", "\"a \"\"b\"\" c\"");
    check_field(" a", "\" a\"");
}

TEST(a_formula_gets_an_apostrophe)
{
    check_field("=HYPERLINK(1)", "\"'=HYPERLINK(1)\"");
    check_field("+1+cmd|'x'!A1", "\"'+1+cmd|'x'!A1\"");
    check_field("-2+3", "\"'-2+3\"");
    check_field("-", "\"'-\"");
    check_field("@SUM(1,2)", "\"'@SUM(1,2)\"");
    check_field("=\"a\"", "\"'=\"\"a\"\"\"");
    check_field("'=1", "\"''=1\"");
    check_field("a=1", "a=1");
    check_field("'tis", "'tis");
}

TEST(numbers_stay_numbers)
{
    check_field("-2", "-2");
    check_field("+0.5e-3", "+0.5e-3");
    check_field("-1.5", "-1.5");
}

/* As on the screen; spreadsheets would skip tabs and line ends. */
TEST(control_characters_come_out_as_text)
{
    check_field("\t=1", "?=1");
    check_field("\r=1", "?=1");
    check_field("a\nb", "a?b");
    check_field("\x1b[31mred\x1b[0m", "?[31mred?[0m");
    check_field("b\xff", "b?");
    check_field("\xc3\xa9t\xc3\xa9", "\xc3\xa9t\xc3\xa9");
}

TEST(the_original_text_is_read_back)
{
    CHECK_STR(csv_meant("'=1"), "=1");
    CHECK_STR(csv_meant("''=1"), "'=1");
    CHECK_STR(csv_meant("'-x"), "-x");
    CHECK_STR(csv_meant("'tis"), "'tis");
    CHECK_STR(csv_meant("=1"), "=1");
    CHECK_STR(csv_meant("'"), "'");
    CHECK_STR(csv_meant(""), "");
}
