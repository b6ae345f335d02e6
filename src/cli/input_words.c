/* cli/input_words.c - see input_words.h. */
#include "cli/input_words.h"

#include "base/mem.h"

#include <string.h>

void input_words_release(struct input_words *list)
{
    mem_free(list->settings);
    arena_release(&list->names);
    *list = (struct input_words){0};
}

/* How many bytes of --input are the name of an input: all of them without a
 * key, else those before the last colon in front of the first key. */
static size_t input_words_name_length(const char *input)
{
    size_t n = strcspn(input, "=");

    if (!input[n])
        return n;
    while (n && input[n - 1] != ':')
        n--;
    return n ? n - 1 : 0;
}

const char *input_words_recipe(const char *input)
{
    size_t n;

    if (!input)
        return NULL;
    n = input_words_name_length(input);
    if (!input[n])
        return NULL;
    return n ? input + n + 1 : input;
}

/* Splits "NAME=VALUES". Names with a sign of equality are not known. */
static enum assay_status input_words_split(struct input_words *list,
                                           const char *word, struct error *err)
{
    const char *equals = strchr(word, '=');
    const char *name;

    if (!equals || equals == word || !equals[1])
        return error_set(err, ASSAY_BAD_USAGE,
                         "--set needs INPUT=NUMBERS, such as "
                         "orig_target_sizes=640x640, not '%s'",
                         word);
    name = arena_strndup(&list->names, word, (size_t)(equals - word));
    if (!name)
        return error_nomem(err, strlen(word), "the name of an input");
    for (size_t i = 0; i < list->n_settings; i++) {
        if (strcmp(list->settings[i].input, name) == 0)
            return error_set(err, ASSAY_BAD_USAGE, "--set %s is given twice",
                             name);
    }
    list->settings[list->n_settings++] =
        (struct input_setting){.input = name, .text = equals + 1};
    return ASSAY_OK;
}

enum assay_status input_words_read(struct input_words *list, const char *input,
                                   const struct words *set, struct error *err)
{
    size_t n = input ? input_words_name_length(input) : 0;
    enum assay_status st = ASSAY_OK;

    *list = (struct input_words){0};
    list->settings = mem_array(set->n, sizeof *list->settings);
    if (n)
        list->image = arena_strndup(&list->names, input, n);
    if (!list->settings || (n && !list->image))
        return error_nomem(err, n + set->n * sizeof *list->settings,
                           "the names of inputs");
    for (size_t i = 0; !st && i < set->n; i++)
        st = input_words_split(list, set->items[i], err);
    return st;
}
