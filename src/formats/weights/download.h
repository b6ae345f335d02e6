/* formats/weights/download.h - fetches a file with a known hash and size.
 *
 * Data is kept in PATH.part: an interrupted download continues where it ended,
 * and PATH appears only when it is complete and has the right hash. Only one
 * process at a time fetches a file; others fail and name it.
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
    const char *sha256_digits; /* the first digits, or NULL: not checked */
    const char *md5_digits;    /* the same */
    uint64_t least_bytes, most_bytes; /* of the file; 0: unknown */
    const char *otherwise;            /* what to do without a network */
    struct progress *progress;        /* or NULL; its total is set when known */
};

/* ASSAY_NOT_FOUND if the server does not have the file or cannot be reached,
 * ASSAY_BAD_INPUT if the hash or the size is wrong; then nothing is kept. Never
 * writes more than most_bytes. */
enum assay_status download_file(const struct download *download,
                                struct error *err);

/* Whether the file is complete; false also if it cannot be read. */
bool download_is_whole(const struct download *download);

#endif
