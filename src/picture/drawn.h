/* picture/drawn.h - which run a drawn photograph belongs to.
 *
 * A drawing holds the id of its run, so that reports show the boxes of the run
 * they are about and of no other, and the name of the run's file in a digest:
 * a run that replaces that file replaces its drawings, and no others.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PICTURE_DRAWN_H
#define PICTURE_DRAWN_H

#include "picture/photos.h"

enum { DRAWN_ID = 17 }; /* 16 digits and a NUL */

struct drawn_owner {
    char run[DRAWN_ID];  /* unlike that of any other run */
    char file[DRAWN_ID]; /* of the run file's path; "": there is no file */
};

/* run_path may be NULL. */
struct drawn_owner drawn_owner_new(const char *run_path);

/* The comment for a drawing, see picture_write_jpeg(). */
void drawn_write_comment(const struct drawn_owner *owner, char *text,
                         size_t size);
/* Reads it from the bytes of a picture; false if it is not ours. */
bool drawn_read_owner(const void *bytes, size_t n, struct drawn_owner *owner);

/* Appends the names of photos_name_drawn(), numbered on where a file in the
 * folder has that name and is not a drawing for the owner's run file. folder
 * NULL: the current one. */
enum assay_status drawn_choose_names(struct photos *drawn,
                                     const char *const *paths, size_t n,
                                     const char *folder,
                                     const struct drawn_owner *owner,
                                     struct error *err);

#endif
