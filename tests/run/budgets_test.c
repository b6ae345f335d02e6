/* What run/compare.h and docs/compare.md promise about files of budgets. */
#include "base/mem.h"
#include "run/compare.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *written(const char *text)
{
    const char *path = test_path("budgets.toml");
    FILE *file = fopen(path, "w");

    CHECK(file != NULL);
    CHECK_INT(fwrite(text, 1, strlen(text), file), strlen(text));
    CHECK_INT(fclose(file), 0);
    return path;
}

static void check_refused(const char *text, const char *part)
{
    struct budgets budgets = {0};
    struct error err = {0};

    CHECK_INT(budgets_read(&budgets, written(text), &err), ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, part);
    CHECK_HAS(err.text, "budgets.toml");
    budgets_release(&budgets);
}

TEST(a_files_budgets_follow_the_default_in_order)
{
    struct budgets budgets = {0};
    struct error err = {0};
    const char *path = written("[budget]\n"
                               "\"backbone.body\" = \"3%\"\n"
                               "default = \"2.5 %\"\n"
                               "\"rpn.*\" = 0.1\n"
                               "head = 0\n");

    CHECK_STATUS(budgets_read(&budgets, path, &err), ASSAY_OK, &err);
    CHECK_INT(budgets.n, 4);
    CHECK(budgets.items[0].scope == NULL);
    CHECK_NEAR(budgets.items[0].above, 0.025, 1e-15);
    CHECK_STR(budgets.items[1].scope, "backbone.body");
    CHECK_NEAR(budgets.items[1].above, 0.03, 1e-15);
    CHECK_STR(budgets.items[2].scope, "rpn.*");
    CHECK_NEAR(budgets.items[2].above, 0.1, 1e-15);
    CHECK_STR(budgets.items[3].scope, "head");
    CHECK_NEAR(budgets.items[3].above, 0, 0);
    budgets_release(&budgets);
}

TEST(dotted_keys_and_tables_are_paths_too)
{
    struct budgets budgets = {0};
    struct error err = {0};
    const char *path = written("[budget]\n"
                               "backbone.body = \"3%\"\n"
                               "backbone.fpn = \"4%\"\n"
                               "[budget.rpn.head]\n"
                               "default = \"5%\"\n");

    CHECK_STATUS(budgets_read(&budgets, path, &err), ASSAY_OK, &err);
    CHECK_INT(budgets.n, 3);
    CHECK_STR(budgets.items[0].scope, "backbone.body");
    CHECK_STR(budgets.items[1].scope, "backbone.fpn");
    CHECK_STR(budgets.items[2].scope, "rpn.head.default");
    budgets_release(&budgets);
}

TEST(wrong_keys_and_values_are_named_with_their_line)
{
    check_refused("[budget]\ndefault = \"5%\"\n[budgets]\n", "line 3");
    check_refused("[budget]\n\ndefault = true\n", "line 3");
    check_refused("[budget]\nx = 5\n", "\"5%\"");
    check_refused("[budget]\nx = \"5\"\n", "line 2");
    check_refused("[budget]\nx = \"-5%\"\n", "line 2");
    check_refused("[budget]\nx = -0.5\n", "line 2");
    check_refused("[budget]\nx = nan\n", "line 2");
    check_refused("[budget]\nx = \"5.%\"\n", "line 2");
    check_refused("[budget]\nx = \"5%\\u0000\"\n", "line 2");
    check_refused("[budget]\n\"a\\u0000b\" = 0.1\n", "line 2");
    check_refused("budget = 3\n", "line 1");
    check_refused("# nothing\n", "no [budget]");
    check_refused("default = \"5%\"\n", "below a line [budget]");
    check_refused("[budget]\nx = \n", "line 2");
}

TEST(a_missing_file_is_named)
{
    struct budgets budgets = {0};
    struct error err = {0};

    CHECK_INT(budgets_read(&budgets, test_path("none.toml"), &err),
              ASSAY_NOT_FOUND);
    CHECK_HAS(err.text, "none.toml");
    budgets_release(&budgets);
}

TEST(senseless_budgets_are_refused)
{
    struct budgets budgets = {0};
    struct error err = {0};

    CHECK_INT(budgets_add(&budgets, NULL, -0.1, &err), ASSAY_BAD_USAGE);
    CHECK_HAS(err.text, "-0.1");
    CHECK_INT(budgets_add(&budgets, NULL, NAN, NULL), ASSAY_BAD_USAGE);
    CHECK_INT(budgets_add(&budgets, NULL, INFINITY, NULL), ASSAY_BAD_USAGE);
    CHECK_INT(budgets.n, 0);
    budgets_release(&budgets);
}

TEST(reading_budgets_leaks_nothing_whichever_allocation_fails)
{
    const char *path = written("[budget]\ndefault = 0.1\na.b = \"3%\"\n");
    long before = mem_live(), nth = 0;
    enum assay_status st;

    do {
        struct budgets budgets = {0};

        mem_fail_at(nth++);
        st = budgets_read(&budgets, path, NULL);
        mem_fail_at(-1);
        budgets_release(&budgets);
        CHECK_INT(mem_live(), before);
    } while (st == ASSAY_NOMEM);
    CHECK_INT(st, ASSAY_OK);
}
