/* base/cache.h - where Assay keeps what it can make or fetch again.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_CACHE_H
#define BASE_CACHE_H

#include "base/error.h"
#include "base/str.h"

/* Appends $XDG_CACHE_HOME/assay/NAME, or that in ~/.cache. It need not be
 * there. ASSAY_NOT_FOUND where neither variable names a place. */
enum assay_status cache_path(const char *name, struct str *path,
                             struct error *err);

/* Makes the folders above a path that are missing. */
enum assay_status cache_make_folders(const char *path, struct error *err);

#endif
