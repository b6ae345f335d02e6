/* formats/weights/download.h - fetching a file whose hash is known, and its
 * size.
 *
 * What was fetched waits in PATH.part: an interrupted download goes on where
 * it ended, and PATH appears only when it is whole and has the right hash. One
 * process at a time fetches a file; another is told which.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_WEIGHTS_DOWNLOAD_H
#define FORMATS_WEIGHTS_DOWNLOAD_H

#include "base/error.h"
#include "base/progress.h"

#include <stdbool.h>
#include <stdint.h>

struct download {
    const char *url;           /* http or https */
    const char *path;          /* its folders are made */
    const char *sha256_digits; /* how the hash of the whole begins; NULL: */
    const char *md5_digits;    /* only this is known; both are checked */
    uint64_t least_bytes, most_bytes; /* of the whole; 0: not known */
    const char *otherwise;            /* what to do without a network */
    struct progress *progress; /* NULL: none; its total is set when known */
};

/* ASSAY_NOT_FOUND where the server has no such file or cannot be reached,
 * ASSAY_BAD_INPUT where the hash or the size is another one: nothing is kept
 * then. No byte beyond most_bytes reaches the disk. */
enum assay_status download_file(const struct download *download,
                                struct error *err);

/* Whether a file is whole; false where it cannot be read, too. */
bool download_is_whole(const struct download *download);

#endif
