/* findings/rule_threads.c - more threads than processors. */
#include "findings/evidence_internal.h"

#include <math.h>

void rule_threads(const struct evidence *evidence, struct finding *finding)
{
    static const double taken_by_others = 0.2;
    double threads = run_fact_number(evidence->run, "settings.threads");
    double cores = run_fact_number(evidence->run, "machine.cores");
    struct estimate switches =
        evidence_series(evidence, "steady.involuntary_switches");
    struct estimate wait =
        estimate_times(evidence_series(evidence, "steady.wait"), 1e6);

    if (!(threads > cores) || evidence->load.others > taken_by_others)
        return;
    if (isnan(wait.mean))
        wait = (struct estimate){0, NAN, NAN};
    if (isnan(switches.mean))
        finding_say(finding, wait, "%.0f threads share %.0f processors",
                    threads, cores);
    else
        finding_say(finding, wait,
                    "%.0f threads share %.0f processors and are interrupted "
                    "%.0f times per iteration",
                    threads, cores, switches.mean);
    if (evidence->is_own)
        finding_help(finding, "--threads %.0f gives each a processor", cores);
}
