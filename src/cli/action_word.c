/* cli/action_word.c - see action_word.h. */
#include "cli/action_word.h"

#include "base/nearest.h"

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
