/* base/claim.h - which process works on a file.
 *
 * A claim is a lock on bytes beyond any file's end, so it disturbs nobody;
 * other programs that lock the file, such as SQLite, lock other bytes. It
 * belongs to the open file and ends when that is closed, hence when the process
 * ends for whatever reason. Forked children that keep the descriptor share it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_CLAIM_H
#define BASE_CLAIM_H

#include <stdbool.h>
#include <sys/types.h>

/* Claims the file open for writing as fd. False if another open file has a
 * claim on it; *holder is then the process that made it, 0 if unknown. True too
 * if the file system has no locks. */
bool claim_take(int fd, pid_t *holder);

#endif
