/* findings/rule_photo.c - one photograph far slower than the others. */
#include "findings/evidence_internal.h"

#include "base/doubles.h"
#include "base/mem.h"

#include <math.h>

/* 0 if memory runs out; nothing is reported then. */
static double photo_median(const struct content *content)
{
    double *values = mem_array(content->n_photos, sizeof *values), median;

    if (!values)
        return 0;
    for (size_t i = 0; i < content->n_photos; i++)
        values[i] = content->photos[i].median_ns;
    doubles_sort(values, content->n_photos);
    median = stats_quantile(values, content->n_photos, 0.5);
    mem_free(values);
    return median;
}

void rule_photo(const struct evidence *evidence, struct finding *finding)
{
    enum { fewest_photos = 3, fewest_runs = 2 };
    static const double far_slower = 1.3;
    const struct content *content = &evidence->content;
    const struct content_photo *slowest;
    char slow[UNITS_MAX], usual[UNITS_MAX];
    double median, saved_ns;

    if (content->n_photos < fewest_photos ||
        run_fact(evidence->run, "settings.batch")) /* of several photographs */
        return;
    slowest = &content->photos[content->slowest];
    median = photo_median(content);
    if (slowest->runs < fewest_runs || !(median > 0) ||
        slowest->min_ns < far_slower * median)
        return;
    saved_ns = (slowest->median_ns - median) / (double)content->n_photos;
    finding_say(
        finding,
        (struct estimate){
            saved_ns, (slowest->min_ns - median) / (double)content->n_photos,
            NAN},
        "%.80s takes %s, always at least 1.3 times the %s of the median "
        "photograph%s%s",
        content_name(evidence->run, slowest),
        units_time(slow, slowest->median_ns), units_time(usual, median),
        content->reason[0] ? ": " : "", content->reason);
    finding_help(finding,
                 "such pictures determine the worst latency: report p99 "
                 "along with the median");
}
