/* cli/input_words.h - the words of --input and --set: which input gets the
 * photographs, and what the others get.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_INPUT_WORDS_H
#define CLI_INPUT_WORDS_H

#include "cli/options.h"
#include "vision/vision.h"

/* Start from {0}. */
struct input_words {
    const char *image; /* NULL: not named */
    struct input_setting *settings;
    size_t n_settings;
    struct arena names;
};

/* input: "NAME", "NAME:KEY=VALUE,..." or "KEY=VALUE,...", or NULL; a name may
 * have colons itself. set: words such as "orig_target_sizes=640x640". Release
 * it also after a failure. */
enum assay_status input_words_read(struct input_words *list, const char *input,
                                   const struct words *set, struct error *err);
void input_words_release(struct input_words *list); /* accepts {0} */

/* The part of --input for recipe_read(); NULL if there is none. */
const char *input_words_recipe(const char *input);

#endif
