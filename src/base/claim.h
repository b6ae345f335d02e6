/* base/claim.h - which process works on a file.
 *
 * A claim is a lock on bytes that no file has, so it is in nobody's way; other
 * programs that lock the file (SQLite does) have theirs elsewhere. It belongs
 * to the open file, ends when that is closed, and so with the process, whatever
 * ends it. Forked children that keep the descriptor share it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_CLAIM_H
#define BASE_CLAIM_H

#include <stdbool.h>
#include <sys/types.h>

/* Claims the file behind fd, which is open for writing. False where another
 * open file has a claim on it: *holder is the process that took it then, 0
 * where that is not known. True, too, where the file system knows no locks. */
bool claim_take(int fd, pid_t *holder);

#endif
