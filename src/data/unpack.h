/* data/unpack.h - unpacks a .tar.gz archive into a folder.
 *
 * Archives are not trusted: nothing is written outside the folder, links and
 * devices are refused, and so is more than the caller allows.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DATA_UNPACK_H
#define DATA_UNPACK_H

#include "base/progress.h"
#include "base/str.h"

struct unpack {
    const char *archive;
    const char *folder;  /* created if missing; files in it that the archive
                            also has are replaced */
    uint64_t most_bytes; /* of all files */
    struct progress *progress; /* counts bytes of the archive; or NULL */
};

struct unpacked {
    uint64_t n_files, n_bytes;
};

/* On failure what was unpacked so far stays. */
enum assay_status unpack_archive(const struct unpack *unpack,
                                 struct unpacked *out, struct error *err);

/* The path of an entry inside the folder: without "." and double slashes.
 * ASSAY_BAD_INPUT if it would lead out of it or is absolute. */
enum assay_status unpack_path(const char *path, struct str *out,
                              struct error *err);

#endif
