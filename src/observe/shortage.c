/* observe/shortage.c - see shortage.h. */
#include "observe/shortage.h"

bool shortage_look(struct pool *pool, struct shortage *out)
{
    static const uint32_t fixed[] = {OWNER_WEIGHTS, OWNER_PACKED,
                                     OWNER_GRADIENTS, OWNER_OPTIMIZER};
    struct space *space = pool_space(pool);
    struct pool_usage usage = pool_usage(pool);
    size_t total_bytes;

    *out = (struct shortage){.peak_bytes = usage.peak_bytes};
    if (usage.refused_bytes > out->peak_bytes)
        out->peak_bytes = usage.refused_bytes;
    if (space->is_host || !space->room ||
        !space->room(space, &out->available_bytes, &total_bytes))
        return false;
    out->available_bytes += usage.held_bytes;
    if (space->spare)
        out->available_bytes += space->spare(space);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        out->fixed_bytes += pool_peak_of(pool, fixed[i]);
    return true;
}

int64_t shortage_batch(const struct shortage *shortage)
{
    double fixed = (double)shortage->fixed_bytes;
    double per_image =
        ((double)shortage->peak_bytes - fixed) / (double)shortage->batch;
    double room = (double)shortage->available_bytes - fixed;

    if (room <= 0)
        return 0;
    if (!(per_image > 0) || room / per_image >= (double)shortage->batch)
        return shortage->batch - 1;
    return (int64_t)(room / per_image);
}
