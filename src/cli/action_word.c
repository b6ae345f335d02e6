/* cli/action_word.c - see action_word.h. */
#include "cli/action_word.h"

#include "base/nearest.h"

#include <stdio.h>
#include <string.h>

enum assay_status action_find(const struct action_words *words,
                              const char *word, size_t *found,
                              struct error *err)
{
    struct nearest nearest = nearest_to(word);

    for (size_t i = 0; words->names[i]; i++) {
        if (strcmp(words->names[i], word) == 0) {
            *found = i;
            return ASSAY_OK;
        }
        nearest_offer(&nearest, words->names[i]);
    }
    if (nearest.candidate)
        return error_set(err, ASSAY_BAD_USAGE,
                         "cannot '%s' %s; did you mean '%s'?", word,
                         words->what, nearest.candidate);
    return error_set(err, ASSAY_BAD_USAGE, "cannot '%s' %s; there are %s", word,
                     words->what, words->all);
}

/* "'fit'", "'fit' and 'eval'" */
static void action_list(const struct action_words *words, unsigned with,
                        char *out, size_t size)
{
    size_t n = 0;

    out[0] = '\0';
    for (size_t i = 0; words->names[i]; i++) {
        if (with >> i & 1 && n < size)
            n += (size_t)snprintf(out + n, size - n, "%s'%s'", n ? " and " : "",
                                  words->names[i]);
    }
}

enum assay_status action_check_options(const struct action_words *words,
                                       size_t found,
                                       const struct action_option *options,
                                       size_t n, struct error *err)
{
    char with[64];

    for (size_t i = 0; i < n; i++) {
        if (!options[i].is_given || options[i].with >> found & 1)
            continue;
        action_list(words, options[i].with, with, sizeof with);
        return error_set(err, ASSAY_BAD_USAGE,
                         "--%s goes with %s, not with '%s'", options[i].name,
                         with, words->names[found]);
    }
    return ASSAY_OK;
}
