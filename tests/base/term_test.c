/* What base/term.h promises: what a screen can show, and text that fits. */
#include "base/term.h"
#include "test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static struct str out;

static const char *fitted(bool has_utf8, const char *text, size_t columns,
                          enum text_align align)
{
    struct term term = {.has_utf8 = has_utf8, .width = 80};
    struct sink sink = sink_to_str(&out);

    str_clear(&out);
    text_fit(&sink, &term, text, columns, align);
    return str_text(&out);
}

static const char *bar(bool has_utf8, double share, size_t columns)
{
    struct term term = {.has_utf8 = has_utf8, .width = 80};
    struct sink sink = sink_to_str(&out);

    str_clear(&out);
    text_bar(&sink, &term, share, columns);
    return str_text(&out);
}

static void set_environment(const char *lang, const char *term,
                            const char *no_color, const char *columns)
{
    unsetenv("LC_ALL");
    unsetenv("LC_CTYPE");
    setenv("LANG", lang, 1);
    setenv("TERM", term, 1);
    setenv("NO_COLOR", no_color, 1);
    setenv("COLUMNS", columns, 1);
}

/* The terminal side of a pseudo-terminal with 72 columns. */
static FILE *open_terminal(int *master)
{
    struct winsize size = {.ws_row = 24, .ws_col = 72};
    char name[128];
    int fd;

    *master = posix_openpt(O_RDWR | O_NOCTTY);
    if (*master < 0 || grantpt(*master) || unlockpt(*master) ||
        ptsname_r(*master, name, sizeof name))
        SKIP("term: no pseudo-terminal can be had here");
    fd = open(name, O_RDWR | O_NOCTTY);
    CHECK(fd >= 0);
    CHECK_INT(ioctl(fd, TIOCSWINSZ, &size), 0);
    return fdopen(fd, "w");
}

TEST(a_terminal_reports_its_width_and_may_have_colour)
{
    int master;
    FILE *stream = open_terminal(&master);
    struct term term;

    set_environment("C.UTF-8", "xterm", "", "");
    term = term_of(stream);
    CHECK(term.is_terminal && term.has_colour && term.has_utf8);
    CHECK_INT(term.width, 72);
    CHECK_STR(term_style(&term, STYLE_RED), "\x1b[31m");
    setenv("NO_COLOR", "1", 1);
    term = term_of(stream);
    CHECK(term.is_terminal && !term.has_colour);
    CHECK_STR(term_style(&term, STYLE_RED), "");
    set_environment("C.UTF-8", "dumb", "", "120");
    term = term_of(stream);
    CHECK(!term.has_colour);
    CHECK_INT(term.width, 120);
    fclose(stream);
    close(master);
}

TEST(a_file_gets_a_hundred_columns_and_no_colour)
{
    FILE *file = tmpfile();
    struct term term;

    CHECK(file != NULL);
    set_environment("C", "xterm", "", "0");
    term = term_of(file);
    CHECK(!term.is_terminal && !term.has_colour);
    CHECK_INT(term.width, 100);
    setenv("COLUMNS", "nonsense", 1);
    CHECK_INT(term_of(file).width, 100);
    fclose(file);
}

TEST(the_first_locale_variable_set_decides_about_utf8)
{
    set_environment("de_DE.utf8", "xterm", "", "");
    CHECK(term_of(stdout).has_utf8);
    setenv("LC_CTYPE", "C", 1);
    CHECK(!term_of(stdout).has_utf8);
    setenv("LC_ALL", "en_US.UTF-8", 1);
    CHECK(term_of(stdout).has_utf8);
    setenv("LC_ALL", "", 1);
    CHECK(!term_of(stdout).has_utf8);
}

TEST(columns_are_screen_columns_not_bytes)
{
    CHECK_INT(text_columns(""), 0);
    CHECK_INT(text_columns("conv1"), 5);
    CHECK_INT(text_columns("größe"), 5);
    CHECK_INT(text_columns("層層"), 4);
    CHECK_INT(text_columns("e\xcc\x81t\xc3\xa9"), 3); /* e + combining acute */
    CHECK_INT(text_columns("\xff\x1b[2J"), 5);
    CHECK_INT(text_columns("🦊"), 2);
}

