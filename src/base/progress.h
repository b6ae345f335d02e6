/* base/progress.h - how far a long job has got, on one line of stderr.
 *
 * On a terminal the line is redrawn at most ten times per second:
 *   importing ████████▌      54 %  1.1 of 2.0 GB  310 MB/s  3 s left
 * Elsewhere nothing is written.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include "base/clock.h"
#include "base/term.h"

#include <stdint.h>

struct progress {
    struct sink *sink;
    struct term term;
    struct clock clock;
    const char *what; /* "importing" */
    const char *unit; /* "bytes" is shown in kB, MB, GB; otherwise a noun */
    uint64_t total;   /* 0: unknown; no bar and no time left */
    int64_t began_ns, drawn_ns;
    bool is_drawn;
};

struct progress progress_start(struct sink *sink, const struct term *term,
                               struct clock clock, const char *what,
                               const char *unit, uint64_t total);
void progress_update(struct progress *progress, uint64_t done);
/* Clears the line, so that what follows starts on a clean one. */
void progress_finish(struct progress *progress);

#endif
