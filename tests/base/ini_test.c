/* INI files with Python's lists: their values, and where they are wrong. */
#include "base/ini.h"

#include "base/mem.h"
#include "test.h"

#include <string.h>

static struct error err;

static struct toml *read_text(const char *text)
{
    struct toml *toml;

    err = (struct error){0};
    CHECK_STATUS(ini_read_text(text, strlen(text), "c.ini", &toml, &err),
                 ASSAY_OK, &err);
    return toml;
}

static const struct toml_value *value_of(const struct toml *toml,
                                         const char *section, const char *key)
{
    const struct toml_value *table = toml_find(toml_root(toml), section);

    CHECK(table != NULL);
    CHECK(toml_find(table, key) != NULL);
    return toml_find(table, key);
}

/* As in the tool's own file, with its comments. */
TEST(values_are_what_python_makes_of_them)
{
    struct toml *toml =
        read_text("[profile]\n#{{{\n## a comment\ncreate_config= True \n"
                  "network: resnet18\nBS= [2,8, 16,]\n"
                  "stage= ['training', \"inference\"]\n"
                  "rate = -2.5e-1\ngpu_id=2\nsave= False\nnone =\n"
                  "loc= /home/nvidia/tx2 models\n#}}}\n");
    const struct toml_value *list;

    CHECK(value_of(toml, "profile", "create_config")->boolean);
    CHECK_STR(value_of(toml, "profile", "network")->string.text, "resnet18");
    list = value_of(toml, "profile", "bs");
    CHECK_INT(list->kind, TOML_ARRAY);
    CHECK_INT(list->items.n, 3);
    CHECK_INT(list->items.last->integer, 16);
    list = value_of(toml, "profile", "stage");
    CHECK_STR(list->items.first->string.text, "training");
    CHECK_STR(list->items.last->string.text, "inference");
    CHECK_NEAR(value_of(toml, "profile", "rate")->real, -0.25, 0);
    CHECK_INT(value_of(toml, "profile", "gpu_id")->integer, 2);
    CHECK(!value_of(toml, "profile", "save")->boolean);
    CHECK_STR(value_of(toml, "profile", "none")->string.text, "");
    CHECK_STR(value_of(toml, "profile", "loc")->string.text,
              "/home/nvidia/tx2 models");
    toml_free(toml);
}

TEST(a_list_may_continue_on_indented_lines)
{
    struct toml *toml = read_text("[a]\nmodel= ['x.net',\n  # not this\n"
                                  "        'y.net']\nb = 1\n");

    CHECK_INT(value_of(toml, "a", "model")->items.n, 2);
    CHECK_INT(value_of(toml, "a", "b")->integer, 1);
    toml_free(toml);
}

static void check_refused(const char *text, const char *part)
{
    struct toml *toml;

    err = (struct error){0};
    CHECK_INT(ini_read_text(text, strlen(text), "c.ini", &toml, &err),
              ASSAY_BAD_INPUT);
    CHECK(toml == NULL);
    CHECK_HAS(err.text, part);
}

TEST(errors_have_line_and_column)
{
    check_refused("a = 1\n", "c.ini: line 1, column 1: a [section] must");
    check_refused("[a\n", "line 1, column 1: a section is written [name]");
    check_refused("[a] b\n", "line 1, column 5: unexpected text after");
    check_refused("[a]\nword\n", "line 2, column 1: expected key = value");
    check_refused("[a]\nb = 1\nb = 2\n", "line 3: 'b' is defined twice");
    check_refused("[a]\n\n[a]\n", "line 3: 'a' is defined twice");
    check_refused("[a]\nb = [1, 2\n", "line 2, column 5: the list is not");
    check_refused("[a]\nb = [1, x]\n", "line 2, column 9: expected a number");
    check_refused("[a]\nb = [1 2]\n", "line 2, column 8: expected a comma");
    check_refused("[a]\nb = [1, [2]]\n", "line 2, column 9: lists cannot");
    check_refused("[a]\nb = [1,\n   x]\n",
                  "line 3, column 4: expected a number");
    check_refused("[a]\nb = ['x]\n", "line 2, column 6: the text has no");
    check_refused("[a]\nb = [1] c\n",
                  "line 2, column 9: unexpected text after");
}

TEST(reading_leaks_nothing_whichever_allocation_fails)
{
    static const char text[] = "[a]\nb = ['x', 1]\nc = d\n";
    long nth = 0, before = mem_live();
    struct toml *toml;
    enum assay_status st;

    do {
        mem_fail_at(nth++);
        st = ini_read_text(text, sizeof text - 1, "c.ini", &toml, NULL);
        mem_fail_at(-1);
        toml_free(toml);
        CHECK_INT(mem_live(), before);
    } while (st == ASSAY_NOMEM);
    CHECK_INT(st, ASSAY_OK);
}
