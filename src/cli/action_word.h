/* cli/action_word.h - the first word of a command that can do several things:
 * "show" of `assay data show PATH`.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_ACTION_WORD_H
#define CLI_ACTION_WORD_H

#include "base/error.h"

struct action_words {
    const char *const *names; /* NULL at the end */
    const char *what;         /* it is done with: "data" */
    const char *all;          /* "'show PATH', 'list' and 'fetch NAME'" */
};

/* Which of the names it is. "cannot 'shwo' data; did you mean 'show'?" */
enum assay_status action_find(const struct action_words *words,
                              const char *word, size_t *found,
                              struct error *err);

#endif
