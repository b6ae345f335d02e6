/* backend/cuda/cuda_ranges.c - see cuda_ranges.h. */
#include "backend/cuda/cuda_ranges.h"

#include "base/mem.h"
#include "base/vec.h"

static const size_t page_bytes = (size_t)2 << 20; /* the driver's own */
static const size_t small_piece_bytes = (size_t)1 << 20;
static const size_t small_chunk_bytes = (size_t)4 << 20;
static const size_t segment_bytes = (size_t)64 << 20; /* at least */

static size_t ranges_round_up(size_t bytes, size_t to)
{
    return (bytes + to - 1) / to * to;
}

static bool may_hold(const struct cuda_ranges *ranges, size_t bytes)
{
    const struct cuda_memory_usage *usage = ranges->usage;

    return !usage->most_bytes || bytes + usage->held_bytes <= usage->most_bytes;
}

static void count_held(struct cuda_ranges *ranges, size_t bytes)
{
    struct cuda_memory_usage *usage = ranges->usage;

    usage->held_bytes += bytes;
    if (usage->held_bytes > usage->held_peak_bytes)
        usage->held_peak_bytes = usage->held_bytes;
}

static void count_live(struct cuda_ranges *ranges, size_t bytes)
{
    ranges->live_bytes += bytes;
    ranges->usage->live_bytes += bytes;
}

/* ---- addresses that are mapped ------------------------------------------- */

static bool range_reserve(struct cuda_range *range, size_t bytes)
{
    range->reserved_bytes = ranges_round_up(bytes, page_bytes);
    return !cuda_driver()->cuMemAddressReserve(&range->base,
                                               range->reserved_bytes, 0, 0, 0);
}

/* The first time: whether addresses can be mapped at all. */
static bool ranges_reserve(const struct cuda_device *device,
                           struct cuda_ranges *ranges)
{
    int can_map = 0;

    if (ranges->is_reserved || ranges->is_refused)
        return ranges->is_reserved;
    (void)cuda_driver()->cuDeviceGetAttribute(&can_map, CU_ATTRIBUTE_CAN_MAP,
                                              device->handle);
    ranges->is_reserved = can_map && device->total_bytes &&
                          range_reserve(&ranges->small, device->total_bytes) &&
                          range_reserve(&ranges->large, device->total_bytes);
    ranges->is_refused = !ranges->is_reserved;
    return ranges->is_reserved;
}

/* Memory of the device at these addresses. */
static bool range_map(const struct cuda_device *device, cu_pointer at,
                      size_t bytes)
{
    const struct driver_api *cu = cuda_driver();
    struct cu_allocation wanted = {
        .type = CU_ALLOCATION_PINNED,
        .location = {CU_LOCATION_DEVICE, device->handle}};
    struct cu_access access = {.location = wanted.location,
                               .flags = CU_ACCESS_READ_WRITE};
    cu_allocation_handle handle;
    bool is_mapped, is_ours;

    if (cu->cuMemCreate(&handle, bytes, &wanted, 0))
        return false;
    is_mapped = !cu->cuMemMap(at, bytes, 0, handle, 0);
    (void)cu->cuMemRelease(handle); /* the addresses hold it from now on */
    is_ours = is_mapped && !cu->cuMemSetAccess(at, bytes, &access, 1);
    if (is_mapped && !is_ours)
        (void)cu->cuMemUnmap(at, bytes);
    return is_ours;
}

static bool range_extend(const struct cuda_device *device,
                         const struct cuda_ranges *ranges,
                         struct cuda_range *range, size_t bytes)
{
    size_t mapped = (size_t)(range->pieces.end - range->pieces.begin);
    cu_pointer end = range->base + mapped;

    if (!may_hold(ranges, bytes) || mapped + bytes > range->reserved_bytes ||
        !vec_grow(&range->chunks, &range->chunks_capacity, range->n_chunks + 1,
                  sizeof *range->chunks) ||
        !range_map(device, end, bytes))
        return false;
    if (!pieces_grow(&range->pieces, range->base, bytes)) {
        (void)cuda_driver()->cuMemUnmap(end, bytes);
        return false;
    }
    range->chunks[range->n_chunks++] = bytes;
    return true;
}

static cu_pointer range_take(const struct cuda_device *device,
                             struct cuda_ranges *ranges, size_t bytes)
{
    bool is_small = bytes <= small_piece_bytes;
    struct cuda_range *range = is_small ? &ranges->small : &ranges->large;
    size_t chunk = is_small ? small_chunk_bytes : page_bytes;
    cu_pointer at = pieces_take(&range->pieces, bytes);
    size_t missing;

