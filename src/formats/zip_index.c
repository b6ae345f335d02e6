/* formats/zip_index.c - see zip_index_internal.h.
 *
 * Layout and signatures are those of PKWARE's APPNOTE.TXT, sections 4.3.6 to
 * 4.3.16 and 4.5.3. */
#include "formats/zip_index_internal.h"

#include "base/mem.h"
#include "base/vec.h"
#include "formats/crc32_internal.h"
#include "formats/little_endian_internal.h"

#include <stdint.h>

enum {
    end_bytes = 22,
    end64_bytes = 56,
    locator_bytes = 20,
    central_bytes = 46,
    local_bytes = 30,
    max_comment = 65535,
    extra_zip64 = 1,
    flag_encrypted = 1,
    method_stored = 0,
    method_deflated = 8
};

static const uint32_t end_signature = 0x06054b50;
static const uint32_t end64_signature = 0x06064b50;
static const uint32_t locator_signature = 0x07064b50;
static const uint32_t central_signature = 0x02014b50;
static const uint32_t local_signature = 0x04034b50;

struct archive {
    const unsigned char *bytes;
    size_t n;
};

/* The central directory: n_entries headers from `at` on. */
struct directory {
    uint64_t at, bytes, n_entries;
};

static bool zip_index_has_range(const struct archive *archive, uint64_t at,
                                uint64_t bytes)
{
    return at <= archive->n && bytes <= archive->n - at;
}

static bool zip_index_has_signature(const struct archive *archive, uint64_t at,
                                    uint64_t bytes, uint32_t signature)
{
    return zip_index_has_range(archive, at, bytes) &&
           le32(archive->bytes + at) == signature;
}

/* It comes last, followed by a comment of unknown length. */
static bool zip_index_find_end(const struct archive *archive, size_t *at)
{
    size_t least = archive->n > end_bytes + max_comment
                       ? archive->n - end_bytes - max_comment
                       : 0;

    if (archive->n < end_bytes)
        return false;
    for (size_t i = archive->n - end_bytes + 1; i-- > least;) {
        if (le32(archive->bytes + i) == end_signature) {
            *at = i;
            return true;
        }
    }
    return false;
}

static enum assay_status zip_index_find_directory(const struct archive *archive,
                                                  struct directory *directory,
                                                  struct error *err)
{
    const unsigned char *end;
    size_t at;

    if (!zip_index_find_end(archive, &at))
        return error_set(err, ASSAY_BAD_INPUT,
                         "the zip archive has no directory at its end; it is "
                         "truncated, fetch or copy it again");
    end = archive->bytes + at;
    directory->n_entries = le16(end + 10);
    directory->bytes = le32(end + 12);
    directory->at = le32(end + 16);
    if (at >= locator_bytes &&
        zip_index_has_signature(archive, at - locator_bytes, locator_bytes,
                                locator_signature)) {
        uint64_t at64 = le64(end - locator_bytes + 8);

        if (!zip_index_has_signature(archive, at64, end64_bytes,
                                     end64_signature))
            return error_set(err, ASSAY_BAD_INPUT,
                             "the zip archive's ZIP64 record is damaged");
        directory->n_entries = le64(archive->bytes + at64 + 32);
        directory->bytes = le64(archive->bytes + at64 + 40);
        directory->at = le64(archive->bytes + at64 + 48);
    }
    if (!zip_index_has_range(archive, directory->at, directory->bytes))
        return error_set(err, ASSAY_BAD_INPUT,
                         "the zip archive's directory is outside the file");
    return ASSAY_OK;
}

/* An entry's central header, with sizes of more than 4 GiB. */
struct header {
    uint64_t packed_bytes, bytes, local_at;
    const unsigned char *name;
    size_t name_bytes;
    uint16_t flags, method;
    uint32_t crc32;
};

/* The ZIP64 field holds the values that did not fit, in this order. */
static bool zip_index_read_zip64(struct header *header,
                                 const unsigned char *extra, size_t n)
{
    uint64_t *values[] = {&header->bytes, &header->packed_bytes,
                          &header->local_at};

    while (n >= 4) {
        size_t field = le16(extra + 2), used = 0;

        if (field > n - 4)
            return false;
        for (size_t i = 0; le16(extra) == extra_zip64 && i < 3; i++) {
            if (*values[i] != UINT32_MAX)
                continue;
            if (field - used < 8)
                return false;
            *values[i] = le64(extra + 4 + used);
            used += 8;
        }
        extra += 4 + field;
        n -= 4 + field;
    }
    return true;
}

