/* predict/step_blocks.c - see step_blocks.h. */
#include "predict/step_blocks.h"

#include "base/doubles.h"

static const double steady_share = 1.02;

struct step_blocks step_blocks_of(double *steps_ms, size_t n)
{
    double medians[N_STEP_BLOCKS], spent = 0;
    size_t n_blocks = 0, begin = 0;
    struct step_blocks blocks = {0};

    for (size_t i = 0; i < n && n_blocks < N_STEP_BLOCKS; i++) {
        spent += steps_ms[i];
        if (spent < STEP_BLOCK_MS && i + 1 < n)
            continue;
        doubles_sort(steps_ms + begin, i + 1 - begin);
        medians[n_blocks++] = steps_ms[begin + (i - begin) / 2];
        begin = i + 1;
        spent = 0;
    }
    if (!n_blocks)
        return blocks;
    doubles_sort(medians, n_blocks);
    blocks.least_ms = medians[0];
    blocks.is_steady = medians[(n_blocks + 1) / 3] <= steady_share * medians[0];
    return blocks;
}

/* ---- processors ---------------------------------------------------------- */

struct block_processors block_processors_find(void)
{
    struct block_processors own = {0};

    own.are_known = sched_getaffinity(0, sizeof own.allowed, &own.allowed) == 0;
    own.n = own.are_known ? CPU_COUNT(&own.allowed) : 0;
    return own;
}

void block_processors_use(const struct block_processors *own, size_t block)
{
    int n_groups = own->n < N_STEP_GROUPS ? own->n : N_STEP_GROUPS, at = 0;
    cpu_set_t group;

    if (n_groups < 2)
        return;
    if (block % 2 == 0) {
        block_processors_leave(own);
        return;
    }
    CPU_ZERO(&group);
    for (size_t i = 0; i < CPU_SETSIZE; i++) {
        if (!CPU_ISSET(i, &own->allowed))
            continue;
        if (at * n_groups / own->n == (int)(block / 2 % (size_t)n_groups))
            CPU_SET(i, &group);
        at++;
    }
    (void)sched_setaffinity(0, sizeof group, &group);
}

void block_processors_leave(const struct block_processors *own)
{
    if (own->are_known)
        (void)sched_setaffinity(0, sizeof own->allowed, &own->allowed);
}
