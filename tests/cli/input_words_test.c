/* The words of --input and --set. */
#include "cli/input_words.h"

#include "test.h"

static struct error err;
static const struct words nothing;

static void check_input(const char *input, const char *image,
                        const char *recipe)
{
    struct input_words list;
    const char *rest = input_words_recipe(input);

    CHECK_STATUS(input_words_read(&list, input, &nothing, &err), ASSAY_OK,
                 &err);
    CHECK_STR(list.image ? list.image : "none", image);
    CHECK_STR(rest ? rest : "none", recipe);
    input_words_release(&list);
}

TEST(an_input_may_be_named_before_the_keys)
{
    check_input(NULL, "none", "none");
    check_input("size=640,mean=1:2:3", "none", "size=640,mean=1:2:3");
    check_input("images", "images", "none");
    check_input("images:size=640,mean=1:2:3", "images", "size=640,mean=1:2:3");
    check_input("serving_default_x:0", "serving_default_x:0", "none");
    check_input("serving_default_x:0:fit=crop", "serving_default_x:0",
                "fit=crop");
}

TEST(settings_are_split_at_the_first_sign)
{
    const char *items[] = {"orig_size=640x640", "k=0.5,1"};
    const struct words set = {.items = items, .n = 2};
    struct input_words list;

    CHECK_STATUS(input_words_read(&list, NULL, &set, &err), ASSAY_OK, &err);
    CHECK_INT(list.n_settings, 2);
    CHECK_STR(list.settings[0].input, "orig_size");
    CHECK_STR(list.settings[0].text, "640x640");
    CHECK_STR(list.settings[1].input, "k");
    CHECK_STR(list.settings[1].text, "0.5,1");
    input_words_release(&list);
}

static void check_refused(const char *first, const char *second,
                          const char *why)
{
    const char *items[] = {first, second};
    const struct words set = {.items = items, .n = 2};
    struct input_words list;

    err = (struct error){0};
    CHECK_INT(input_words_read(&list, NULL, &set, &err), ASSAY_BAD_USAGE);
    CHECK_HAS(err.text, why);
    input_words_release(&list);
}

TEST(settings_that_say_nothing_are_refused)
{
    check_refused("a=1", "orig_size", "needs INPUT=NUMBERS");
    check_refused("a=1", "=5", "not '=5'");
    check_refused("a=1", "b=", "not 'b='");
    check_refused("a=1", "a=2", "--set a is given twice");
}
