/* backend/dnnl/contest.c - kernels that can do the same, run against each
 * other on the real shapes. */
#include "backend/dnnl/dnnl_internal.h"

#include "base/clock.h"

#include <math.h>
#include <omp.h>
#include <sys/resource.h>
#include <time.h>

/* Candidates that run turn by turn, so that what else the machine does falls
 * on all of them alike. */
struct contest {
    struct job job;
    struct kernel **kernels;
    struct race race;
};

/* How often others have taken a processor from this process. */
static long count_switches(void)
{
    struct rusage usage = {0};

    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nivcsw;
}

/* Of the processor where one thread does it all: what others take of it then
 * does not count. */
static int64_t contest_clock_ns(void)
{
    struct timespec now;

    if (omp_get_max_threads() > 1 ||
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now))
        return clock_monotonic_ns();
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* In a pass the weights of other layers come between two runs of a kernel, so
 * that its own come from memory: kernels with few of them win there. */
static enum assay_status run_once(struct onednn *dn, struct contest *contest,
                                  size_t i, double *ms, long *n_switches,
                                  struct error *err)
{
    int64_t since = clock_monotonic_ns(), began;
    struct tensor y;
    enum assay_status st;

    packed_evict(dn, &contest->job, contest->kernels[i]);
    *n_switches = count_switches();
    began = contest_clock_ns();
    st = kernel_run(dn, &contest->job, contest->kernels[i], &y, err);
    *ms = (double)(contest_clock_ns() - began) / 1e6;
    *n_switches = count_switches() - *n_switches;
    dn->tuning_left_ns -= clock_monotonic_ns() - since;
    if (!st)
        tensor_release(&y);
    return st;
}

/* Weights are packed and memory is touched. Where this alone took a direct
 * kernel far longer than another, its time stands: large maps would spend half
 * the contest on it. Not so Winograd's, which packs four times as much. */
static enum assay_status
contest_warm_up(struct onednn *dn, struct contest *contest, struct error *err)
{
    static const double long_ms = 10, far = 2.5;
    const struct candidates *list = contest->race.list;
    double ms[MAX_CANDIDATES], shortest = INFINITY;
    long n_switches[MAX_CANDIDATES];
    enum assay_status st = ASSAY_OK;
    size_t n = 0;

    for (; !st && n < list->n && dn->tuning_left_ns > 0; n++) {
        st = run_once(dn, contest, n, &ms[n], &n_switches[n], err);
        if (ms[n] < shortest)
            shortest = ms[n];
    }
    for (size_t i = 0; i < n && shortest >= long_ms; i++) {
        if (candidate_is_direct(&list->items[i]) && ms[i] > far * shortest)
            race_time(&contest->race, i, ms[i], n_switches[i]);
    }
    return st;
}

/* A turn of every candidate that may still win, while there is time. */
static enum assay_status run_round(struct onednn *dn, struct contest *contest,
                                   struct error *err)
{
    struct race *race = &contest->race;
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < race->list->n && dn->tuning_left_ns > 0;
         i++) {
        double ms = 0;
        long n_switches;

        if (race_has_lost(race, i))
            continue;
        st = run_once(dn, contest, i, &ms, &n_switches, err);
        race_time(race, i, ms, n_switches);
    }
    race->n_rounds++;
    return st;
}

/* Times of a machine that others had most of say nothing about kernels. */
static void forget_times(struct candidates *list)
{
    for (size_t i = 0; i < list->n; i++)
        list->items[i].ms = -1;
}

static void swap(struct contest *contest, size_t a, size_t b)
{
    struct candidates *list = contest->race.list;
    struct candidate item = list->items[a];
    struct kernel *kernel = contest->kernels[a];

    list->items[a] = list->items[b];
    contest->kernels[a] = contest->kernels[b];
    list->items[b] = item;
    contest->kernels[b] = kernel;
}

enum assay_status contest_run(struct onednn *dn, const struct job *job,
                              struct candidates *list, struct kernel **kernels,
                              bool *is_complete, struct error *err)
{
    struct contest contest = {
        .job = *job,
        .kernels = kernels,
        .race = {.list = list, .trusts_any_time = dn->options.trusts_any_time}};
    size_t n_packed = dn->n_packed, scratch_bytes = dn->scratch_bytes;
    enum assay_status st;

    contest.job.may_take_residual = false;
    st = contest_warm_up(dn, &contest, err);
    while (!st && dn->tuning_left_ns > 0 && !race_is_decided(&contest.race))
        st = run_round(dn, &contest, err);
    *is_complete = race_is_complete(&contest.race);
    if (!*is_complete)
        forget_times(list);
    swap(&contest, 0, candidates_winner(list));
    dn->scratch_bytes = scratch_bytes; /* what losers asked for is theirs */
    if (!st)
        packed_drop(dn, n_packed, kernels[0]);
    return st;
}
