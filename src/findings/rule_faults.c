/* findings/rule_faults.c - pages touched for the first time while measuring. */
#include "findings/evidence_internal.h"

/* The cost of a fault is that of this machine, measured with the run. */
void rule_faults(const struct evidence *evidence, struct finding *finding)
{
    static const double worth_telling = 0.005;
    double each_ns = run_fact_number(evidence->run, "machine.fault_ns");
    struct estimate faults = evidence_series(evidence, "steady.page_faults");
    struct estimate cost = estimate_times(faults, each_ns);
    char time[FINDING_TIME], each[UNITS_MAX];

    if (!estimate_reaches(cost, worth_telling * evidence->iteration_ns))
        return;
    finding_say(
        finding, cost,
        "%.0f page faults per iteration at %s each, together %s: memory "
        "is returned to the system and allocated again",
        faults.mean, units_time(each, each_ns),
        evidence_time(time, evidence, cost));
    finding_help(finding, "MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=-1 in the "
                          "environment keeps it");
}
