/* findings/evidence.c - see evidence_internal.h. */
#include "findings/evidence_internal.h"

#include "base/doubles.h"
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

    *evidence = (struct evidence){
        .run = run, .is_own = run_fact(run, "settings.mode") != NULL};
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

uint32_t evidence_child(const struct evidence *evidence, uint32_t parent,
                        const char *name)
{
    const struct run *run = evidence->run;
    uint32_t id =
        parent == RUN_NONE ? RUN_NONE : run_scope(run, parent)->first_child;

    while (id != RUN_NONE && strcmp(run_scope(run, id)->name, name) != 0)
        id = run_scope(run, id)->next_sibling;
    return id;
}

uint32_t evidence_stage(const struct evidence *evidence, const char *name)
{
    return evidence_child(evidence, RUN_ROOT, name);
}

double evidence_ns(const struct evidence *evidence, uint32_t scope)
{
    const struct scope_stats *stats;

    if (scope == RUN_NONE)
        return 0;
    stats = &evidence->stats[scope];
    return stats->is_outside || isnan(stats->mean_ns) ? 0 : stats->mean_ns;
}

double evidence_series(const struct evidence *evidence, const char *name)
{
    const struct series *series = run_series_find(evidence->run, name);
    double values[RUN_MAX_POINTS];

    if (!series || series->n_points == 0)
        return NAN;
    for (size_t i = 0; i < series->n_points; i++)
        values[i] = series->points[i].value;
    doubles_sort(values, series->n_points);
    return stats_quantile(values, series->n_points, 0.5);
}

/* ---- speaking ----------------------------------------------------------- */

const char *evidence_time(char buffer[FINDING_TIME],
                          const struct evidence *evidence, double ns)
{
    char time[UNITS_MAX], share[UNITS_MAX];

    snprintf(buffer, FINDING_TIME, "%s (%s)", units_time(time, ns),
             units_percent(share, ns / evidence->iteration_ns, 0));
    return buffer;
}

const char *evidence_path(char buffer[FINDING_PATH],
                          const struct evidence *evidence, uint32_t scope)
{
    const struct run *run = evidence->run;
    struct str path = {0};

    if (run_scope_path_below(run, run_model_scope(run), scope, &path))
        str_clear(&path); /* the end of it says as much */
    snprintf(buffer, FINDING_PATH, "%s",
             path.n == 0 ? run_scope(run, scope)->name
             : path.n < FINDING_PATH
                 ? str_text(&path)
                 : str_text(&path) + path.n - (FINDING_PATH - 1));
    str_release(&path);
    return buffer;
}

void finding_say(struct finding *finding, double saved_ns, const char *format,
                 ...)
{
    va_list args;

    finding->saved_ns = saved_ns;
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
