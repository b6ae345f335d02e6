/* data/tar.h - reads a tar archive entry by entry, in one pass.
 *
 * Reads ustar archives with the extensions in use: GNU's long names and large
 * sizes, pax headers.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DATA_TAR_H
#define DATA_TAR_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum { TAR_MOST_PATH = 4096 };

enum tar_kind { TAR_FILE, TAR_FOLDER, TAR_LINK, TAR_DEVICE };

struct tar_entry {
    char path[TAR_MOST_PATH + 1]; /* as written: it may lead anywhere */
    enum tar_kind kind;
    uint64_t size; /* of a file */
};

/* Where the bytes come from. *got is less than n only at the end. */
struct tar_source {
    enum assay_status (*read)(void *context, void *bytes, size_t n, size_t *got,
                              struct error *err);
    void *context;
    const char *name; /* for messages */
};

/* Start from {.source}. */
struct tar {
    struct tar_source source;
    uint64_t left;    /* of the entry's content */
    uint64_t padding; /* after it */
};

/* Moves to the next entry, skipping the rest of the last; *is_end if there is
 * none, and *out is then unchanged. */
enum assay_status tar_next(struct tar *tar, struct tar_entry *out, bool *is_end,
                           struct error *err);
/* Up to n bytes of the entry; *got is 0 at its end. */
enum assay_status tar_read(struct tar *tar, void *bytes, size_t n, size_t *got,
                           struct error *err);

#endif
