/* findings/rule_load.c - other programs on the same processors. */
#include "findings/evidence_internal.h"

void rule_load(const struct evidence *evidence, struct finding *finding)
{
    static const double worth_telling = 0.01;
    double wait_ns = evidence_series(evidence, "steady.wait") * 1e6;
    double switches = evidence_series(evidence, "steady.involuntary_switches");
    double threads = run_fact_number(evidence->run, "settings.threads");
    double cores = run_fact_number(evidence->run, "machine.cores");
    char time[FINDING_TIME];

    if (!(wait_ns >= worth_telling * evidence->iteration_ns) || threads > cores)
        return;
    finding_say(finding, wait_ns,
                "other work on the machine: the main thread waits %s an "
                "iteration for a processor, interrupted %.0f times",
                evidence_time(time, evidence, wait_ns), switches);
    finding_help(finding, "measure on a quiet machine, or leave it a "
                          "processor with fewer --threads");
}
