/* base/cache.h - where Assay keeps files that it can make or fetch again.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_CACHE_H
#define BASE_CACHE_H

#include "base/error.h"
#include "base/str.h"

/* Appends $XDG_CACHE_HOME/assay/NAME, or ~/.cache/assay/NAME, which need not
 * exist. ASSAY_NOT_FOUND if neither variable is set to a path. */
enum assay_status cache_path(const char *name, struct str *path,
                             struct error *err);

/* Makes the missing folders above a path. */
enum assay_status cache_make_folders(const char *path, struct error *err);

#endif
