/* cli/program_start.h - runs another program and ends as it did.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_PROGRAM_START_H
#define CLI_PROGRAM_START_H

#include "base/error.h"

/* How a program ended. */
struct program_end {
    int signal; /* that ended it; 0: it exited */
    int code;   /* if it exited */
};

/* Runs words[0], found as a shell finds it, and waits for its end. words ends
 * with NULL. It has this program's streams and environment. Signals from the
 * terminal reach it too, so they do not end this program; SIGINT, SIGTERM and
 * SIGHUP that only this program gets are passed on. */
enum assay_status program_run(const char *const *words, struct program_end *end,
                              struct error *err);

/* Ends this program the same way; returns if that was success. What asks a
 * program to stop (SIGINT, SIGTERM, SIGHUP) ends this one too, so that a shell
 * that runs it in a loop stops; other signals become exit code 128 + N. */
void program_end_as(const struct program_end *end);

#endif
