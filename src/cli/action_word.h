/* cli/action_word.h - the first word of a command that can do several things:
 * "show" of `assay data show PATH`.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_ACTION_WORD_H
#define CLI_ACTION_WORD_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct action_words {
    const char *const *names; /* NULL at the end */
    const char *what;         /* it is done with: "data" */
    const char *all;          /* "'show PATH', 'list' and 'fetch NAME'" */
};

/* Which of the names it is. "cannot 'shwo' data; did you mean 'show'?" */
enum assay_status action_find(const struct action_words *words,
                              const char *word, size_t *found,
                              struct error *err);

/* An option that some of the actions have. */
struct action_option {
    const char *name;
    bool is_given;
    unsigned with; /* bit i: the i-th name has it */
};

/* Options of another action are refused, not passed over: "--url goes with
 * 'fetch', not with 'list'". */
enum assay_status action_check_options(const struct action_words *words,
                                       size_t found,
                                       const struct action_option *options,
                                       size_t n, struct error *err);

#endif
