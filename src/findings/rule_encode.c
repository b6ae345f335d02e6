/* findings/rule_encode.c - drawing and encoding: detection needs neither. */
#include "findings/evidence_internal.h"

#include <string.h>

/* Asked of every scope, so it looks up from the scope and not for it. */
static bool encode_is_part(const struct evidence *evidence, uint32_t scope,
                           const void *context)
{
    const struct scope *part = run_scope(evidence->run, scope);
    const struct scope *stage;

    (void)context;
    if (part->parent == RUN_NONE ||
        (strcmp(part->name, "draw") != 0 && strcmp(part->name, "encode") != 0))
        return false;
    stage = run_scope(evidence->run, part->parent);
    return stage->parent == RUN_ROOT && !strcmp(stage->name, "postprocess");
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
