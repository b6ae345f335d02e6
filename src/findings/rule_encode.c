/* findings/rule_encode.c - drawing and encoding, which no detection needs. */
#include "findings/evidence_internal.h"

void rule_encode(const struct evidence *evidence, struct finding *finding)
{
    static const double worth_telling = 0.02;
    uint32_t stage = evidence_stage(evidence, "postprocess");
    double draw =
        evidence_ns(evidence, evidence_child(evidence, stage, "draw"));
    double encode =
        evidence_ns(evidence, evidence_child(evidence, stage, "encode"));
    char time[FINDING_TIME];

    if (!evidence->is_own ||
        draw + encode < worth_telling * evidence->iteration_ns)
        return;
    finding_say(finding, draw + encode,
                "drawing and encoding pictures takes %s",
                evidence_time(time, evidence, draw + encode));
    finding_help(finding, "--score 1 draws next to nothing");
}
