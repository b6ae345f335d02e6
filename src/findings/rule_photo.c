/* findings/rule_photo.c - one photograph far slower than the others. */
#include "findings/evidence_internal.h"

#include "base/doubles.h"
#include "base/mem.h"

/* 0 where there is no memory: nothing is said then. */
static double median_photo(const struct content *content)
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
    double median;

    if (content->n_photos < fewest_photos)
        return;
    slowest = &content->photos[content->slowest];
    median = median_photo(content);
    if (slowest->runs < fewest_runs || !(median > 0) ||
        slowest->min_ns < far_slower * median)
        return;
    finding_say(finding,
                (slowest->median_ns - median) / (double)content->n_photos,
                "%.80s takes %s, and never less than 1.3 times the %s of the "
                "photograph in the middle%s%s",
                content_name(evidence->run, slowest),
                units_time(slow, slowest->median_ns), units_time(usual, median),
                content->reason[0] ? ": " : "", content->reason);
    finding_help(finding, "a latency for the set is set by such pictures; "
                          "tell p99 beside the median");
}
