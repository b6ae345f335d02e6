/* backend/cuda/cuda_zones.c - see cuda_zones.h. */
#include "backend/cuda/cuda_zones.h"

#include "base/mem.h"

struct cuda_zone {
    uint32_t id;
    bool is_forgotten;
    struct cuda_ranges ranges;
    struct cuda_zone *next;
};

/* NULL: no memory of the host's. */
static struct cuda_zone *zone_find(struct cuda_zones *zones, uint32_t id)
{
    struct cuda_zone *zone = zones->first;

    while (zone && zone->id != id)
        zone = zone->next;
    if (zone)
        return zone;
    zone = mem_zalloc(sizeof *zone);
    if (!zone)
        return NULL;
    *zone = (struct cuda_zone){
        .id = id, .ranges.usage = &zones->usage, .next = zones->first};
    zones->first = zone;
    return zone;
}

cu_pointer zones_take(struct cuda_device *device, struct cuda_zones *zones,
                      uint32_t id, size_t bytes)
{
    struct cuda_zone *zone = zone_find(zones, id);
    cu_pointer at = zone ? ranges_take(device, &zone->ranges, bytes) : 0;

    if (zone && !at && !device->is_recording) {
        zones_trim(device, zones);
        zone = zone_find(zones, id);
        at = zone ? ranges_take(device, &zone->ranges, bytes) : 0;
    }
    return at;
}

/* Drops the zones that were forgotten and are empty; the device is idle. */
static void zones_sweep(struct cuda_zones *zones)
{
    struct cuda_zone **at = &zones->first;

    while (*at) {
        struct cuda_zone *zone = *at;

        if (!zone->is_forgotten || zone->ranges.live_bytes) {
            at = &zone->next;
            continue;
        }
        *at = zone->next;
        ranges_release(&zone->ranges);
        mem_free(zone);
    }
}

static void zones_settle(struct cuda_device *device, struct cuda_zones *zones)
{
    if (device->is_recording)
        return;
    (void)cuda_driver()->cuStreamSynchronize(device->stream);
    zones_sweep(zones);
}

void zones_give(struct cuda_device *device, struct cuda_zones *zones,
                cu_pointer at)
{
    struct cuda_zone *zone = zones->first;

    while (zone && !ranges_give(&zone->ranges, at))
        zone = zone->next;
    if (zone && zone->is_forgotten && !zone->ranges.live_bytes)
        zones_settle(device, zones);
}

void zones_forget(struct cuda_device *device, struct cuda_zones *zones,
                  uint32_t id)
{
    for (struct cuda_zone *zone = zones->first; zone; zone = zone->next)
        zone->is_forgotten |= zone->id == id;
    zones_settle(device, zones);
}

void zones_trim(struct cuda_device *device, struct cuda_zones *zones)
{
    if (device->is_recording)
        return;
    zones_settle(device, zones);
    for (struct cuda_zone *zone = zones->first; zone; zone = zone->next) {
        if (zone->id < ZONE_RECORDED)
            ranges_trim(&zone->ranges);
    }
}
