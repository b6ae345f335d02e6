/* findings/rule_decode.c - photographs that are decoded while the model
 * waits. */
#include "findings/evidence_internal.h"

void rule_decode(const struct evidence *evidence, struct finding *finding)
{
    static const double worth_telling = 0.01;
    double ns = evidence_ns(evidence, evidence_stage(evidence, "decode"));
    char time[FINDING_TIME];

    if (!evidence->is_own || ns < worth_telling * evidence->iteration_ns)
        return;
    finding_say(finding, ns, "decode is serial and takes %s",
                evidence_time(time, evidence, ns));
    finding_help(finding, "decoding ahead on another thread would hide it, "
                          "smaller photographs shorten it");
}
