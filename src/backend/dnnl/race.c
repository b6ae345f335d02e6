/* backend/dnnl/race.c - what times of candidates say, and when they are
 * enough. */
#include "backend/dnnl/race.h"

#include <string.h>

static size_t find_fastest(const struct candidates *list)
{
    size_t best = 0;

    for (size_t i = 1; i < list->n; i++) {
        double ms = list->items[i].ms;

        if (ms >= 0 && (list->items[best].ms < 0 || ms < list->items[best].ms))
            best = i;
    }
    return best;
}

static double least_ms(const struct candidates *list)
{
    return list->items[find_fastest(list)].ms;
}

/* Kernels below this are short: one that is disturbed takes many times as long,
 * and one that is not is rarely interrupted. */
static const double short_ms = 4;

/* On a machine that is ours a processor is taken every 10 ms or so, for what
 * the kernel does. */
void race_time(struct race *race, size_t i, double ms, long n_switches)
{
    static const double ms_between = 10;
    struct candidate *item = &race->list->items[i];

    if (item->ms < 0 || ms < item->ms)
        item->ms = ms;
    race->racers[i].n_times++;
    race->racers[i].was_alone |= n_switches == 0;
    race->racers[i].was_calm |= (double)n_switches * ms_between <= ms;
}

/* How long a run would have been without the others is not known, but the
 * fastest says how long those of this race are: 12 ms with one interruption are
 * believed beside 8 ms, but not beside 0.2. */
static bool is_calm(const struct race *race, size_t i)
{
    if (race->trusts_any_time)
        return true;
    return least_ms(race->list) < short_ms ? race->racers[i].was_alone
                                           : race->racers[i].was_calm;
}

/* How often one runs before anything is said of it: a short run is disturbed
 * by little. */
static int least_times(const struct candidates *list)
{
    return least_ms(list) < short_ms ? 2 : 1;
}

bool race_has_lost(const struct race *race, size_t i)
{
    static const double far = 2;
    double best = least_ms(race->list);

    return best >= 0 && race->racers[i].n_times >= least_times(race->list) &&
           is_calm(race, i) && race->list->items[i].ms > far * best;
}

/* Whether another may well be as fast as the fastest after so many rounds. Long
 * runs need few: what disturbs them is small beside them. */
static bool is_close(const struct race *race)
{
    static const double near = 1.25, enough_ms = 30;
    const struct candidates *list = race->list;
    size_t best = find_fastest(list);

    if (race->n_rounds * list->items[best].ms >= enough_ms)
        return false;
    for (size_t i = 0; i < list->n; i++) {
        if (i != best && list->items[i].ms < near * list->items[best].ms)
            return true;
    }
    return false;
}

static bool is_disturbed(const struct race *race)
{
    for (size_t i = 0; i < race->list->n; i++) {
        if (!is_calm(race, i))
            return true;
    }
    return false;
}

bool race_is_decided(const struct race *race)
{
    int least = least_times(race->list);

    if (race->n_rounds < least)
        return false;
    if (race->n_rounds >= 8 * least)
        return true;
    return !is_close(race) && !is_disturbed(race);
}

bool race_is_complete(const struct race *race)
{
    for (size_t i = 0; i < race->list->n; i++) {
        if (race->list->items[i].ms < 0)
            return false;
    }
    return !is_disturbed(race);
}

bool candidate_is_direct(const struct candidate *candidate)
{
    return strncmp(candidate->name, "direct", 6) == 0;
}

/* Winograd's weights are up to four times as large: it has to be faster by more
 * than what such a race can tell. */
size_t candidates_winner(const struct candidates *list)
{
    static const double slack = 1.05;
    size_t best = find_fastest(list);

    for (size_t i = 0; i < list->n; i++) {
        if (candidate_is_direct(&list->items[i]) && list->items[i].ms >= 0 &&
            list->items[i].ms <= slack * list->items[best].ms)
            return i;
    }
    return best;
}
