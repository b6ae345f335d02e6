/* picture/photos.h - the photographs that a command line names.
 *
 * An argument is a photograph, a folder or a list of them. Stands on base.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PICTURE_PHOTOS_H
#define PICTURE_PHOTOS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

/* Initialise to {0}. */
struct photos {
    const char **paths; /* in the order of the arguments */
    size_t n, capacity;
    struct arena arena; /* holds the texts */
};

void photos_release(struct photos *photos);

/* Appends the photographs of an argument:
 *
 * - a folder: its files that are images by their suffix (.jpg, .jpeg, .png) or
 *   their first bytes, sorted by name; without those in folders inside it,
 *   hidden ones and those named by photos_drawn_name();
 * - a file with the suffix .txt: the path on each of its lines, relative to the
 *   list's own folder; blank lines and those that begin with # are ignored;
 * - any other file: itself.
 *
 * Whether a photograph can be decoded is not checked. If there are none, the
 * message says what was looked for and the list is unchanged, so that a caller
 * can report it and go on. */
enum assay_status photos_add(struct photos *photos, const char *argument,
                             struct error *err);

/* Appends the name of the file for the detections in a photograph:
 * "street_targets.jpg" for "a/street.png". */
enum assay_status photos_drawn_name(const char *path, struct str *out,
                                    struct error *err);

/* Appends such names for several photographs. If two would have the same name,
 * as "a/street.jpg" and "b/street.png", the second gets "street.2_targets.jpg".
 * On failure the list is unchanged. */
enum assay_status photos_name_drawn(struct photos *drawn,
                                    const char *const *paths, size_t n,
                                    struct error *err);

/* The same, passing over names that are taken for another reason. */
typedef bool photos_name_taken(const void *context, const char *name);
enum assay_status photos_name_drawn_unless(struct photos *drawn,
                                           const char *const *paths, size_t n,
                                           photos_name_taken *is_taken,
                                           const void *context,
                                           struct error *err);

/* Appends the files with such names in a folder, sorted by name; there may be
 * none. On failure the list is unchanged. */
enum assay_status photos_add_drawn(struct photos *photos, const char *folder,
                                   struct error *err);

#endif
