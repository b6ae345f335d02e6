/* findings/rule_drift.c - iterations that get faster or slower. */
#include "findings/evidence_internal.h"

#include "base/doubles.h"
#include "base/mem.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { FEWEST = 10 };

/* The iterations that count, in order, with room to sort as many. */
struct drift {
    double *values, *scratch;
    uint32_t *iterations; /* their numbers */
    size_t n;
};

static double drift_median(const struct drift *drift, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        drift->scratch[i - first] = drift->values[i];
    doubles_sort(drift->scratch, end - first);
    return stats_quantile(drift->scratch, end - first, 0.5);
}

/* How much the first third and the last differ. That they do is known from
 * their ranks (run_verdict()); neighbours resemble each other because of it, so
 * that is not held against the interval. */
static struct estimate drift_change(const struct drift *drift)
{
    size_t third = drift->n / 3;
    struct mean first = stats_mean(drift->values, third);
    struct mean last = stats_mean(drift->values + drift->n - third, third);
    double reach = 2 * sqrt(first.variance + last.variance);
    double change = fabs(first.mean - last.mean);

    return (struct estimate){change, change - reach, change + reach};
}

/* After how many iterations the times stay at the level of the second half: the
 * last group of three in the first half whose median is above it by more than
 * noise. 0 if they do not settle: what follows must not be slower than the last
 * third by 2 %. */
static size_t drift_settles_after(const struct drift *drift)
{
    enum { group = 3 };
    static const double noise = 2, scaled_mad = 1.4826, settled = 0.02;
    size_t n = drift->n, after = 0, third;
    double level = drift_median(drift, n / 2, n), spread;

    for (size_t i = n / 2; i < n; i++)
        drift->scratch[i - n / 2] = fabs(drift->values[i] - level);
    doubles_sort(drift->scratch, n - n / 2);
    spread = stats_quantile(drift->scratch, n - n / 2, 0.5) * scaled_mad;
    spread = fmax(noise * spread, settled * level / 2);
    for (size_t i = 0; i + group <= n / 2; i++) {
        if (drift_median(drift, i, i + group) > level + spread)
            after = i + group;
    }
    /* The group's last ones may be at the level already. */
    while (after > 0 && drift->values[after - 1] <= level + spread)
        after--;
    third = (n - after) / 3;
    return drift_median(drift, after, after + third) >
                   (1 + settled) * drift_median(drift, n - third, n)
               ? 0
               : after;
}

/* Libraries and devices start in the first iteration of a program, however
 * noisy the others are. */
static bool drift_first_stands_out(const struct drift *drift)
{
    static const double times = 3;

    return drift->values[0] > times * drift_median(drift, 1, drift->n);
}

/* What leaving the first iterations out saves. */
static struct estimate drift_saved(const struct drift *drift, size_t after)
{
    struct estimate rest = estimate_of(drift->values + after, drift->n - after);
    double all = 0;

    for (size_t i = 0; i < drift->n; i++)
        all += drift->values[i] / (double)drift->n;
    return estimate_plus(estimate_times(rest, -1), all);
}

/* after: the number of the first iteration at the level. */
static void drift_report_warming(const struct evidence *evidence,
                                 uint32_t after, struct estimate saved,
                                 struct finding *finding)
{
    char time[FINDING_TIME], many[32];

    snprintf(many, sizeof many, "%" PRIu32 " iterations are", after);
    finding_say(finding, saved,
                "the first %s slower: without %s the mean is lower by %s",
                after == 1 ? "iteration is" : many, after == 1 ? "it" : "them",
                evidence_time(time, evidence, saved));
    if (evidence->is_own)
        finding_help(finding, "--warmup %" PRIu64,
                     run_health_of(evidence->run)->warm_up + after);
    else
        finding_help(finding,
                     "`assay show --iterations %" PRIu32 "..` leaves %s out",
                     after, after == 1 ? "it" : "them");
}

static void drift_report_unsettled(const struct evidence *evidence,
                                   const struct drift *drift,
                                   struct finding *finding)
{
    struct estimate change = drift_change(drift);
    char time[FINDING_TIME];

    finding_say(finding, change,
                "the first third of the iterations is slower than the last by "
                "%s, and they had not settled",
                evidence_time(time, evidence, change));
}

/* By how much the frequency fell from the first third to the last; NaN if it
 * is unknown. */
static double drift_frequency_fell(const struct evidence *evidence)
{
    const struct series *series =
        run_series_find(evidence->run, "steady.frequency");
    size_t third = series ? series->n_points / 3 : 0;
    double first = 0, last = 0;

    for (size_t i = 0; i < third; i++) {
        first += series->points[i].value;
        last += series->points[series->n_points - 1 - i].value;
    }
    return first > 0 ? 1 - last / first : NAN;
}

static void drift_report_slowing(const struct evidence *evidence,
                                 const struct drift *drift,
                                 struct finding *finding)
{
    static const double fell_enough = 0.02;
    struct estimate change = drift_change(drift);
    double fell = drift_frequency_fell(evidence);
    char time[FINDING_TIME], cause[64];

    if (fell >= fell_enough)
        snprintf(cause, sizeof cause,
                 "the processor's frequency fell by %.0f %%", 100 * fell);
    else
        snprintf(cause, sizeof cause, "the cause was not measured");
    finding_say(finding, change,
                "the last third of the iterations is slower than the first by "
                "%s: %s",
                evidence_time(time, evidence, change), cause);
}

static void drift_report(const struct evidence *evidence,
                         const struct drift *drift, struct finding *finding)
{
    static const double worth_telling = 0.01;
    const struct verdict *verdict = &evidence->verdict;
    bool is_drifting = verdict->steadiness == STEADY_DRIFTING;
    double least = worth_telling * evidence->iteration_ns;
    size_t after = drift_settles_after(drift);
    struct estimate saved = drift_saved(drift, after);

    if (!(after > 0 && estimate_reaches(saved, least)) &&
        drift_first_stands_out(drift)) {
        after = 1;
        saved = drift_saved(drift, after);
    }
    is_drifting = is_drifting && estimate_reaches(drift_change(drift), least);
    if (is_drifting && verdict->drift > 0)
        drift_report_slowing(evidence, drift, finding);
    else if (after > 0 && estimate_reaches(saved, least))
        drift_report_warming(evidence, drift->iterations[after], saved,
                             finding);
    else if (is_drifting)
        drift_report_unsettled(evidence, drift, finding);
}

void rule_drift(const struct evidence *evidence, struct finding *finding)
{
    const struct run *run = evidence->run;
    size_t n = run_iterations_kept(run);
    struct drift drift = {0};

    if (evidence->verdict.steadiness == STEADY_TOO_FEW)
        return;
    drift.values = mem_array(n, sizeof *drift.values);
    drift.scratch = mem_array(n, sizeof *drift.scratch);
    drift.iterations = mem_array(n, sizeof *drift.iterations);
    for (size_t i = 0;
         drift.values && drift.scratch && drift.iterations && i < n; i++) {
        const struct iteration *iteration = run_iteration(run, i);

        if (!run_iteration_counts(run, iteration->index))
            continue;
        drift.values[drift.n] = (double)iteration->duration_ns;
        drift.iterations[drift.n++] = iteration->index;
    }
    if (drift.n >= FEWEST)
        drift_report(evidence, &drift, finding);
    mem_free(drift.values);
    mem_free(drift.scratch);
    mem_free(drift.iterations);
}
