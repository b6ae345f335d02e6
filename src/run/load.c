/* run/load.c - what else the machine did while a run was measured. */
#include "run/run_internal.h"

#include "base/doubles.h"

#include <math.h>

/* The sorted values of a series; returns how many there are. */
static size_t load_sorted(const struct run *run, const char *name,
                          double values[RUN_MAX_POINTS])
{
    const struct series *series = run_series_find(run, name);
    size_t n = series ? series->n_points : 0;

    for (size_t i = 0; i < n; i++)
        values[i] = series->points[i].value;
    doubles_sort(values, n);
    return n;
}

static double load_mean(const struct run *run, const char *name)
{
    double values[RUN_MAX_POINTS], sum = 0;
    size_t n = load_sorted(run, name, values);

    for (size_t i = 0; i < n; i++)
        sum += values[i];
    return n ? sum / (double)n : NAN;
}

static double load_median(const struct run *run, const char *name)
{
    double values[RUN_MAX_POINTS];
    size_t n = load_sorted(run, name, values);

    return n ? stats_quantile(values, n, 0.5) : NAN;
}

/* Of the iterations that count, as for every other time. */
static double load_counted_mean(const struct run *run, const char *name)
{
    const struct series *series = run_series_find(run, name);
    double sum = 0, n = 0;

    for (size_t i = 0; series && i < series->n_points; i++) {
        if (!run_iteration_counts(run, series->points[i].iteration))
            continue;
        sum += series->points[i].value;
        n++;
    }
    return n > 0 ? sum / n : NAN;
}

static double load_iteration_ns(const struct run *run)
{
    double sum = 0, n = 0;

    for (size_t i = 0; i < run->n_iterations_kept; i++) {
        if (!run_iteration_counts(run, run->iterations[i].index))
            continue;
        sum += (double)run->iterations[i].duration_ns;
        n++;
    }
    return n > 0 ? sum / n : NAN;
}

/* Comparisons with NaN, which is unknown, are false. One long wait is no
 * reason, so the median counts. Threads of the run itself make each other wait,
 * too, and programs for which nobody waits disturb nobody. */
static bool load_is_disturbed(const struct run_load *load, double wait_share,
                              double threads)
{
    static const double long_wait = 0.05, no_wait = 0.005;
    static const double held_back = 0.05, taken = 0.2;
    double left = load->processors - threads;
    bool waited = wait_share > long_wait && !run_load_is_own(load);
    bool was_full = load->others > fmax(left, 0) + taken;

    return waited || load->throttled > held_back || load->stolen > taken ||
           (was_full && !(wait_share < no_wait));
}

bool run_load_is_own(const struct run_load *load)
{
    static const double held_back = 0.05;

    return load->others < load->wait_share / 2 &&
           !(load->throttled > held_back);
}

void run_load(const struct run *run, struct run_load *out)
{
    double iteration_ns = load_iteration_ns(run);
    double median_ns = load_median(run, "steady.wait") * 1e6;

    *out = (struct run_load){
        .processors = run_fact_number(run, "machine.cores"),
        .others = load_mean(run, "steady.others"),
        .stolen = load_mean(run, "steady.stolen"),
        .throttled = load_mean(run, "steady.throttled"),
        .wait_ns = load_counted_mean(run, "steady.wait") * 1e6};
    out->wait_share = out->wait_ns / iteration_ns;
    out->is_disturbed =
        load_is_disturbed(out, median_ns / iteration_ns,
                          run_fact_number(run, "settings.threads"));
}

bool run_is_disturbed(const struct run *run)
{
    struct run_load load;

    run_load(run, &load);
    return load.is_disturbed;
}