    if (at)
        return at;
    missing =
        ranges_round_up(pieces_missing(&range->pieces, bytes), page_bytes);
    if (missing > chunk)
        chunk = missing;
    if (!range_extend(device, ranges, range, chunk)) {
        chunk = missing;
        if (!range_extend(device, ranges, range, chunk))
            return 0;
    }
    count_held(ranges, chunk);
    return pieces_take(&range->pieces, bytes);
}

static void range_trim(struct cuda_ranges *ranges, struct cuda_range *range)
{
    while (range->n_chunks) {
        size_t bytes = range->chunks[range->n_chunks - 1];

        if (pieces_tail(&range->pieces) < bytes ||
            cuda_driver()->cuMemUnmap(range->pieces.end - bytes, bytes))
            return;
        pieces_shrink(&range->pieces, bytes);
        range->n_chunks--;
        ranges->usage->held_bytes -= bytes;
    }
}

/* ---- segments ------------------------------------------------------------ */

/* 0: the driver has no more, or it may not be taken. */
static cu_pointer segment_memory(const struct cuda_ranges *ranges, size_t bytes)
{
    cu_pointer at = 0;

    return may_hold(ranges, bytes) && !cuda_driver()->cuMemAlloc_v2(&at, bytes)
               ? at
               : 0;
}

static cu_pointer segment_add(struct cuda_ranges *ranges, size_t bytes)
{
    struct cuda_range *segment = mem_zalloc(sizeof *segment);
    size_t wanted = ranges_round_up(
        bytes < segment_bytes ? segment_bytes : bytes, page_bytes);
    cu_pointer at;

    if (!segment)
        return 0;
    at = segment_memory(ranges, wanted);
    if (!at && wanted > bytes) {
        wanted = bytes;
        at = segment_memory(ranges, wanted);
    }
    if (!at || !pieces_grow(&segment->pieces, at, wanted)) {
        if (at)
            (void)cuda_driver()->cuMemFree_v2(at);
        mem_free(segment);
        return 0;
    }
    segment->next = ranges->segments;
    ranges->segments = segment;
    count_held(ranges, wanted);
    return pieces_take(&segment->pieces, bytes);
}

static cu_pointer segments_take(struct cuda_ranges *ranges, size_t bytes)
{
    for (struct cuda_range *at = ranges->segments; at; at = at->next) {
        cu_pointer taken = pieces_take(&at->pieces, bytes);

        if (taken)
            return taken;
    }
    return segment_add(ranges, bytes);
}

static void segments_trim(struct cuda_ranges *ranges)
{
    struct cuda_range **at = &ranges->segments;

    while (*at) {
        struct cuda_range *segment = *at;
        size_t bytes = (size_t)(segment->pieces.end - segment->pieces.begin);

        if (pieces_tail(&segment->pieces) < bytes ||
            cuda_driver()->cuMemFree_v2(segment->pieces.begin)) {
            at = &segment->next;
            continue;
        }
        *at = segment->next;
        ranges->usage->held_bytes -= bytes;
        pieces_release(&segment->pieces);
        mem_free(segment);
    }
}

/* ---- both ---------------------------------------------------------------- */

cu_pointer ranges_take(struct cuda_device *device, struct cuda_ranges *ranges,
                       size_t bytes)
{
    cu_pointer at;

    bytes = pieces_round(bytes);
    at = ranges_reserve(device, ranges) ? range_take(device, ranges, bytes)
                                        : segments_take(ranges, bytes);
    if (at)
        count_live(ranges, bytes);
    return at;
}

static bool range_has(const struct cuda_range *range, cu_pointer at)
{
    return at >= range->pieces.begin && at < range->pieces.end;
}

bool ranges_give(struct cuda_ranges *ranges, cu_pointer at)
{
    struct cuda_range *range = ranges->segments;
    size_t bytes;

    if (range_has(&ranges->small, at))
        range = &ranges->small;
    else if (range_has(&ranges->large, at))
        range = &ranges->large;
    while (range && !range_has(range, at))
        range = range->next;
    if (!range)
        return false;
    bytes = pieces_give(&range->pieces, at);
    ranges->live_bytes -= bytes;
    ranges->usage->live_bytes -= bytes;
    return true;
}

void ranges_trim(struct cuda_ranges *ranges)
{
    range_trim(ranges, &ranges->small);
    range_trim(ranges, &ranges->large);
    segments_trim(ranges);
}

static void range_release(struct cuda_range *range)
{
    if (range->base)
        (void)cuda_driver()->cuMemAddressFree(range->base,
                                              range->reserved_bytes);
    pieces_release(&range->pieces);
    mem_free(range->chunks);
}

void ranges_release(struct cuda_ranges *ranges)
{
    ranges_trim(ranges);
    range_release(&ranges->small);
    range_release(&ranges->large);
    *ranges = (struct cuda_ranges){.usage = ranges->usage};
}
