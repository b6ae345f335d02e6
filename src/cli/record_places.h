/* cli/record_places.h - the files around a recorded program: the Python
 * package that records it, and what it leaves.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_RECORD_PLACES_H
#define CLI_RECORD_PLACES_H

#include "base/error.h"
#include "base/str.h"

#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>

/* Appends the folder that Python must search first: that of the package
 * which belongs to this program. */
enum assay_status record_find_package(struct str *out, struct error *err);

/* Appends the absolute path of an output; refuses one that cannot be written.
 */
enum assay_status record_check_output(const char *path, struct str *absolute,
                                      struct error *err);

/* What there was before the program started. */
struct record_before {
    bool exists;
    struct stat file;
    struct timespec now;
};

struct record_before record_look(const char *path);

/* Whether there is a run that was not there before. */
bool record_is_new(const char *path, const struct record_before *before);

/* Appends the name of the unfinished run that a program which has died left
 * since then: PATH.PID-LETTERS.part. Nothing if there is none. */
enum assay_status record_find_part(const char *path,
                                   const struct record_before *before,
                                   struct str *out, struct error *err);

#endif
