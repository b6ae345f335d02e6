/* findings/rule_recording.c - a recording that costs more than it should. */
#include "findings/evidence_internal.h"

/* A share of the bare time as one of the recorded time. */
static double recording_part(double share)
{
    return share / (1 + share);
}

/* Without advice: --record leaves was tried, and most of the cost is that of
 * reporting an op, whatever detail is recorded. */
void rule_recording(const struct evidence *evidence, struct finding *finding)
{
    static const double too_much = 0.015;
    double share = run_fact_number(evidence->run, "recording.cost_share");
    double low = run_fact_number(evidence->run, "recording.cost_low");
    double high = run_fact_number(evidence->run, "recording.cost_high");
    double pairs = run_fact_number(evidence->run, "recording.pairs");
    struct estimate cost = {recording_part(share) * evidence->iteration_ns,
                            recording_part(low) * evidence->iteration_ns,
                            recording_part(high) * evidence->iteration_ns};
    char time[FINDING_TIME];

    if (!(pairs >= RUN_FEWEST_PAIRS) || !(low > too_much))
        return;
    finding_say(finding, cost,
                "recording costs %s, measured with %.0f pairs of iterations "
                "with and without it",
                evidence_time(time, evidence, cost), pairs);
}
