/* base/place.h - whether two paths lead to the same file.
 *
 * Works for files that do not exist yet, too: links are followed, and two new
 * files are the same if they have the same folder and name.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_PLACE_H
#define BASE_PLACE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct place {
    bool is_there; /* a regular file exists */
    dev_t device;  /* of the file, or of its folder if it does not exist */
    ino_t inode;
    char name[NAME_MAX + 1]; /* in that folder; "" if it exists */
};

/* False if the path cannot be a regular file: a device, a folder, a pipe, or a
 * folder that does not exist. */
bool place_find(const char *path, struct place *out);

bool place_is_same(const struct place *a, const struct place *b);

#endif
