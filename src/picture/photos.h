/* picture/photos.h - the photographs that a command line names.
 *
 * An argument is a photograph, a folder of them or a list of them. Stands on
 * base.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PICTURE_PHOTOS_H
#define PICTURE_PHOTOS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

/* Start from {0}. */
struct photos {
    const char **paths; /* in the order of the arguments; they live as long */
    size_t n, capacity;
    struct arena arena; /* holds the texts */
};

void photos_release(struct photos *photos);

/* Appends what the argument stands for:
 *
 * - a folder: its files that are images by their suffix (.jpg, .jpeg, .png) or
 *   by what they begin with, sorted by name; neither those of folders inside
 *   it, nor hidden ones, nor what photos_drawn_name() made;
 * - a file that ends with .txt: the path on each of its lines, relative to the
 *   list's own folder; blank lines and those that begin with # do not count;
 * - any other file: itself.
 *
 * Whether a photograph can be decoded is seen when it is. An argument that
 * gives none fails with a sentence that says what was looked for, and leaves
 * the list unchanged; so that a caller can say so, count it and go on. */
enum assay_status photos_add(struct photos *photos, const char *argument,
                             struct error *err);

/* Appends the name of the file that shows what was found on a photograph:
 * "a/street.png" gives "street_targets.jpg". */
enum assay_status photos_drawn_name(const char *path, struct str *out,
                                    struct error *err);

/* Appends such names of several photographs, one each: of those that would
 * have the same one, "a/street.jpg" and "b/street.png", the second gets
 * "street.2_targets.jpg". On failure the list is unchanged. */
enum assay_status photos_name_drawn(struct photos *drawn,
                                    const char *const *paths, size_t n,
                                    struct error *err);

/* Appends what photos_drawn_name() made in a folder, sorted by name; there may
 * be none. On failure the list is unchanged. */
enum assay_status photos_add_drawn(struct photos *photos, const char *folder,
                                   struct error *err);

#endif
