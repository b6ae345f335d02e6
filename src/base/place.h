/* base/place.h - whether two paths lead to one file.
 *
 * Also to one that is not there yet: links are followed, and a new name is the
 * same where its folder is.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_PLACE_H
#define BASE_PLACE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct place {
    bool is_there; /* a regular file */
    dev_t device;  /* of the file; of its folder where it is not there */
    ino_t inode;
    char name[NAME_MAX + 1]; /* in that folder; "" where it is there */
};

/* False where the path leads to no place for a file: a device, a folder, a
 * pipe, or nowhere. */
bool place_find(const char *path, struct place *out);

bool place_is_same(const struct place *a, const struct place *b);

#endif
