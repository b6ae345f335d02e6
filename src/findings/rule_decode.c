/* findings/rule_decode.c - photographs decoded while the model waits. */
#include "findings/evidence_internal.h"

void rule_decode(const struct evidence *evidence, struct finding *finding)
{
    static const double worth_telling = 0.01;
    struct estimate decode =
        evidence_ns(evidence, evidence_stage(evidence, "decode"));
    char time[FINDING_TIME];

    if (!evidence->is_own ||
        !estimate_reaches(decode, worth_telling * evidence->iteration_ns))
        return;
    finding_say(finding, decode, "decode is serial and takes %s",
                evidence_time(time, evidence, decode));
    finding_help(finding, "smaller photographs would shorten it");
}
