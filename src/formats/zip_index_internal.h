/* formats/zip_index_internal.h - finds the entries of a zip archive in memory.
 *
 * For mapped archives that are used in place, as torch.save writes them. Only
 * zip_entry_unpack() unpacks. Supports ZIP64.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ZIP_INDEX_INTERNAL_H
#define FORMATS_ZIP_INDEX_INTERNAL_H

#include "base/error.h"
#include "base/map.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct zip_entry {
    const char *name; /* in the archive, not NUL-terminated */
    size_t name_bytes;
    const unsigned char *data;
    size_t bytes;
    bool is_stored;          /* neither compressed nor encrypted */
    bool is_deflated;        /* compressed in the usual way, not encrypted */
    uint64_t unpacked_bytes; /* what the archive says */
    uint32_t crc32;          /* of the data when it was stored; 0: unknown */
};

struct zip_index {
    struct zip_entry *entries;
    size_t n, capacity;
    struct map by_name;
};

/* Start from {0}. The archive stays the caller's and must outlive the index.
 * Checks that every entry is inside it. Release also after a failure. */
enum assay_status zip_index_read(struct zip_index *index,
                                 const unsigned char *archive, size_t n,
                                 struct error *err);
void zip_index_release(struct zip_index *index);

/* NULL if there is none. */
const struct zip_entry *zip_index_find(const struct zip_index *index,
                                       const char *name);

/* Reads all of a stored entry; ASSAY_BAD_INPUT if its checksum is wrong. */
enum assay_status zip_entry_check(const struct zip_entry *entry,
                                  struct error *err);

/* Appends a deflated entry to *out, with its checksum checked. Refuses one that
 * claims to unpack to far more than weights or text do. */
enum assay_status zip_entry_unpack(const struct zip_entry *entry,
                                   struct str *out, struct error *err);

#endif
