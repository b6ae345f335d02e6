/* formats/zip_index_internal.h - where the entries of a zip archive lie in
 * memory.
 *
 * For archives that a program maps and uses in place, as torch.save writes
 * them: entries are found, not unpacked. ZIP64 is understood.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FORMATS_ZIP_INDEX_INTERNAL_H
#define FORMATS_ZIP_INDEX_INTERNAL_H

#include "base/error.h"
#include "base/map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct zip_entry {
    const char *name; /* in the archive, without a NUL behind it */
    size_t name_bytes;
    const unsigned char *data;
    size_t bytes;
    bool is_stored; /* as it is; else compressed or encrypted */
    uint32_t crc32; /* of the data when it was stored; 0: nobody computed it */
};

struct zip_index {
    struct zip_entry *entries;
    size_t n, capacity;
    struct map by_name;
};

/* Start from {0}. The archive stays the caller's and must outlive the index.
 * Every entry lies inside it. Release also after a failure. */
enum assay_status zip_index_read(struct zip_index *index,
                                 const unsigned char *archive, size_t n,
                                 struct error *err);
void zip_index_release(struct zip_index *index);

/* NULL where there is none. */
const struct zip_entry *zip_index_find(const struct zip_index *index,
                                       const char *name);

/* Reads all of a stored entry: ASSAY_BAD_INPUT where its data is not what was
 * put into the archive. */
enum assay_status zip_entry_check(const struct zip_entry *entry,
                                  struct error *err);

#endif
