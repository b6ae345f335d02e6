/* findings/rule_load.c - other work on the same processors. */
#include "findings/evidence_internal.h"

#include <math.h>
#include <stdio.h>

/* Who took the processors: "the host gave 0.4 processors to its other guests".
 */
static void name_taker(const struct run_load *load, char *text, size_t size)
{
    if (load->throttled > load->others || isnan(load->others))
        snprintf(text, size,
                 load->throttled > 0 ? "the container's limit held it back"
                                     : "other work on the machine");
    else if (load->stolen > load->others / 2)
        snprintf(text, size,
                 "the host gave %.2f of %.0f processors to other guests",
                 load->stolen, load->processors);
    else
        snprintf(text, size, "other programs kept %.2f of %.0f processors busy",
                 load->others, load->processors);
}

void rule_load(const struct evidence *evidence, struct finding *finding)
{
    static const double worth_telling = 0.01;
    const struct run_load *load = &evidence->load;
    double threads = run_fact_number(evidence->run, "settings.threads");
    double wait_ns = isnan(load->wait_ns) ? 0 : load->wait_ns;
    char taker[96], time[FINDING_TIME];

    if (!load->is_disturbed && !(load->wait_share >= worth_telling))
        return;
    if (threads > run_fact_number(evidence->run, "machine.cores"))
        return; /* rule_threads.c */
    name_taker(load, taker, sizeof taker);
    finding_say(finding, wait_ns,
                "%s: a thread waited %s of an iteration for a processor", taker,
                evidence_time(time, evidence, wait_ns));
    finding_help(finding, "measure on a quiet machine, or leave the others a "
                          "processor with fewer --threads");
}
