/* findings/evidence.c - see evidence_internal.h. */
#include "findings/evidence_internal.h"

#include "base/mem.h"
#include "base/str.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum assay_status evidence_gather(const struct run *run,
                                  struct evidence *evidence, struct error *err)
{
    size_t n = run_scope_count(run);
    enum assay_status st = ASSAY_OK;

    *evidence =
        (struct evidence){.run = run,
                          .is_own = run_fact(run, "settings.mode") != NULL,
                          .has_device = run_has_device(run)};
    run_load(run, &evidence->load);
    evidence->stats = mem_array(n, sizeof *evidence->stats);
    if (!evidence->stats)
        return error_nomem(err, n * sizeof *evidence->stats,
                           "the findings of a run");
    for (uint32_t i = 0; !st && i < n; i++)
        st = run_scope_stats(run, i, RUN_ANY, &evidence->stats[i], err);
    if (!st)
        st = run_verdict(run, &evidence->verdict, err);
    if (!st)
        st = run_content(run, &evidence->content, err);
    if (!st)
        st = bounds_build(run, &evidence->bounds, err);
    if (!st)
        evidence->iteration_ns = evidence->stats[RUN_ROOT].mean_ns;
    return st;
}

void evidence_release(struct evidence *evidence)
{
    mem_free(evidence->stats);
    content_release(&evidence->content);
    bounds_release(&evidence->bounds);
    *evidence = (struct evidence){0};
}

uint32_t evidence_stage(const struct evidence *evidence, const char *name)
{
    const struct run *run = evidence->run;
    uint32_t id = run_scope(run, RUN_ROOT)->first_child;

    while (id != RUN_NONE && strcmp(run_scope(run, id)->name, name) != 0)
        id = run_scope(run, id)->next_sibling;
    return id;
}

/* ---- reporting ---------------------------------------------------------- */

const char *evidence_time(char buffer[FINDING_TIME],
                          const struct evidence *evidence, struct estimate time)
{
    static const double well_known = 0.05;
    char text[UNITS_MAX], share[UNITS_MAX], low[UNITS_MAX], high[UNITS_MAX];

    units_percent(share, time.mean / evidence->iteration_ns, 0);
    units_time(text, time.mean);
    if (time.high - time.low <= 2 * well_known * time.mean || isnan(time.low))
        snprintf(buffer, FINDING_TIME, "%s (%s)", text, share);
    else
        snprintf(buffer, FINDING_TIME, "%s [%s, %s] (%s)", text,
                 units_time(low, fmax(time.low, 0)),
                 units_time(high, time.high), share);
    return buffer;
}

const char *evidence_path(char buffer[FINDING_PATH],
                          const struct evidence *evidence, uint32_t scope)
{
    const struct run *run = evidence->run;
    struct str path = {0};

    if (run_scope_path_below(run, run_model_scope(run), scope, &path))
        str_clear(&path); /* its name will do */
    snprintf(buffer, FINDING_PATH, "%s",
             path.n == 0 ? run_scope(run, scope)->name
             : path.n < FINDING_PATH
                 ? str_text(&path)
                 : str_text(&path) + path.n - (FINDING_PATH - 1));
    str_release(&path);
    return buffer;
}

void finding_say(struct finding *finding, struct estimate saved,
                 const char *format, ...)
{
    va_list args;

    finding->saved_ns = saved.mean;
    finding->low_ns = saved.low;
    finding->high_ns = saved.high;
    va_start(args, format);
    vsnprintf(finding->text, sizeof finding->text, format, args);
    va_end(args);
}

void finding_help(struct finding *finding, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(finding->help, sizeof finding->help, format, args);
    va_end(args);
}
