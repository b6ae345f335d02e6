/* train/schedule.c - see schedule.h. */
#include "train/schedule.h"

#include <math.h>

static double warmup(const struct schedule *schedule, uint64_t step)
{
    if (step >= schedule->warmup_steps)
        return 1;
    return schedule->warmup_factor + (1 - schedule->warmup_factor) *
                                         (double)step /
                                         (double)schedule->warmup_steps;
}

static uint64_t count_drops(const struct schedule *schedule, uint64_t step)
{
    uint64_t n = schedule->every ? step / schedule->every : 0;

    for (size_t i = 0; i < schedule->n_milestones; i++)
        n += step >= schedule->milestones[i];
    return n;
}

double schedule_rate(const struct schedule *schedule, uint64_t step)
{
    return schedule->learning_rate * warmup(schedule, step) *
           pow(schedule->gamma, (double)count_drops(schedule, step));
}
