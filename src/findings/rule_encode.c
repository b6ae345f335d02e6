/* findings/rule_encode.c - drawing and encoding: detection needs neither. */
#include "findings/evidence_internal.h"

static bool encode_is_part(const struct evidence *evidence, uint32_t scope,
                           const void *context)
{
    uint32_t stage = evidence_stage(evidence, "postprocess");

    (void)context;
    return stage != RUN_NONE &&
           (scope == evidence_child(evidence, stage, "draw") ||
            scope == evidence_child(evidence, stage, "encode"));
}

void rule_encode(const struct evidence *evidence, struct finding *finding)
{
    static const double worth_telling = 0.02;
    struct estimate both =
        evidence_sum(evidence, encode_is_part, NULL, EVIDENCE_TOTAL);
    char time[FINDING_TIME];

    if (!evidence->is_own ||
        !estimate_reaches(both, worth_telling * evidence->iteration_ns))
        return;
    finding_say(finding, both, "drawing and encoding pictures takes %s",
                evidence_time(time, evidence, both));
}
