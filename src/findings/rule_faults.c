/* findings/rule_faults.c - pages touched for the first time while measuring. */
#include "findings/evidence_internal.h"

/* About what the kernel needs to find and clear a page of 4 KiB. */
static const double fault_ns = 500;

void rule_faults(const struct evidence *evidence, struct finding *finding)
{
    static const double worth_telling = 0.005;
    double faults = evidence_series(evidence, "steady.page_faults");
    char time[FINDING_TIME];

    if (!(faults * fault_ns >= worth_telling * evidence->iteration_ns))
        return;
    finding_say(finding, faults * fault_ns,
                "%.0f page faults an iteration, about %s: memory goes back to "
                "the system and comes again",
                faults, evidence_time(time, evidence, faults * fault_ns));
    finding_help(finding, "MALLOC_TRIM_THRESHOLD_=-1 in the environment keeps "
                          "it");
}
