/* findings/rule_load.c - other work on the same processors. */
#include "findings/evidence_internal.h"

#include <math.h>
#include <stdio.h>

/* "the host gave 0.40 of 2 processors to other guests" */
static void load_name_taker(const struct run_load *load, char *text,
                            size_t size)
{
    if (run_load_is_own(load))
        snprintf(text, size, "the run's own threads took turns");
    else if (load->throttled > load->others || isnan(load->others))
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
    struct estimate wait =
        estimate_times(evidence_series(evidence, "steady.wait"), 1e6);
    char taker[96], time[FINDING_TIME];

    if (!load->is_disturbed && !(load->wait_share >= worth_telling))
        return;
    if (threads > run_fact_number(evidence->run, "machine.cores"))
        return; /* rule_threads.c */
    load_name_taker(load, taker, sizeof taker);
    if (isnan(wait.mean))
        wait = (struct estimate){0, NAN, NAN};
    if (wait.mean > evidence->iteration_ns)
        finding_say(finding,
                    (struct estimate){evidence->iteration_ns, NAN, NAN},
                    "%s: threads waited longer for a processor than an "
                    "iteration takes",
                    taker);
    else
        finding_say(finding, wait,
                    "%s: a thread waited %s per iteration for a processor",
                    taker, evidence_time(time, evidence, wait));
    if (!run_load_is_own(load))
        finding_help(finding, "measure on a quiet machine");
}
