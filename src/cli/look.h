/* cli/look.h - how to look at the machine, and where what was measured is kept.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_LOOK_H
#define CLI_LOOK_H

#include "machine/machine.h"

/* Processors that are there to compute with; at least 1. */
int look_processors(void);

/* n_threads 0: one a processor. *path holds the name of the file with the
 * peaks, and must stay as long as the options; without a home there is none,
 * and they are measured every time. */
struct machine_options look_options(int64_t n_threads,
                                    enum machine_measuring measuring,
                                    struct str *path);

#endif
