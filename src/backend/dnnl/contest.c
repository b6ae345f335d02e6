/* backend/dnnl/contest.c - kernels that can do the same, run against each
 * other on the real shapes. */
#include "backend/dnnl/dnnl_internal.h"

#include "base/clock.h"

#include <math.h>
#include <omp.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

/* Candidates that run turn by turn, so that what else the machine does falls
 * on all of them alike. */
struct contest {
    struct job job;
    struct candidates *list;
    struct kernel **kernels;
    bool is_calm[MAX_CANDIDATES]; /* in one of its runs at least */
    int n_times[MAX_CANDIDATES];  /* that were taken of it */
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
                                  size_t i, double *ms, struct error *err)
{
    static const double ms_between = 10; /* on a machine that is ours */
    int64_t since = clock_monotonic_ns(), began, ns;
    long switches;
    struct tensor y;
    enum assay_status st;

    packed_evict(dn, &contest->job, contest->kernels[i]);
    switches = count_switches();
    began = contest_clock_ns();
    st = kernel_run(dn, &contest->job, contest->kernels[i], &y, err);
    ns = contest_clock_ns() - began;
    switches = count_switches() - switches;
    dn->tuning_left_ns -= clock_monotonic_ns() - since;
    *ms = (double)ns / 1e6;
    if ((double)switches * ms_between <= *ms)
        contest->is_calm[i] = true;
    if (!st)
        tensor_release(&y);
    return st;
}

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

/* How often one runs before anything is said of it: a short run is disturbed
 * by little. */
static int least_times(const struct candidates *list)
{
    static const double short_ms = 4;

    return list->items[find_fastest(list)].ms < short_ms ? 2 : 1;
}

/* One that took twice as long is not tried again. */
static bool is_beaten(const struct contest *contest, size_t i)
{
    const struct candidates *list = contest->list;
    double best = list->items[find_fastest(list)].ms;

    return best >= 0 && contest->n_times[i] >= least_times(list) &&
           list->items[i].ms > 2 * best;
}

/* Whether another may well be as fast as the fastest after so many rounds. Long
 * runs need few: what disturbs them is small beside them. */
static bool is_close(const struct candidates *list, int n_rounds)
{
    static const double far = 1.25, enough_ms = 30;
    size_t best = find_fastest(list);

    if (n_rounds * list->items[best].ms >= enough_ms)
        return false;
    for (size_t i = 0; i < list->n; i++) {
        if (i != best && list->items[i].ms < far * list->items[best].ms)
            return true;
    }
    return false;
}

static bool is_direct(const struct candidate *candidate)
{
    return strncmp(candidate->name, "direct", 6) == 0;
}

/* Weights are packed and memory is touched. Where this alone took a direct
 * kernel far longer than another, its time stands: large maps would spend half
 * the contest on it. Not so Winograd's, which packs four times as much. */
static enum assay_status
contest_warm_up(struct onednn *dn, struct contest *contest, struct error *err)
{
    static const double long_ms = 10, far = 2.5;
    struct candidates *list = contest->list;
    double ms[MAX_CANDIDATES], shortest = INFINITY;
    enum assay_status st = ASSAY_OK;
    size_t n = 0;

    for (; !st && n < list->n && dn->tuning_left_ns > 0; n++) {
        st = run_once(dn, contest, n, &ms[n], err);
        if (ms[n] < shortest)
            shortest = ms[n];
    }
    for (size_t i = 0; i < n && shortest >= long_ms; i++) {
        if (is_direct(&list->items[i]) && ms[i] > far * shortest) {
            list->items[i].ms = ms[i];
            contest->n_times[i] = 1;
        }
    }
    return st;
}

/* A turn of every candidate while there is time. */
static enum assay_status run_round(struct onednn *dn, struct contest *contest,
                                   struct error *err)
{
    struct candidates *list = contest->list;
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < list->n && dn->tuning_left_ns > 0; i++) {
        double ms = 0;

        if (is_beaten(contest, i))
            continue;
        st = run_once(dn, contest, i, &ms, err);
        contest->n_times[i]++;
        if (list->items[i].ms < 0 || ms < list->items[i].ms)
            list->items[i].ms = ms;
    }
    return st;
}

/* Whether others had the processors in every run of a candidate that is still
 * in the contest. */
static bool is_disturbed(const struct contest *contest)
{
    for (size_t i = 0; i < contest->list->n; i++) {
        if (!contest->is_calm[i] && !is_beaten(contest, i))
            return true;
    }
    return false;
}

/* Whether so many rounds are enough: a few, and more of them where it is a
 * close race or all of them were disturbed. */
static bool is_decided(const struct onednn *dn, const struct contest *contest,
                       int n_rounds)
{
    int least = least_times(contest->list);

    if (n_rounds < least)
        return false;
    if (n_rounds >= 8 * least)
        return true;
    return !is_close(contest->list, n_rounds) &&
           (dn->options.trusts_any_time || !is_disturbed(contest));
}

static enum assay_status run_rounds(struct onednn *dn, struct contest *contest,
                                    struct error *err)
{
    enum assay_status st = contest_warm_up(dn, contest, err);
    int n_rounds = 0;

    while (!st && dn->tuning_left_ns > 0 &&
           !is_decided(dn, contest, n_rounds)) {
        st = run_round(dn, contest, err);
        n_rounds++;
    }
    return st;
}

/* Times of a machine that others had most of say nothing about kernels. */
static void forget_times(struct candidates *list)
{
    for (size_t i = 0; i < list->n; i++)
        list->items[i].ms = -1;
}

/* Winograd's weights are up to four times as large: it has to be faster by more
 * than what such a race can tell. */
size_t contest_winner(const struct candidates *list)
{
    static const double slack = 1.05;
    size_t best = find_fastest(list);

    for (size_t i = 0; i < list->n; i++) {
        if (is_direct(&list->items[i]) && list->items[i].ms >= 0 &&
            list->items[i].ms <= slack * list->items[best].ms)
            return i;
    }
    return best;
}

static void swap(struct contest *contest, size_t a, size_t b)
{
    struct candidate item = contest->list->items[a];
    struct kernel *kernel = contest->kernels[a];

    contest->list->items[a] = contest->list->items[b];
    contest->kernels[a] = contest->kernels[b];
    contest->list->items[b] = item;
    contest->kernels[b] = kernel;
}

enum assay_status contest_run(struct onednn *dn, const struct job *job,
                              struct candidates *list, struct kernel **kernels,
                              bool *is_complete, struct error *err)
{
    struct contest contest = {.job = *job, .list = list, .kernels = kernels};
    size_t n_packed = dn->n_packed, scratch_bytes = dn->scratch_bytes;
    enum assay_status st;

    contest.job.may_take_residual = false;
    st = run_rounds(dn, &contest, err);
    *is_complete = dn->options.trusts_any_time || !is_disturbed(&contest);
    for (size_t i = 0; i < list->n; i++)
        *is_complete = *is_complete && list->items[i].ms >= 0;
    if (!*is_complete)
        forget_times(list);
    swap(&contest, 0, contest_winner(list));
    dn->scratch_bytes = scratch_bytes; /* what losers asked for is theirs */
    if (!st)
        packed_drop(dn, n_packed, kernels[0]);
    return st;
}
