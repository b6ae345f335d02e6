/* findings/rule_detections.c - time that grows with what is found. */
#include "findings/evidence_internal.h"

#include <math.h>

void rule_detections(const struct evidence *evidence, struct finding *finding)
{
    static const double worth_telling = 0.02, good_fit = 0.5;
    const struct content *content = &evidence->content;
    double each = content->fit.terms_ns[CONTENT_DETECTIONS];
    double ns = each * content->detections.mean;
    char time[FINDING_TIME], one[UNITS_MAX];

    if (content->fit.n == 0 || isnan(each) || !(content->fit.r2 >= good_fit) ||
        !(ns >= worth_telling * evidence->iteration_ns))
        return;
    finding_say(finding, ns,
                "each detection costs %s: %.0f of them, the mean, %s (R2 %.2f)",
                units_time(one, each), content->detections.mean,
                evidence_time(time, evidence, ns), content->fit.r2);
    finding_help(finding, "a model that keeps fewer of them is faster on "
                          "crowded pictures");
}
