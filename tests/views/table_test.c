/* The tables: on the screen, plain, CSV, Markdown. */
#include "made_runs.h"
#include "test.h"

#include <string.h>

static void check_table(run_view *view, const struct view_options *options,
                        const char *golden)
{
    struct run *run = made_detector();
    struct str text = view_text(view, run, options);

    check_golden(golden, &text);
    str_release(&text);
    run_free(run);
}

TEST(a_table_has_the_largest_self_time_first)
{
    struct view_options options = view_defaults(term_plain(80));

    check_table(view_table, &options, "table-80.txt");
}

TEST(a_wide_table_has_every_column)
{
    struct view_options options = view_defaults(term_plain(200));

    check_table(view_table, &options, "table-200.txt");
}

TEST(rows_can_be_sorted_and_limited)
{
    struct view_options options = view_defaults(term_plain(80));

    options.sort = SORT_TOTAL;
    options.limit = 3;
    check_table(view_table, &options, "table-total-3.txt");
}

TEST(rows_of_a_class_are_summed)
{
    struct view_options options = view_defaults(term_plain(80));

    options.group = GROUP_CLASS;
    check_table(view_table, &options, "table-class.txt");
}

TEST(a_scope_inside_one_of_its_own_name_is_counted_once)
{
    struct view_options options = view_defaults(term_plain(80));
    struct run *run;
    struct str text;
    uint32_t thread, outer, inner;

    options.group = GROUP_NAME;
    CHECK_INT(run_new(&run, NULL), ASSAY_OK);
    CHECK_INT(run_thread_add(run, "main", THREAD_CPU, &thread, NULL), ASSAY_OK);
    outer = made_scope(run, RUN_ROOT, "walk", "");
    inner = made_scope(run, outer, "walk", "");
    made_call(run, inner, thread, 0, 30, 30);
    made_call(run, outer, thread, 0, 40, 10);
    made_call(run, RUN_ROOT, thread, 0, 50, 10);
    CHECK_INT(run_seal(run, NULL), ASSAY_OK);
    text = view_text(view_table, run, &options);
    /* name, 2 calls, total 40 (not 70), self 40, share 80 %, per call 20 */
    CHECK_HAS(str_text(&text),
              "walk               2      40.0      40.0   80 %     20.0");
    str_release(&text);
    run_free(run);
}

TEST(rows_of_unknown_memory_come_last)
{
    struct view_options options = view_defaults(term_plain(80));
    struct sample sample = {
        .iteration = RUN_NONE, .duration_ns = 1000000, .self_ns = 1000000};
    struct run *run;
    struct str text;
    uint32_t thread;

    options.sort = SORT_BYTES;
    CHECK_INT(run_new(&run, NULL), ASSAY_OK);
    CHECK_INT(run_thread_add(run, "main", THREAD_CPU, &thread, NULL), ASSAY_OK);
    made_call(run, made_scope(run, RUN_ROOT, "unknown", ""), thread, RUN_NONE,
              9, 9);
    for (int64_t i = 1; i <= 2; i++) {
        sample.scope = made_scope(run, RUN_ROOT, i == 1 ? "less" : "more", "");
        sample.bytes = sample.peak_bytes = i * 1048576;
        CHECK_INT(run_count(run, &sample, NULL), ASSAY_OK);
    }
    CHECK_INT(run_seal(run, NULL), ASSAY_OK);
    text = view_text(view_table, run, &options);
    CHECK_HAS(str_text(&text), "   2.0 MiB\nless");
    CHECK_HAS(str_text(&text), "   1.0 MiB\nunknown");
    CHECK_HAS(str_text(&text), "         -\n");
    str_release(&text);
    run_free(run);
}

TEST(the_plain_table_has_the_layout_for_other_programs)
{
    struct view_options options = view_defaults(term_plain(80));

    check_table(view_table_plain, &options, "table-plain.txt");
}

TEST(csv_has_a_field_for_every_number)
{
    struct view_options options = view_defaults(term_plain(80));

    options.sort = SORT_ORDER;
    check_table(view_csv, &options, "table.csv");
}

TEST(csv_quotes_characters_that_would_end_a_field)
{
    struct view_options options = view_defaults(term_plain(80));
    struct run *run = made_with_name("a \"b\", c\nd", "x,y");
    struct str text;

    options.sort = SORT_ORDER;
    text = view_text(view_csv, run, &options);
    CHECK_HAS(str_text(&text), "\r\n\"a \"\"b\"\", c?d\",\"a \"\"b\"\", c?d\","
                               "\"x,y\",1,1,1,1,1,");
    str_release(&text);
    run_free(run);
}

TEST(markdown_is_a_table)
{
    struct view_options options = view_defaults(term_plain(80));

    options.limit = 4;
    check_table(view_markdown, &options, "table.md");
}

TEST(markdown_shows_names_as_they_are)
{
    struct view_options options = view_defaults(term_plain(80));
    struct run *run = made_with_name("a|b`c`<script>&amp;*d*_e_[f](g)\n|", "");
    struct str text = view_text(view_markdown, run, &options);

    CHECK_HAS(
        str_text(&text),
        "| a\\|b\\`c\\`&lt;script\\>&amp;amp;\\*d\\*\\_e\\_\\[f\\](g)?\\| "
        "| 1 |");
    str_release(&text);
    run_free(run);
}

TEST(twenty_rows_are_listed_by_default)
{
    struct view_options options = view_defaults(term_plain(80));
    struct run *run = made_chain(30);
    struct str text = view_text(view_table, run, &options);

    CHECK_HAS(str_text(&text), "hidden   11 more (--limit, --all)\n");
    str_release(&text);
    options.all = true;
    text = view_text(view_table, run, &options);
    CHECK(strstr(str_text(&text), "hidden") == NULL);
    str_release(&text);
    run_free(run);
}
