/* What base/progress.h promises: one line that stays one line. */
#include "base/progress.h"
#include "test.h"

#include <string.h>

static struct str out;
static int64_t now_ns;

static int64_t read_now(void *context)
{
    (void)context;
    return now_ns;
}

static struct progress start(struct sink *sink, bool is_terminal,
                             const char *unit, uint64_t total)
{
    struct term term = {
        .is_terminal = is_terminal, .has_utf8 = true, .width = 80};

    str_clear(&out);
    *sink = sink_to_str(&out);
    now_ns = 5000000000;
    return progress_start(sink, &term, (struct clock){.now_ns = read_now},
                          "importing", unit, total);
}

TEST(half_of_two_gigabytes_after_two_seconds)
{
    struct sink sink;
    struct progress progress = start(&sink, true, "bytes", 2000000000);

    now_ns += 2000000000;
    progress_update(&progress, 1000000000);
    CHECK_STR(str_text(&out),
              "\rimporting ███████▌         50 %  1.0 of 2.0 GB  500 MB/s"
              "  2 s left             ");
    CHECK_INT(text_columns(str_text(&out) + 1), 79);
}

TEST(other_units_are_counted_with_their_noun)
{
    struct sink sink;
    struct progress progress = start(&sink, true, "photos", 400);

    now_ns += 1000000000;
    progress_update(&progress, 100);
    CHECK_HAS(str_text(&out), " 25 %  100 of 400 photos  100/s  3 s left");
}

TEST(an_unknown_total_has_no_bar_and_no_time_left)
{
    struct sink sink;
    struct progress progress = start(&sink, true, "bytes", 0);

    now_ns += 1000000000;
    progress_update(&progress, 30000000);
    CHECK_HAS(str_text(&out), "\rimporting  30.0 MB  30.0 MB/s   ");
    CHECK(strstr(str_text(&out), "%") == NULL);
    CHECK(strstr(str_text(&out), "left") == NULL);
}

TEST(the_line_is_drawn_at_most_ten_times_per_second)
{
    struct sink sink;
    struct progress progress = start(&sink, true, "bytes", 100);
    size_t length;

    progress_update(&progress, 1);
    now_ns += 99999999;
    progress_update(&progress, 2);
    CHECK_STR(str_text(&out), "");
    now_ns += 1;
    progress_update(&progress, 3);
    length = out.n;
    CHECK(length > 0);
    now_ns += 99999999;
    progress_update(&progress, 4);
    CHECK_INT(out.n, length);
}

TEST(only_a_terminal_gets_the_line)
{
    struct sink sink;
    struct progress progress = start(&sink, false, "bytes", 100);

    now_ns += 1000000000;
    progress_update(&progress, 50);
    progress_finish(&progress);
    CHECK_STR(str_text(&out), "");
}

TEST(finishing_clears_the_line)
{
    struct sink sink;
    struct progress progress = start(&sink, true, "bytes", 100);

    progress_finish(&progress);
    CHECK_STR(str_text(&out), "");
    now_ns += 1000000000;
    progress_update(&progress, 50);
    str_clear(&out);
    progress_finish(&progress);
    CHECK_INT(out.n, 81);
    CHECK(out.text[0] == '\r' && out.text[80] == '\r');
    CHECK_INT(strspn(out.text + 1, " "), 79);
}

TEST(progress_stops_at_the_total)
{
    struct sink sink;
    struct progress progress = start(&sink, true, "bytes", 100);

    now_ns += 1000000000;
    progress_update(&progress, 150);
    CHECK_HAS(str_text(&out), "100 %  100 of 100 B");
}
