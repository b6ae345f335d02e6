/* findings/rule_drift.c - iterations that get faster or slower. */
#include "findings/evidence_internal.h"

#include <inttypes.h>
#include <math.h>

/* Which iterations to leave out: of another program, those of the run that is
 * there. */
static void help_to_warm(const struct evidence *evidence,
                         struct finding *finding)
{
    uint64_t slow = evidence->verdict.n / 3 + 1;

    if (evidence->is_own)
        finding_help(finding, "--warmup %" PRIu64,
                     run_health_of(evidence->run)->warm_up + slow);
    else
        finding_help(finding,
                     "`assay show --iterations %" PRIu64 "..` leaves the first "
                     "ones out",
                     slow);
}

void rule_drift(const struct evidence *evidence, struct finding *finding)
{
    const struct verdict *verdict = &evidence->verdict;
    double ns = fabs(verdict->drift) * evidence->iteration_ns;
    char time[FINDING_TIME];

    if (verdict->steadiness != STEADY_DRIFTING)
        return;
    evidence_time(time, evidence, ns);
    if (verdict->drift < 0) {
        finding_say(finding, ns,
                    "the first third of the iterations is slower than the last "
                    "by %s: the warm-up was too short",
                    time);
        help_to_warm(evidence, finding);
    } else {
        finding_say(finding, ns,
                    "the last third of the iterations is slower than the first "
                    "by %s: the machine throttles, or something grows",
                    time);
        finding_help(finding, "let it cool down; fewer threads throttle "
                              "less");
    }
}
