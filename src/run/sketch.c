/* run/sketch.c - see sketch.h.
 *
 * Values below 64 have a bucket each; above that every octave [2^e, 2^e+1) is
 * cut into 64 equal parts, so a bucket is at most 1/64 of its lower edge wide
 * and its middle at most 1/128 away from anything inside. */
#include "run/sketch.h"

#include "base/mem.h"

#include <string.h>

enum { parts_log2 = 6, parts = 1 << parts_log2 };

uint32_t sketch_bucket(int64_t value)
{
    uint64_t v = value < 0 ? 0 : (uint64_t)value;
    uint32_t octave;

    if (v < parts)
        return (uint32_t)v;
    octave = 63 - (uint32_t)__builtin_clzll(v) - parts_log2;
    return (octave << parts_log2) + (uint32_t)(v >> octave);
}

int64_t sketch_bucket_low(uint32_t bucket)
{
    uint32_t octave = bucket >> parts_log2;

    if (octave < 2)
        return bucket;
    octave--;
    return (int64_t)((uint64_t)(bucket - (octave << parts_log2)) << octave);
}

int64_t sketch_bucket_high(uint32_t bucket)
{
    return bucket + 1 >= SKETCH_MAX_BUCKETS ? INT64_MAX
                                            : sketch_bucket_low(bucket + 1) - 1;
}

void sketch_release(struct sketch *sketch)
{
    mem_free(sketch->counts);
    *sketch = (struct sketch){0};
}

/* Widens the window of buckets to [low, high], with some slack, so that a
 * slowly changing value does not move the array every time. */
static enum assay_status sketch_cover(struct sketch *sketch, uint32_t low,
                                      uint32_t high)
{
    enum { slack = 16 };
    uint32_t first, end;
    uint64_t *counts;

    if (sketch->counts) {
        if (low >= sketch->first && high < sketch->first + sketch->n_buckets)
            return ASSAY_OK;
        if (sketch->first < low)
            low = sketch->first;
        if (sketch->first + sketch->n_buckets - 1 > high)
            high = sketch->first + sketch->n_buckets - 1;
    }
    first = low > slack ? low - slack : 0;
    end = high + slack + 1 < SKETCH_MAX_BUCKETS ? high + slack + 1
                                                : SKETCH_MAX_BUCKETS;
    counts = mem_array(end - first, sizeof *counts);
    if (!counts)
        return ASSAY_NOMEM;
    if (sketch->counts)
        memcpy(counts + (sketch->first - first), sketch->counts,
               sketch->n_buckets * sizeof *counts);
    mem_free(sketch->counts);
    sketch->counts = counts;
    sketch->first = first;
    sketch->n_buckets = end - first;
    return ASSAY_OK;
}

enum assay_status sketch_add(struct sketch *sketch, int64_t value,
                             uint64_t times)
{
    uint32_t bucket = sketch_bucket(value);
    enum assay_status st = sketch_cover(sketch, bucket, bucket);

    if (st)
        return st;
    sketch->counts[bucket - sketch->first] += times;
    sketch->n += times;
    return ASSAY_OK;
}

enum assay_status sketch_merge(struct sketch *into, const struct sketch *from)
{
    enum assay_status st;

    if (!from->n)
        return ASSAY_OK;
    st = sketch_cover(into, from->first, from->first + from->n_buckets - 1);
    if (st)
        return st;
    for (uint32_t i = 0; i < from->n_buckets; i++)
        into->counts[from->first + i - into->first] += from->counts[i];
    into->n += from->n;
    return ASSAY_OK;
}

double sketch_quantile(const struct sketch *sketch, double q)
{
    uint64_t rank, seen = 0;

    if (!sketch->n)
        return 0;
    q = q < 0 ? 0 : q > 1 ? 1 : q;
    rank = (uint64_t)(q * (double)(sketch->n - 1) + 0.5);
    for (uint32_t i = 0; i < sketch->n_buckets; i++) {
        seen += sketch->counts[i];
        if (seen > rank) {
            uint32_t bucket = sketch->first + i;

            return ((double)sketch_bucket_low(bucket) +
                    (double)sketch_bucket_high(bucket)) /
                   2;
        }
    }
    return 0;
}
