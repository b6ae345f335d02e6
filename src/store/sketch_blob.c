/* store/sketch_blob.c - a sketch as bytes in a file. */
#include "store/store_internal.h"

#include "base/mem.h"

enum { varint_max_bytes = 10 };

static size_t blob_put_varint(unsigned char *to, uint64_t value)
{
    size_t n = 0;

    while (value >= 0x80) {
        to[n++] = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    to[n++] = (unsigned char)value;
    return n;
}

enum assay_status sketch_encode(const struct sketch *sketch, struct str *blob)
{
    uint32_t before = 0;

    for (uint32_t i = 0; i < sketch->n_buckets; i++) {
        unsigned char pair[2 * varint_max_bytes];
        uint32_t bucket = sketch->first + i;
        enum assay_status st;
        size_t n;

        if (!sketch->counts[i])
            continue;
        n = blob_put_varint(pair, bucket - before);
        n += blob_put_varint(pair + n, sketch->counts[i]);
        st = str_append_n(blob, (const char *)pair, n);
        if (st)
            return st;
        before = bucket;
    }
    return ASSAY_OK;
}

struct blob_bytes {
    const unsigned char *at, *end;
};

static bool blob_take_varint(struct blob_bytes *bytes, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; shift < 64 && bytes->at < bytes->end; shift += 7) {
        uint64_t part = *bytes->at & 0x7f;

        if (shift == 63 && part > 1)
            return false;
        *value |= part << shift;
        if (!(*bytes->at++ & 0x80))
            return true;
    }
    return false;
}

/* The next non-empty bucket; *bucket is the one before, or -1. */
static bool blob_take_bucket(struct blob_bytes *bytes, int64_t *bucket,
                             uint64_t *count)
{
    uint64_t gap;

    if (!blob_take_varint(bytes, &gap) || !blob_take_varint(bytes, count))
        return false;
    if (gap >= SKETCH_MAX_BUCKETS || (gap == 0 && *bucket >= 0) || *count == 0)
        return false;
    *bucket = (*bucket < 0 ? 0 : *bucket) + (int64_t)gap;
    return *bucket < SKETCH_MAX_BUCKETS;
}

/* Checks the bytes before anything is allocated. */
static bool blob_measure(struct blob_bytes bytes, struct sketch *out)
{
    int64_t bucket = -1, first = -1;
    uint64_t count;

    while (bytes.at < bytes.end) {
        if (!blob_take_bucket(&bytes, &bucket, &count) ||
            __builtin_add_overflow(out->n, count, &out->n))
            return false;
        if (first < 0)
            first = bucket;
    }
    if (first >= 0) {
        out->first = (uint32_t)first;
        out->n_buckets = (uint32_t)(bucket - first + 1);
    }
    return true;
}

enum assay_status sketch_decode(const void *blob, size_t n_bytes,
                                struct sketch *out)
{
    struct blob_bytes bytes;
    int64_t bucket = -1;
    uint64_t count;

    *out = (struct sketch){0};
    if (n_bytes == 0) /* SQLite returns NULL for an empty blob */
        return ASSAY_OK;
    bytes = (struct blob_bytes){blob, (const unsigned char *)blob + n_bytes};
    if (!blob_measure(bytes, out)) {
        *out = (struct sketch){0};
        return ASSAY_BAD_INPUT;
    }
    out->counts = mem_array(out->n_buckets, sizeof *out->counts);
    if (!out->counts) {
        *out = (struct sketch){0};
        return ASSAY_NOMEM;
    }
    while (bytes.at < bytes.end && blob_take_bucket(&bytes, &bucket, &count))
        out->counts[bucket - out->first] = count;
    return ASSAY_OK;
}
