/* findings/rule_bandwidth.c - layers of one class that move data far slower
 * than the memory could. */
#include "findings/evidence_internal.h"

/* A larger batch helps only layers whose data are mostly weights. */
static const double mostly_weights = 0.5;

void rule_bandwidth(const struct evidence *evidence, struct finding *finding)
{
    struct layer_group group = evidence_worst_class(evidence, false);
    char path[FINDING_PATH], time[FINDING_TIME], floor[UNITS_MAX];

    if (!group.class_name)
        return;
    finding_say(finding, group.saved,
                "%zu %s take%s %s at %.1f GB/s, where this machine could do "
                "with %s%s%s",
                group.n, group.class_name, group.n == 1 ? "s" : "",
                evidence_time(time, evidence, group.time), group.bound.gbs,
                units_time(floor, group.bound.floor_ns),
                group.n == 1 ? ": " : ", most of it in ",
                evidence_path(path, evidence, group.worst));
    if (evidence->is_own && group.parameter_share >= mostly_weights)
        finding_help(finding, "with a larger --batch, weights are read once "
                              "for more images");
}
