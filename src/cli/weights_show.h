/* cli/weights_show.h - the tensors of a file of weights, for people and for
 * programs.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_WEIGHTS_SHOW_H
#define CLI_WEIGHTS_SHOW_H

#include "base/term.h"
#include "formats/weights/checkpoint.h"

/* A line about the file, and one for each tensor in it. */
void weights_show_table(const struct checkpoint *checkpoint, const char *path,
                        struct sink *sink, const struct term *term);
void weights_show_json(const struct checkpoint *checkpoint, const char *path,
                       struct sink *sink);

#endif
