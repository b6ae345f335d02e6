/* run/subset.c - the part of a run that a filter lets through. */
#include "run/run_internal.h"

#include "base/mem.h"

#include <string.h>

/* Copies the names, under the same ids; nothing is counted yet. */
static enum assay_status
subset_copy_names(struct run *to, const struct run *from, struct error *err)
{
    enum assay_status st = ASSAY_OK;
    uint32_t id;

    st = run_name_root(to, from->scopes[RUN_ROOT].name,
                       from->scopes[RUN_ROOT].class_name, err);
    for (size_t i = 1; !st && i < from->n_scopes; i++) {
        const struct scope *scope = &from->scopes[i];

        st = run_scope_add(to, scope->parent, scope->name, scope->class_name,
                           &id, err);
    }
    for (size_t i = 1; !st && i < from->n_phases; i++)
        st = run_phase_add(to, from->phases[i], &id, err);
    for (size_t i = 0; !st && i < from->n_threads; i++)
        st = run_thread_add(to, from->threads[i].name, from->threads[i].kind,
                            &id, err);
    for (size_t i = 0; !st && i < from->n_facts; i++)
        st = run_fact_set(to, from->facts[i].key, from->facts[i].value, err);
    return st;
}

static enum assay_status
subset_copy_work(struct run *to, const struct run *from, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (uint32_t i = 0; !st && i < from->n_scopes; i++) {
        const struct scope_work *work = run_work(from, i);

        if (work)
            st = run_work_set(to, i, work, err);
        if (!st && run_text(from, i))
            st = run_text_set(to, i, run_text(from, i), err);
    }
    return st ? st : edges_copy(to, from, NULL, err);
}

static enum assay_status
subset_copy_counters(struct run *to, const struct run *from, struct error *err)
{
    for (size_t i = 0; i < from->n_counters; i++) {
        struct counter copy = from->counters[i];
        enum assay_status st;

        copy.points = mem_array(copy.n_points, sizeof *copy.points);
        if (!copy.points)
            return error_nomem(err, copy.n_points * sizeof *copy.points,
                               "the points of a counter");
        if (copy.n_points)
            memcpy(copy.points, from->counters[i].points,
                   copy.n_points * sizeof *copy.points);
        copy.points_capacity = copy.n_points;
        st = run_counter_restore(to, &copy, err);
        if (st)
            return st;
    }
    return ASSAY_OK;
}

static bool filter_is_whole(const struct run_filter *filter)
{
    return filter->first_iteration == 0 && filter->last_iteration == UINT64_MAX;
}

/* From iterations to steps before them; first: the step of iteration 0. */
static void filter_shift_to_steps(struct run_filter *filter, uint64_t first)
{
    uint64_t before = first ? first - 1 : 0;

    filter->first_iteration += before;
    if (filter->last_iteration < UINT64_MAX - before)
        filter->last_iteration += before;
}

static enum assay_status subset_copy_observed(struct run *to,
                                              const struct run *from,
                                              const struct run_filter *filter,
                                              struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < from->n_series; i++) {
        struct run_filter own = *filter;

        if (series_is_by_step(&from->series[i]) && !filter_is_whole(filter))
            filter_shift_to_steps(&own, run_step_of(from, 0));
        st = run_series_copy(to, &from->series[i], own.first_iteration,
                             own.last_iteration, err);
    }
    for (size_t i = 0; !st && i < from->n_ledger; i++)
        st = run_ledger_add(to, &from->ledger[i], err);
    for (size_t i = 0; !st && i < from->n_spaces; i++)
        st = run_space_restore(to, &from->spaces[i], err);
    return st;
}

static bool filter_has_iteration(const struct run_filter *filter,
                                 uint32_t iteration)
{
    return iteration >= filter->first_iteration &&
           iteration <= filter->last_iteration;
}

static bool filter_has_names(const struct run *run,
                             const struct run_filter *filter, uint32_t phase,
                             uint32_t thread)
{
    return (!filter->phase || strcmp(run->phases[phase], filter->phase) == 0) &&
           (!filter->thread ||
            strcmp(run->threads[thread].name, filter->thread) == 0);
}

/* Counts a range of iterations again from its points. The times of single calls
 * are no longer known: each counts as the mean of its iteration. */
static enum assay_status subset_recount(struct cell *to,
                                        const struct cell *from,
                                        const struct run_filter *filter)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < from->n_points; i++) {
        const struct point *point = &from->points[i];

        if (!filter_has_iteration(filter, point->iteration))
            continue;
        st = dist_add(&to->iterations, point->total_ns);
        for (uint32_t k = 0; !st && k < point->calls; k++)
            st = dist_add(&to->calls, point->total_ns / point->calls);
        if (!st)
            st = cell_add_point(to, point);
        to->total_ns += point->total_ns;
        to->self_ns += point->self_ns;
    }
    return st;
}

static enum assay_status subset_copy_whole(struct cell *to,
                                           const struct cell *from)
{
    if (dist_merge(&to->calls, &from->calls) ||
        dist_merge(&to->iterations, &from->iterations))
        return ASSAY_NOMEM;
    to->stride = from->stride;
    to->total_ns = from->total_ns;
    to->self_ns = from->self_ns;
    for (size_t i = 0; i < from->n_points; i++) {
        if (cell_add_point(to, &from->points[i]))
            return ASSAY_NOMEM;
    }
    return ASSAY_OK;
}