TEST(text_is_padded_on_the_side_asked_for)
{
    CHECK_STR(fitted(true, "rpn", 6, ALIGN_LEFT), "rpn   ");
    CHECK_STR(fitted(true, "rpn", 6, ALIGN_RIGHT), "   rpn");
    CHECK_STR(fitted(true, "rpn", 3, ALIGN_LEFT), "rpn");
    CHECK_STR(fitted(true, "", 2, ALIGN_LEFT), "  ");
}

TEST(long_text_loses_its_middle)
{
    CHECK_STR(fitted(true, "abcdefghij", 7, ALIGN_LEFT), "abc…hij");
    CHECK_STR(fitted(true, "abcdefghij", 6, ALIGN_LEFT), "abc…ij");
    CHECK_STR(fitted(false, "abcdefghij", 6, ALIGN_LEFT), "abc~ij");
    CHECK_STR(fitted(true, "abcdefghij", 1, ALIGN_LEFT), "…");
    CHECK_STR(fitted(true, "abcdefghij", 0, ALIGN_LEFT), "");
}

TEST(half_a_wide_character_is_never_shown)
{
    CHECK_STR(fitted(true, "層層層層", 6, ALIGN_LEFT), "層…層 ");
    CHECK_STR(fitted(true, "層層層層", 6, ALIGN_RIGHT), " 層…層");
    CHECK_STR(fitted(true, "層層層層", 8, ALIGN_LEFT), "層層層層");
}

TEST(without_utf8_the_columns_stay_the_same)
{
    CHECK_STR(fitted(false, "größe", 6, ALIGN_LEFT), "gr??e ");
    CHECK_STR(fitted(false, "層x", 4, ALIGN_LEFT), "??x ");
}

TEST(a_name_cannot_move_the_cursor_or_change_direction)
{
    CHECK_STR(fitted(true, "a\x1b[2Jb\nc\r\td", 11, ALIGN_LEFT), "a?[2Jb?c??d");
    CHECK_STR(fitted(true,
                     "\xe2\x80\xae"
                     "abc",
                     5, ALIGN_LEFT),
              "?abc ");
    CHECK_STR(fitted(true,
                     "\xc2\x9b"
                     "31m",
                     5, ALIGN_LEFT),
              "?31m ");
}

TEST(broken_utf8_comes_out_as_question_marks)
{
    CHECK_STR(fitted(true, "\xff\xfe", 3, ALIGN_LEFT), "?? ");
    CHECK_STR(fitted(true, "a\xe5\xb1", 4, ALIGN_LEFT), "a?? ");
    CHECK_STR(fitted(true, "\xc0\xaf", 2, ALIGN_LEFT), "??"); /* too long */
    CHECK_STR(fitted(true, "\xed\xa0\x80", 3, ALIGN_LEFT),
              "???"); /* half pair */
    CHECK_STR(fitted(true, "\xf5\x80\x80\x80", 4, ALIGN_LEFT), "????");
}

TEST(ten_thousand_characters_take_the_columns_asked_for)
{
    static char name[10001];

    memset(name, 'x', sizeof name - 1);
    CHECK_INT(text_columns(fitted(true, name, 30, ALIGN_LEFT)), 30);
}

TEST(a_bar_is_drawn_in_eighths)
{
    CHECK_STR(bar(true, 0.5, 4), "██  ");
    CHECK_STR(bar(true, 0.53125, 4), "██▏ ");
    CHECK_STR(bar(true, 1, 3), "███");
    CHECK_STR(bar(true, 0, 3), "   ");
    CHECK_STR(bar(false, 0.5, 4), "##  ");
}

TEST(a_bar_shows_a_small_share_and_never_overflows)
{
    CHECK_STR(bar(true, 0.0001, 3), "▏  ");
    CHECK_STR(bar(true, 7.5, 3), "███");
    CHECK_STR(bar(true, -1, 3), "   ");
    CHECK_STR(bar(true, 0.0 / 0.0, 3), "   ");
    CHECK_STR(bar(false, 7.5, 3), "###");
}

TEST(a_sparkline_scales_to_its_largest_value)
{
    static const double values[] = {0, 1, 4, 8};
    struct term term = term_plain(80);
    struct sink sink = sink_to_str(&out);

    str_clear(&out);
    text_sparkline(&sink, &term, values, 4);
    CHECK_STR(str_text(&out), " ▁▄█");
    str_clear(&out);
    term.has_utf8 = false;
    text_sparkline(&sink, &term, values, 4);
    CHECK_STR(str_text(&out), "");
}
