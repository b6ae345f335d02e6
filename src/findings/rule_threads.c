/* findings/rule_threads.c - more threads than processors. */
#include "findings/evidence_internal.h"

#include <math.h>

void rule_threads(const struct evidence *evidence, struct finding *finding)
{
    double threads = run_fact_number(evidence->run, "settings.threads");
    double cores = run_fact_number(evidence->run, "machine.cores");
    double switches = evidence_series(evidence, "steady.involuntary_switches");
    double wait_ns = evidence_series(evidence, "steady.wait") * 1e6;

    if (!(threads > cores))
        return;
    if (isnan(switches))
        finding_say(finding, 0, "%.0f threads share %.0f processors", threads,
                    cores);
    else
        finding_say(finding, isnan(wait_ns) ? 0 : wait_ns,
                    "%.0f threads share %.0f processors and are interrupted "
                    "%.0f times an iteration",
                    threads, cores, switches);
    finding_help(finding, "--threads %.0f", cores);
}
