/* How scopes of A and B are matched, as run/compare.h promises. */
#include "base/mem.h"
#include "base/str.h"
#include "run/compare.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

/* A run with the scopes of a text: one per line, two spaces per level, the
 * class after a colon. */
static struct run *run_of(const char *text)
{
    uint32_t parents[16] = {RUN_ROOT};
    struct run *run;

    CHECK_INT(run_new(&run, NULL), ASSAY_OK);
    while (*text) {
        size_t spaces = strspn(text, " "), n = strcspn(text, "\n");
        size_t name = strcspn(text, ":\n");
        char line[64], *class_name;

        snprintf(line, sizeof line, "%.*s", (int)(n - spaces), text + spaces);
        class_name = name < n ? line + (name - spaces) + 1 : NULL;
        line[name - spaces] = '\0';
        CHECK_INT(run_scope_add(run, parents[spaces / 2], line, class_name,
                                &parents[spaces / 2 + 1], NULL),
                  ASSAY_OK);
        text += n + (text[n] == '\n');
    }
    CHECK_INT(run_seal(run, NULL), ASSAY_OK);
    return run;
}

/* The rows as a text: "= name", "+ name", "- name", "~ old>new". */
static void describe(const struct comparison *comparison, const struct run *a,
                     struct str *text)
{
    for (size_t i = 1; i < compare_row_count(comparison); i++) {
        const struct compare_row *row = compare_row(comparison, i);

        CHECK_INT(row->depth, compare_row(comparison, row->parent)->depth + 1);
        CHECK(row->parent < i);
        CHECK_INT(str_printf(text, "%*s%c %s%s%s\n", (int)row->depth - 1, "",
                             "=+-~"[row->match],
                             row -> match == MATCH_RENAMED
                             ? run_scope(a, row->a) -> name
                             : "",
                             row->match == MATCH_RENAMED ? ">" : "",
                             compare_row_scope(comparison, i)->name),
                  ASSAY_OK);
    }
}

static void check_rows(const char *a, const char *b, const char *want)
{
    const struct run *runs[] = {run_of(a), run_of(b)};
    struct comparison *comparison;
    struct str got = {0};

    CHECK_INT(compare_new(&(struct compare_side){&runs[0], 1},
                          &(struct compare_side){&runs[1], 1}, NULL,
                          &comparison, NULL),
              ASSAY_OK);
    describe(comparison, runs[0], &got);
    CHECK_STR(str_text(&got), want);
    str_release(&got);
    compare_free(comparison);
    run_free((struct run *)runs[0]);
    run_free((struct run *)runs[1]);
}

TEST(the_same_tree_matches_scope_by_scope)
{
    check_rows("a\n  b\n  c\nd", "a\n  b\n  c\nd", "= a\n = b\n = c\n= d\n");
}

TEST(scopes_match_in_whatever_order_they_were_first_seen)
{
    check_rows("a\nb\nc", "c\na\nb", "= c\n= a\n= b\n");
}

TEST(a_scope_of_one_side_is_added_or_removed_with_all_below_it)
{
    check_rows("a:X\n  b\nc", "a:X\n  b\nc\nd:Y\n  e",
               "= a\n = b\n= c\n+ d\n + e\n");
    check_rows("a\nd:Y\n  e\n  f\nc", "a\nc", "= a\n- d\n - e\n - f\n= c\n");
}

TEST(a_scope_in_the_same_place_under_another_name_is_renamed)
{
    check_rows("a\nold:Conv\nc", "a\nnew:Conv\nc", "= a\n~ old>new\n= c\n");
    check_rows("body:M\n  x:Conv\n  y:Conv", "trunk:M\n  x:Conv\n  y:Conv",
               "~ body>trunk\n = x\n = y\n");
}

TEST(another_class_is_another_scope)
{
    check_rows("a\nx:Conv\nc", "a\nx:Linear\nc", "= a\n- x\n+ x\n= c\n");
    check_rows("a\nold:Conv\nc", "a\nnew:Linear\nc",
               "= a\n- old\n+ new\n= c\n");
}

TEST(renaming_does_not_cross_a_matched_neighbour)
{
    check_rows("old:Conv\na", "a\nnew:Conv", "- old\n= a\n+ new\n");
}

TEST(a_scope_with_other_contents_is_not_renamed)
{
    check_rows("old:M\n  x:Conv\n  y:Conv", "new:M\n  p:Pool\n  q:Pool",
               "- old\n - x\n - y\n+ new\n + p\n + q\n");
    check_rows("old:M\n  x:Conv", "new:M", "- old\n - x\n+ new\n");
}

TEST(renamed_scopes_keep_their_order_around_an_added_one)
{
    check_rows("a1:Conv\na2:Pool", "b0:Norm\nb1:Conv\nb2:Pool",
               "+ b0\n~ a1>b1\n~ a2>b2\n");
}

TEST(the_roots_match_whatever_their_names)
{
    const struct run *runs[] = {run_of("a"), run_of("a")};
    struct comparison *comparison;

    CHECK_INT(run_name_root((struct run *)runs[1], "Model", "M", NULL),
              ASSAY_OK);
    CHECK_INT(compare_new(&(struct compare_side){&runs[0], 1},
                          &(struct compare_side){&runs[1], 1}, NULL,
                          &comparison, NULL),
              ASSAY_OK);
    CHECK_INT(compare_row(comparison, 0)->match, MATCH_BOTH);
    CHECK_STR(compare_row_scope(comparison, 0)->name, "Model");
    compare_free(comparison);
    run_free((struct run *)runs[0]);
    run_free((struct run *)runs[1]);
}

/* 10 000 scopes side by side and 4000 below each other: neither the depth nor
 * the breadth costs more than it should. */
TEST(broad_and_deep_trees_are_aligned)
{
    struct run *runs[2];
    struct comparison *comparison;
    const struct run *sides[2];

    for (int side = 0; side < 2; side++) {
        uint32_t id, parent = RUN_ROOT;
        char name[32];

        CHECK_INT(run_new(&runs[side], NULL), ASSAY_OK);
        for (int i = 0; i < 10000; i++) {
            snprintf(name, sizeof name, "%c%d", side ? 'b' : 'a', i);
            CHECK_INT(
                run_scope_add(runs[side], RUN_ROOT, name, "Op", &id, NULL),
                ASSAY_OK);
        }
        for (int i = 0; i < RUN_MAX_DEPTH - 1; i++)
            CHECK_INT(
                run_scope_add(runs[side], parent, "deep", NULL, &parent, NULL),
                ASSAY_OK);
        CHECK_INT(run_seal(runs[side], NULL), ASSAY_OK);
        sides[side] = runs[side];
    }
    CHECK_INT(compare_new(&(struct compare_side){&sides[0], 1},
                          &(struct compare_side){&sides[1], 1}, NULL,
                          &comparison, NULL),
              ASSAY_OK);
    CHECK_INT(compare_row_count(comparison), 10000 + RUN_MAX_DEPTH);
    CHECK_INT(compare_row(comparison, 10000)->match, MATCH_RENAMED);
    CHECK_INT(compare_row(comparison, 10000 + RUN_MAX_DEPTH - 1)->match,
              MATCH_BOTH);
    compare_free(comparison);
    run_free(runs[0]);
    run_free(runs[1]);
}
