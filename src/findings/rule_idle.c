/* findings/rule_idle.c - threads that have nothing to do. */
#include "findings/evidence_internal.h"

#include <math.h>
#include <stdio.h>

/* The processor time of all threads against what they could have used. Where
 * they wait for a processor it is another finding. */
void rule_idle(const struct evidence *evidence, struct finding *finding)
{
    static const double enough = 0.75, waits = 0.02;
    double threads = run_fact_number(evidence->run, "settings.threads");
    double cores = run_fact_number(evidence->run, "machine.cores");
    double cpu_ns = evidence_series(evidence, "steady.cpu") * 1e6;
    double wait_ns = evidence_series(evidence, "steady.wait") * 1e6;
    double used = cpu_ns / evidence->iteration_ns, most = fmin(threads, cores);
    double idle_ns = evidence->iteration_ns * (1 - used / most);
    double fewer = fmax(1, ceil(used));
    char time[FINDING_TIME], advice[64] = "";

    if (!(most > 1) || !(used < enough * most) ||
        wait_ns > waits * evidence->iteration_ns)
        return;
    finding_say(finding, idle_ns,
                "%.0f threads keep %.1f processors busy: with all of them busy "
                "it would take %s less",
                threads, used, evidence_time(time, evidence, idle_ns));
    if (fewer < threads)
        snprintf(advice, sizeof advice, "; --threads %.0f would do as well",
                 fewer);
    finding_help(finding,
                 "parts that run on one thread are in the tree with "
                 "no GFLOP/s%s",
                 advice);
}
