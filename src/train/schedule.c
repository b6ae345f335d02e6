/* train/schedule.c - see schedule.h. */
#include "train/schedule.h"

#include <math.h>

static double schedule_warmup(const struct schedule *schedule, uint64_t step)
{
    if (step >= schedule->warmup_steps)
        return 1;
    return schedule->warmup_factor + (1 - schedule->warmup_factor) *
                                         (double)step /
                                         (double)schedule->warmup_steps;
}

double schedule_rate(const struct schedule *schedule, uint64_t step)
{
    uint64_t n_drops = schedule->every ? step / schedule->every : 0;

    return schedule->learning_rate * schedule_warmup(schedule, step) *
           pow(schedule->gamma, (double)n_drops);
}
