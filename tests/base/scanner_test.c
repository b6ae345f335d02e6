/* Numbers and words of small texts. */
#include "base/scanner.h"

#include "test.h"

TEST(a_text_is_read_piece_by_piece)
{
    const char *at = "shard-12/0x \t3FfG";
    uint64_t n = 0;

    CHECK(!scan_number(&at, UINT64_MAX, &n));
    CHECK(scan_word(&at, "shard-"));
    CHECK(!scan_word(&at, "13"));
    CHECK(scan_number(&at, 12, &n));
    CHECK_INT(n, 12);
    CHECK(scan_word(&at, "/0x"));
    scan_blanks(&at);
    CHECK(scan_hex(&at, &n));
    CHECK_INT(n, 0x3ff);
    CHECK_STR(at, "G");
}

TEST(a_number_that_is_too_large_is_refused)
{
    const char *at = "18446744073709551615", *large = "18446744073709551616";
    const char *small = "13", *hex = "10000000000000000";
    uint64_t n = 7;

    CHECK(!scan_number(&large, UINT64_MAX, &n));
    CHECK(!scan_number(&small, 12, &n));
    CHECK(!scan_number(&small, 0, &n));
    CHECK(!scan_hex(&hex, &n));
    CHECK_INT(n, 7);
    CHECK_STR(small, "13");
    CHECK(scan_number(&at, UINT64_MAX, &n));
    CHECK(n == UINT64_MAX);
    CHECK_STR(at, "");
}

TEST(signs_and_blanks_are_not_digits)
{
    const char *minus = "-1", *plus = "+1", *blank = " 1";
    uint64_t n = 0;

    CHECK(!scan_number(&minus, UINT64_MAX, &n));
    CHECK(!scan_number(&plus, UINT64_MAX, &n));
    CHECK(!scan_number(&blank, UINT64_MAX, &n));
}

TEST(words_between_blanks_are_skipped)
{
    const char *at = " r-xp 00 x\n";

    scan_over(&at);
    scan_over(&at);
    CHECK_STR(at, " x\n");
    scan_over(&at);
    scan_over(&at);
    CHECK_STR(at, "\n");
}

TEST(a_field_must_match_its_whole_name)
{
    uint64_t kib = 0;

    CHECK(scan_field("MemFree:   123 kB\n", "MemFree", &kib));
    CHECK_INT(kib, 123);
    CHECK(!scan_field("MemFreeX: 1 kB\n", "MemFree", &kib));
    CHECK(!scan_field("MemFree: kB\n", "MemFree", &kib));
}
