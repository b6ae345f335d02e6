/* formats/zip_unpack.c - unpacks deflated entries, see zip_index_internal.h. */
#include "formats/zip_index_internal.h"

#include "base/mem.h"
#include "formats/crc32_internal.h"

#include <limits.h>
#include <zlib.h>

/* Weights hardly shrink and configurations shrink to a tenth; what unpacks to
 * more than this was made to fill the memory. */
enum { most_ratio = 100, least_allowed = 1 << 20 };

static void *zip_alloc(void *context, unsigned n, unsigned size)
{
    (void)context;
    return mem_array(n, size);
}

static void zip_release(void *context, void *block)
{
    (void)context;
    mem_free(block);
}

static int zip_name_bytes(const struct zip_entry *entry)
{
    return entry->name_bytes < 80 ? (int)entry->name_bytes : 80;
}

static enum assay_status zip_refuse(const struct zip_entry *entry,
                                    struct error *err)
{
    return error_set(err, ASSAY_BAD_INPUT,
                     "%.*s in the archive is damaged: it does not unpack to "
                     "what was stored; fetch or copy the file again",
                     zip_name_bytes(entry), entry->name);
}

/* Unpacks into a block of exactly the size that the archive claims. */
static enum assay_status zip_inflate(const struct zip_entry *entry, char *to,
                                     struct error *err)
{
    z_stream stream = {.zalloc = zip_alloc, .zfree = zip_release};
    const unsigned char *from = entry->data;
    size_t packed = entry->bytes, room = (size_t)entry->unpacked_bytes;
    int rc = inflateInit2(&stream, -MAX_WBITS);

    if (rc != Z_OK)
        return error_nomem(err, 32 << 10, "unpacking an archive");
    stream.next_out = (unsigned char *)to;
    while (rc == Z_OK) {
        if (stream.avail_in == 0) {
            stream.avail_in = packed < INT_MAX ? (unsigned)packed : INT_MAX;
            stream.next_in = (unsigned char *)from;
            from += stream.avail_in;
            packed -= stream.avail_in;
        }
        if (stream.avail_out == 0) {
            stream.avail_out = room < INT_MAX ? (unsigned)room : INT_MAX;
            room -= stream.avail_out;
        }
        rc = inflate(&stream, Z_NO_FLUSH);
    }
    inflateEnd(&stream);
    if (rc == Z_MEM_ERROR)
        return error_nomem(err, 32 << 10, "unpacking an archive");
    return rc == Z_STREAM_END && room == 0 && stream.avail_out == 0
               ? ASSAY_OK
               : zip_refuse(entry, err);
}

enum assay_status zip_entry_unpack(const struct zip_entry *entry,
                                   struct str *out, struct error *err)
{
    size_t bytes = (size_t)entry->unpacked_bytes;
    char *block;
    enum assay_status st;

    if (entry->unpacked_bytes > least_allowed &&
        entry->unpacked_bytes / most_ratio > entry->bytes)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "%.*s in the archive claims to unpack to more than %d "
                         "times its size; save the model without compression",
                         zip_name_bytes(entry), entry->name, most_ratio);
    block = mem_alloc(bytes + 1);
    if (!block)
        return error_nomem(err, bytes, "unpacking an archive");
    st = zip_inflate(entry, block, err);
    if (!st && entry->crc32 &&
        crc32_of((const unsigned char *)block, bytes) != entry->crc32)
        st = zip_refuse(entry, err);
    if (!st && str_append_n(out, block, bytes))
        st = error_nomem(err, bytes, "unpacking an archive");
    mem_free(block);
    return st;
}
