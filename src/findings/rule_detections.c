/* findings/rule_detections.c - time that grows with the detections. */
#include "findings/evidence_internal.h"

#include <math.h>

void rule_detections(const struct evidence *evidence, struct finding *finding)
{
    static const double worth_telling = 0.02, good_fit = 0.5;
    const struct content *content = &evidence->content;
    double each = content->fit.terms_ns[CONTENT_DETECTIONS];
    double ns = each * content->detections.mean;
    double n = (double)content->fit.n, r2 = content->fit.r2;
    /* For one regressor, r2 gives the t of its slope. */
    double reach = 2 * ns * sqrt((1 - r2) / (r2 * fmax(n - 2, 1)));
    struct estimate cost = {ns, ns - reach, ns + reach};
    char time[FINDING_TIME], one[UNITS_MAX];

    if (content->fit.n == 0 || isnan(each) || !(content->fit.r2 >= good_fit) ||
        !estimate_reaches(cost, worth_telling * evidence->iteration_ns))
        return;
    finding_say(finding, cost,
                "each detection costs %s; the mean of %.0f costs %s (R2 %.2f)",
                units_time(one, each), content->detections.mean,
                evidence_time(time, evidence, cost), content->fit.r2);
}
