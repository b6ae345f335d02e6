/* run/peaks.c - the best that the machine of a run can do. */
#include "run/bound.h"

#include <math.h>
#include <stdio.h>

static void peaks_add_caches(const struct run *run, struct peaks *peaks)
{
    for (int level = 1; level <= 4; level++) {
        char key[32];
        struct cache_peak cache = {.level = level};

        snprintf(key, sizeof key, "machine.l%d_bytes", level);
        cache.bytes = run_fact_number(run, key);
        snprintf(key, sizeof key, "machine.l%d_gbs", level);
        cache.gbs = run_fact_number(run, key);
        if (cache.bytes > 0 && cache.gbs > 0 &&
            peaks->n_caches < PEAKS_MAX_CACHES)
            peaks->caches[peaks->n_caches++] = cache;
    }
}

/* A rate of 0 was not measured. */
static double peaks_rate(const struct run *run, const char *key)
{
    double value = run_fact_number(run, key);

    return value > 0 ? value : NAN;
}

struct peaks peaks_of_facts(const struct run *run)
{
    struct peaks peaks = {.gflops = peaks_rate(run, "machine.peak_gflops"),
                          .read_gbs = peaks_rate(run, "machine.read_gbs"),
                          .write_gbs = peaks_rate(run, "machine.write_gbs"),
                          .copy_gbs = peaks_rate(run, "machine.copy_gbs"),
                          .launch_ns =
                              peaks_rate(run, "machine.launch_us") * 1e3};

    peaks_add_caches(run, &peaks);
    return peaks;
}

/* The first cache that holds this many bytes, n_caches if none does. */
static size_t peaks_find_cache(const struct peaks *peaks, double bytes)
{
    size_t i = 0;

    while (i < peaks->n_caches && peaks->caches[i].bytes < bytes)
        i++;
    return i;
}

double peaks_gbs(const struct peaks *peaks, double bytes)
{
    double best =
        fmax(peaks->read_gbs, fmax(peaks->write_gbs, peaks->copy_gbs));

    /* A cache that seems slower than the one behind it was measured on a busy
     * machine. */
    for (size_t i = peaks_find_cache(peaks, bytes); i < peaks->n_caches; i++)
        best = fmax(best, peaks->caches[i].gbs);
    return best;
}

/* Whether something that moves so many bytes must have used memory. It may
 * touch fewer than it moves: what is updated in place is read and written, and
 * a module with two steps moves its data twice. */
static bool peaks_is_memory(const struct peaks *peaks, double bytes)
{
    enum { moves_per_byte = 4 };

    return peaks->n_caches == 0 ||
           bytes > moves_per_byte * peaks->caches[peaks->n_caches - 1].bytes;
}

void peaks_raise(struct peaks *peaks, double gflops, double bytes, double gbs)
{
    size_t cache = peaks_find_cache(peaks, bytes);

    if (gflops > peaks->gflops) {
        peaks->gflops = gflops;
        peaks->is_raised = true;
    }
    if (!(gbs > peaks_gbs(peaks, bytes)) ||
        (cache == peaks->n_caches && !peaks_is_memory(peaks, bytes)))
        return;
    peaks->is_raised = true;
    if (cache < peaks->n_caches)
        peaks->caches[cache].gbs = gbs;
    else
        peaks->read_gbs = gbs;
}