/* Reads the central header at *at and moves past it. */
static bool zip_index_read_central(const struct archive *archive, uint64_t *at,
                                   struct header *header)
{
    const unsigned char *from = archive->bytes + *at;
    size_t name_bytes, extra_bytes, all;

    if (!zip_index_has_signature(archive, *at, central_bytes,
                                 central_signature))
        return false;
    name_bytes = le16(from + 28);
    extra_bytes = le16(from + 30);
    all = central_bytes + name_bytes + extra_bytes + le16(from + 32);
    if (!zip_index_has_range(archive, *at, all))
        return false;
    *header = (struct header){.flags = le16(from + 8),
                              .method = le16(from + 10),
                              .crc32 = le32(from + 16),
                              .packed_bytes = le32(from + 20),
                              .bytes = le32(from + 24),
                              .local_at = le32(from + 42),
                              .name = from + central_bytes,
                              .name_bytes = name_bytes};
    *at += all;
    return zip_index_read_zip64(header, header->name + name_bytes, extra_bytes);
}

/* The local header repeats the name and may have other extra fields. */
static bool zip_index_locate(const struct archive *archive,
                             const struct header *header,
                             struct zip_entry *entry)
{
    const unsigned char *local;
    uint64_t skip;

    if (!zip_index_has_signature(archive, header->local_at, local_bytes,
                                 local_signature))
        return false;
    local = archive->bytes + header->local_at;
    skip = (uint64_t)local_bytes + le16(local + 26) + le16(local + 28);
    if (!zip_index_has_range(archive, header->local_at, skip) ||
        !zip_index_has_range(archive, header->local_at + skip,
                             header->packed_bytes))
        return false;
    *entry = (struct zip_entry){
        .name = (const char *)header->name,
        .name_bytes = header->name_bytes,
        .data = local + skip,
        .bytes = (size_t)header->packed_bytes,
        .is_stored = header->method == method_stored &&
                     !(header->flags & flag_encrypted) &&
                     header->packed_bytes == header->bytes,
        .is_deflated = header->method == method_deflated &&
                       !(header->flags & flag_encrypted),
        .unpacked_bytes = header->bytes,
        .crc32 = header->crc32,
    };
    return true;
}

static enum assay_status zip_index_add_entry(struct zip_index *index,
                                             const struct zip_entry *entry,
                                             struct error *err)
{
    struct zip_entry *moved = vec_reserve(index->entries, &index->capacity,
                                          index->n + 1, sizeof *moved);

    if (!moved)
        return error_nomem(err, (index->n + 1) * sizeof *moved,
                           "the directory of a zip archive");
    index->entries = moved;
    index->entries[index->n] = *entry;
    if (map_put(&index->by_name, entry->name, entry->name_bytes, index->n))
        return error_nomem(err, entry->name_bytes,
                           "the directory of a zip archive");
    index->n++;
    return ASSAY_OK;
}

enum assay_status zip_index_read(struct zip_index *index,
                                 const unsigned char *archive, size_t n,
                                 struct error *err)
{
    struct archive all = {archive, n};
    struct directory directory = {0};
    enum assay_status st = zip_index_find_directory(&all, &directory, err);

    for (uint64_t i = 0, at = directory.at; !st && i < directory.n_entries;
         i++) {
        struct zip_entry entry;
        struct header header;

        if (!zip_index_read_central(&all, &at, &header) ||
            !zip_index_locate(&all, &header, &entry))
            return error_set(err, ASSAY_BAD_INPUT,
                             "entry %llu of the zip archive is damaged",
                             (unsigned long long)i);
        st = zip_index_add_entry(index, &entry, err);
    }
    return st;
}

void zip_index_release(struct zip_index *index)
{
    map_release(&index->by_name);
    mem_free(index->entries);
    *index = (struct zip_index){0};
}

const struct zip_entry *zip_index_find(const struct zip_index *index,
                                       const char *name)
{
    uint64_t i;

    return map_find_text(&index->by_name, name, &i) ? &index->entries[i] : NULL;
}

/* A sum of 0 is not checked: that is what
 * torch.serialization.set_crc32_options(False) writes. */
enum assay_status zip_entry_check(const struct zip_entry *entry,
                                  struct error *err)
{
    uint32_t found;

    if (!entry->crc32)
        return ASSAY_OK;
    found = crc32_of(entry->data, entry->bytes);
    if (found == entry->crc32)
        return ASSAY_OK;
    return error_set(err, ASSAY_BAD_INPUT,
                     "%.*s in the archive is damaged: its CRC-32 is %08x "
                     "instead of %08x; fetch or copy the file again",
                     entry->name_bytes < 80 ? (int)entry->name_bytes : 80,
                     entry->name, (unsigned)found, (unsigned)entry->crc32);
}
