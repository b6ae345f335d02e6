/* findings/rule_compute.c - layers of one class that calculate far below the
 * peak. */
#include "findings/evidence_internal.h"

void rule_compute(const struct evidence *evidence, struct finding *finding)
{
    struct layer_group group = evidence_worst_class(evidence, true);
    char path[FINDING_PATH], time[FINDING_TIME], share[UNITS_MAX];

    if (!group.class_name)
        return;
    finding_say(finding, group.saved,
                "%zu %s run%s at %.0f GFLOP/s, %s of the peak: %s above the "
                "floor%s%s",
                group.n, group.class_name, group.n == 1 ? "s" : "",
                group.bound.done_gflops,
                units_percent(share, group.bound.share, 0),
                evidence_time(time, evidence, group.saved),
                group.n == 1 ? ": " : ", most of it in ",
                evidence_path(path, evidence, group.worst));
    if (evidence->is_own)
        finding_help(finding, "--explain shows which kernels they got");
}
