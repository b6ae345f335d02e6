/* findings/rule_recording.c - a recording that costs more than it should. */
#include "findings/evidence_internal.h"

void rule_recording(const struct evidence *evidence, struct finding *finding)
{
    static const double too_much = 0.015;
    double share = run_fact_number(evidence->run, "recording.cost_share");
    double low = run_fact_number(evidence->run, "recording.cost_low");
    double pairs = run_fact_number(evidence->run, "recording.pairs");
    char time[FINDING_TIME];

    if (!(share > too_much) || !(low > 0))
        return;
    finding_say(finding, share / (1 + share) * evidence->iteration_ns,
                "recording costs %s, by %.0f pairs of iterations with and "
                "without it",
                evidence_time(time, evidence,
                              share / (1 + share) * evidence->iteration_ns),
                pairs);
    finding_help(finding, "--record modules or --record leaves is less fine");
}