static enum assay_status subset_copy_cell(struct run *to,
                                          const struct cell *from,
                                          const struct run_filter *filter,
                                          struct error *err)
{
    struct cell *cell;

    if (!filter_is_whole(filter) && from->is_outside)
        return ASSAY_OK;
    cell = cell_find_or_add(to, from->scope, from->phase, from->thread,
                            from->is_outside, err);
    if (!cell)
        return ASSAY_NOMEM;
    cell->bytes = from->bytes;
    cell->peak_bytes = from->peak_bytes;
    cell->stride = from->stride;
    if (filter_is_whole(filter) ? subset_copy_whole(cell, from)
                                : subset_recount(cell, from, filter))
        return error_nomem(err, from->n_points * sizeof *from->points,
                           "part of a run");
    return ASSAY_OK;
}

static enum assay_status subset_copy_iterations(struct run *to,
                                                const struct run *from,
                                                const struct run_filter *filter,
                                                struct error *err)
{
    enum assay_status st = ASSAY_OK;

    to->iteration_stride = from->iteration_stride;
    for (size_t i = 0; !st && i < from->n_iterations_kept; i++) {
        if (filter_has_iteration(filter, from->iterations[i].index))
            st = run_iteration_restore(to, &from->iterations[i], err);
    }
    to->n_iterations =
        filter_is_whole(filter) ? from->n_iterations : to->n_iterations_kept;
    return st;
}

static enum assay_status subset_copy_chosen(struct run *to,
                                            const struct run *from,
                                            const struct run_filter *filter,
                                            struct error *err)
{
    enum assay_status st = subset_copy_iterations(to, from, filter, err);

    for (size_t i = 0; !st && i < from->n_cells; i++) {
        const struct cell *cell = &from->cells[i];

        if (filter_has_names(from, filter, cell->phase, cell->thread))
            st = subset_copy_cell(to, cell, filter, err);
        else
            to->is_part |= !cell->is_outside;
    }
    for (size_t i = 0; !st && i < from->n_kept; i++) {
        const struct sample *sample = &from->kept[i];

        if (filter_has_names(from, filter, sample->phase, sample->thread) &&
            (filter_is_whole(filter) ||
             filter_has_iteration(filter, sample->iteration)))
            st = run_keep(to, sample, err);
    }
    return st;
}

/* Lists the existing names, for the message about one that does not exist; a
 * name may have a comma itself. */
static void subset_list_name(struct str *list, const char *name)
{
    (void)str_printf(list, "%s'%s'", list->n ? ", " : "", name);
}

static enum assay_status filter_check(const struct run *run,
                                      const struct run_filter *filter,
                                      struct error *err)
{
    enum assay_status st = ASSAY_OK;
    struct str there = {0};
    bool has_phase = !filter->phase, has_thread = !filter->thread;

    for (size_t i = 0; filter->phase && i < run->n_phases; i++) {
        has_phase |= strcmp(run->phases[i], filter->phase) == 0;
        if (run->phases[i][0])
            subset_list_name(&there, run->phases[i]);
    }
    if (!has_phase)
        st = error_set(err, ASSAY_NOT_FOUND, "no phase '%s'; there %s%s",
                       filter->phase, there.n ? "are: " : "are none",
                       str_text(&there));
    str_clear(&there);
    for (size_t i = 0; filter->thread && i < run->n_threads; i++) {
        has_thread |= strcmp(run->threads[i].name, filter->thread) == 0;
        subset_list_name(&there, run->threads[i].name);
    }
    if (!has_thread)
        st = error_set(err, ASSAY_NOT_FOUND, "no thread '%s'; there are: %s",
                       filter->thread, str_text(&there));
    str_release(&there);
    if (!st && !filter_is_whole(filter) &&
        filter->first_iteration >= run->n_iterations)
        st = error_set(err, ASSAY_NOT_FOUND,
                       "no iteration %llu; the run has %llu, counted from 0",
                       (unsigned long long)filter->first_iteration,
                       (unsigned long long)run->n_iterations);
    return st;
}

bool run_is_part(const struct run *run)
{
    return run->is_part;
}

enum assay_status run_subset(const struct run *run,
                             const struct run_filter *filter, struct run **out,
                             struct error *err)
{
    enum assay_status st = filter_check(run, filter, err);
    struct run *part = NULL;

    *out = NULL;
    if (!st)
        st = run_new(&part, err);
    if (!st)
        st = subset_copy_names(part, run, err);
    if (!st)
        st = subset_copy_work(part, run, err);
    if (!st)
        st = subset_copy_counters(part, run, err);
    if (!st)
        st = subset_copy_observed(part, run, filter, err);
    if (!st)
        st = subset_copy_chosen(part, run, filter, err);
    if (!st)
        st = counted_decide(part, err);
    if (st) {
        run_free(part);
        return st;
    }
    part->is_part |= run->is_part;
    part->health = run->health;
    part->memory = run->memory;
    part->duration_ns = run->duration_ns;
    *out = part;
    return ASSAY_OK;
}
