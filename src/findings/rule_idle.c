/* findings/rule_idle.c - threads with nothing to do. */
#include "findings/evidence_internal.h"

#include <math.h>

/* The processors that were busy with us: processor time over time, of the same
 * iterations. How well it is known comes from what each of them adds to the
 * ratio (the usual estimate for a ratio of means). */
static struct estimate idle_busy(const struct evidence *evidence)
{
    const struct run *run = evidence->run;
    const struct series *cpu = run_series_find(run, "steady.cpu");
    double values[RUN_MAX_POINTS], times[RUN_MAX_POINTS], value;
    double cpu_ns = 0, all_ns = 0, ratio;
    size_t n = 0;

    for (size_t i = 0; cpu && i < run_iterations_kept(run); i++) {
        const struct iteration *iteration = run_iteration(run, i);

        if (n == RUN_MAX_POINTS ||
            !run_iteration_counts(run, iteration->index) ||
            !series_value(cpu, iteration->index, &value))
            continue;
        values[n] = value * 1e6;
        times[n] = (double)iteration->duration_ns;
        cpu_ns += values[n];
        all_ns += times[n];
        n++;
    }
    if (!(all_ns > 0))
        return (struct estimate){NAN, NAN, NAN};
    ratio = cpu_ns / all_ns;
    for (size_t i = 0; i < n; i++)
        values[i] = (values[i] - ratio * times[i]) * (double)n / all_ns;
    return estimate_plus(estimate_of(values, n), ratio);
}

/* A model that takes most of an iteration for one image: its layers are too
 * small for the threads. Other stages run on one thread, whatever the batch. */
static bool idle_is_small(const struct evidence *evidence)
{
    static const double most = 0.75;
    uint32_t model = run_model_scope(evidence->run);

    return evidence->is_own && model != RUN_NONE &&
           !run_fact(evidence->run, "settings.batch") &&
           evidence->stats[model].mean_ns >= most * evidence->iteration_ns;
}

/* Waiting for a processor is another finding, and so is a device that waits for
 * the host; while the host waits for a device, its threads need not be busy. */
void rule_idle(const struct evidence *evidence, struct finding *finding)
{
    static const double enough = 0.75, waits = 0.02;
    double threads = run_fact_number(evidence->run, "settings.threads");
    double cores = run_fact_number(evidence->run, "machine.cores");
    double most = fmin(threads, cores);
    struct estimate wait = evidence_series(evidence, "steady.wait");
    struct estimate busy = idle_busy(evidence), idle;
    char time[FINDING_TIME];

    if (run_has_device(evidence->run) || !(most > 1) ||
        !(busy.high < enough * most) ||
        wait.mean * 1e6 > waits * evidence->iteration_ns)
        return;
    idle = estimate_times(estimate_plus(busy, -most),
                          -evidence->iteration_ns / most);
    finding_say(finding, idle,
                "%.0f threads keep only %.1f processors busy: with all of them "
                "busy it would take at most %s less",
                threads, busy.mean, evidence_time(time, evidence, idle));
    if (idle_is_small(evidence))
        finding_help(finding, "a larger --batch gives them more to share");
}
