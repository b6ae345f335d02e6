/* data/unpack.h - a .tar.gz archive into a folder.
 *
 * Archives come from elsewhere: nothing is written outside the folder, links
 * and devices are refused, and so is more than the caller allows.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DATA_UNPACK_H
#define DATA_UNPACK_H

#include "base/progress.h"
#include "base/str.h"

struct unpack {
    const char *archive;
    const char *folder;  /* made where it is not there; files in it that the
                            archive has too are replaced */
    uint64_t most_bytes; /* of all files */
    struct progress *progress; /* NULL: none; counts bytes of the archive */
};

struct unpacked {
    uint64_t n_files, n_bytes;
};

/* On failure what was unpacked so far stays. */
enum assay_status unpack_archive(const struct unpack *unpack,
                                 struct unpacked *out, struct error *err);

/* The path of an entry as it will be inside the folder: without "." and
 * doubled slashes. ASSAY_BAD_INPUT where it would lead out of it, or be
 * nothing. */
enum assay_status unpack_path(const char *path, struct str *out,
                              struct error *err);

#endif
