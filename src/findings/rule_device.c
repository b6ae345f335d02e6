/* findings/rule_device.c - a device that waits. */
#include "base/mem.h"
#include "findings/evidence_internal.h"
#include "run/device_balance.h"

#include <math.h>

static const struct point *device_point(const struct point *points, size_t n,
                                        uint32_t iteration)
{
    for (size_t i = 0; i < n; i++) {
        if (points[i].iteration == iteration)
            return &points[i];
    }
    return NULL;
}

/* An iteration's time less what the device did in it, over those that
 * count. */
static struct estimate device_idle(const struct evidence *evidence)
{
    const struct run *run = evidence->run;
    struct point *points = NULL;
    struct error ignored = {0};
    double values[RUN_MAX_POINTS];
    size_t n_points = 0, n = 0;

    if (run_device_points(run, &points, &n_points, &ignored))
        return (struct estimate){NAN, NAN, NAN};
    for (size_t i = 0; i < run_iterations_kept(run) && n < RUN_MAX_POINTS;
         i++) {
        const struct iteration *iteration = run_iteration(run, i);
        const struct point *point =
            device_point(points, n_points, iteration->index);

        if (point && run_iteration_counts(run, iteration->index))
            values[n++] = (double)(iteration->duration_ns - point->total_ns);
    }
    mem_free(points);
    return n ? estimate_of(values, n) : (struct estimate){NAN, NAN, NAN};
}

/* What more than half of the time is spent for; N_IDLE_REASONS: nothing. */
static enum idle_reason device_main_reason(const struct device_balance *balance)
{
    enum idle_reason i = 0;

    while (i < N_IDLE_REASONS && balance->reasons_ns[i] <= balance->idle_ns / 2)
        i++;
    return i;
}

/* "most of it for the host to launch kernels"; "" if there is no most. */
static const char *device_reason_clause(enum idle_reason reason)
{
    static const char *const clauses[N_IDLE_REASONS] = {
        [IDLE_LAUNCH] = ", most of it for the host to launch kernels",
        [IDLE_SYNC] = ", most of it while the host waited for a result",
        [IDLE_COPY] = ", most of it for data to be copied",
        [IDLE_PHOTOGRAPH] = ", most of it for the photograph",
        [IDLE_DATA] = ", most of it for the next batch of data",
        [IDLE_HOST] = ", most of it for other work of the host"};

    return reason < N_IDLE_REASONS ? clauses[reason] : "";
}

void rule_device(const struct evidence *evidence, struct finding *finding)
{
    static const double worth_telling = 0.1;
    struct device_balance balance;
    struct error ignored = {0};
    struct estimate idle;
    enum idle_reason reason;
    char time[FINDING_TIME];
    bool is_known;

    if (run_device_balance(evidence->run, &balance, &is_known, &ignored) ||
        !is_known)
        return;
    idle = device_idle(evidence);
    if (!estimate_reaches(idle, worth_telling * evidence->iteration_ns))
        return;
    reason = device_main_reason(&balance);
    finding_say(finding, idle, "the device is idle for %s%s",
                evidence_time(time, evidence, idle),
                device_reason_clause(reason));
    if (reason == IDLE_PHOTOGRAPH && evidence->is_own &&
        !run_fact(evidence->run, "stream.in_flight"))
        finding_help(finding, "--in-flight 2 decodes photographs ahead");
}
