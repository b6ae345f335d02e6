/* run/merge.c - appends the iterations of another run to those of this one.
 *
 * A long run keeps only some of its iterations, under their own numbers. Before
 * two runs are merged, the kept iterations of each are renumbered without gaps,
 * so that one rule (run_is_kept) thins both together. */
#include "run/run_internal.h"

#include "base/mem.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

static int numbering_compare(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

    return (a > b) - (a < b);
}

static enum assay_status numbering_add(struct numbering *numbering,
                                       uint32_t iteration)
{
    if (!vec_grow(&numbering->iterations, &numbering->capacity,
                  numbering->n + 1, sizeof *numbering->iterations))
        return ASSAY_NOMEM;
    numbering->iterations[numbering->n++] = iteration;
    return ASSAY_OK;
}

static void numbering_sort(struct numbering *numbering)
{
    size_t unique = 0;

    if (!numbering->n)
        return;
    qsort(numbering->iterations, numbering->n, sizeof *numbering->iterations,
          numbering_compare);
    for (size_t i = 0; i < numbering->n; i++) {
        if (!unique ||
            numbering->iterations[unique - 1] != numbering->iterations[i])
            numbering->iterations[unique++] = numbering->iterations[i];
    }
    numbering->n = unique;
}

static enum assay_status numbering_add_cell(struct numbering *numbering,
                                            const struct cell *cell)
{
    for (size_t i = 0; i < cell->n_points; i++) {
        if (run_is_kept(cell->points[i].iteration, numbering->stride) &&
            numbering_add(numbering, cell->points[i].iteration))
            return ASSAY_NOMEM;
    }
    return ASSAY_OK;
}

static enum assay_status numbering_of_run(struct numbering *numbering,
                                          const struct run *run)
{
    numbering->stride = run->iteration_stride;
    for (size_t i = 0; i < run->n_cells; i++) {
        if (!run->cells[i].is_outside &&
            run->cells[i].stride > numbering->stride)
            numbering->stride = run->cells[i].stride;
    }
    for (size_t i = 0; i < run->n_series; i++) {
        if (!series_is_by_step(&run->series[i]) &&
            run->series[i].stride > numbering->stride)
            numbering->stride = run->series[i].stride;
    }
    for (size_t i = 0; i < run->n_cells; i++) {
        if (!run->cells[i].is_outside &&
            numbering_add_cell(numbering, &run->cells[i]))
            return ASSAY_NOMEM;
    }
    for (size_t i = 0; i < run->n_iterations_kept; i++) {
        if (numbering_add(numbering, run->iterations[i].index))
            return ASSAY_NOMEM;
    }
    for (size_t i = 0; i < run->n_kept; i++) {
        if (run->kept[i].iteration != RUN_NONE &&
            numbering_add(numbering, run->kept[i].iteration))
            return ASSAY_NOMEM;
    }
    numbering_sort(numbering);
    return ASSAY_OK;
}

uint32_t numbering_find(const struct numbering *numbering, uint32_t first,
                        uint32_t iteration)
{
    const uint32_t *found = NULL;

    if (numbering->n && iteration != RUN_NONE)
        found = bsearch(&iteration, numbering->iterations, numbering->n,
                        sizeof iteration, numbering_compare);
    return found ? first + (uint32_t)(found - numbering->iterations) : RUN_NONE;
}

static void translation_release(struct translation *translation)
{
    mem_free(translation->scopes);
    mem_free(translation->phases);
    mem_free(translation->threads);
    mem_free(translation->numbering.iterations);
}

static enum assay_status translation_thread(struct run *into,
                                            const struct run_thread *thread,
                                            uint32_t *id, struct error *err)
{
    for (size_t i = 0; i < into->n_threads; i++) {
        if (into->threads[i].kind == thread->kind &&
            strcmp(into->threads[i].name, thread->name) == 0) {
            *id = (uint32_t)i;
            return ASSAY_OK;
        }
    }
    return run_thread_add(into, thread->name, thread->kind, id, err);
}

static enum assay_status translation_names(struct translation *translation,
                                           struct run *into,
                                           const struct run *from,
                                           struct error *err)
{
    enum assay_status st = ASSAY_OK;

    translation->scopes = mem_array(from->n_scopes, sizeof(uint32_t));
    translation->phases = mem_array(from->n_phases, sizeof(uint32_t));
    translation->threads = mem_array(from->n_threads, sizeof(uint32_t));
    if (!translation->scopes || !translation->phases || !translation->threads)
        return error_nomem(err, from->n_scopes * sizeof(uint32_t),
                           "merging two runs");
    for (size_t i = 1; !st && i < from->n_scopes; i++) {
        const struct scope *scope = &from->scopes[i];

        st =
            run_scope_add(into, translation->scopes[scope->parent], scope->name,
                          scope->class_name, &translation->scopes[i], err);
    }
    for (size_t i = 0; !st && i < from->n_phases; i++)
        st = run_phase_add(into, from->phases[i], &translation->phases[i], err);
    for (size_t i = 0; !st && i < from->n_threads; i++)
        st = translation_thread(into, &from->threads[i],
                                &translation->threads[i], err);
    for (size_t i = 0; !st && i < from->n_facts; i++) {
        if (!run_fact(into, from->facts[i].key))
            st = run_fact_set(into, from->facts[i].key, from->facts[i].value,
                              err);
    }
    return st;
}

static enum assay_status merge_points(struct cell *cell,
                                      const struct cell *from,
                                      const struct translation *translation)
{
    uint32_t base = (uint32_t)cell->iterations.n; /* for calls outside */

    for (size_t i = 0; i < from->n_points; i++) {
        struct point point = from->points[i];

        if (from->is_outside)
            point.iteration += base;
        else
            point.iteration = numbering_find(
                &translation->numbering, translation->first, point.iteration);
        if (point.iteration != RUN_NONE && cell_add_point(cell, &point))
            return ASSAY_NOMEM;
    }
    return ASSAY_OK;
}

static enum assay_status merge_cell(struct run *into, const struct cell *from,
                                    const struct translation *translation,
                                    struct error *err)
{
    struct cell *cell = cell_find_or_add(into, translation->scopes[from->scope],
                                         translation->phases[from->phase],
                                         translation->threads[from->thread],
                                         from->is_outside, err);

    if (!cell)
        return ASSAY_NOMEM;
    if (merge_points(cell, from, translation) ||
        dist_merge(&cell->calls, &from->calls) ||
        dist_merge(&cell->iterations, &from->iterations))
        return error_nomem(err, sizeof *cell, "merging two runs");
    if (__builtin_add_overflow(cell->total_ns, from->total_ns,
                               &cell->total_ns) ||
        __builtin_add_overflow(cell->self_ns, from->self_ns, &cell->self_ns))
        return error_set(err, ASSAY_BAD_INPUT,
                         "the durations of two runs add up to more than a run "
                         "can last");
    if (from->bytes > cell->bytes)
        cell->bytes = from->bytes;
    if (from->peak_bytes > cell->peak_bytes)
        cell->peak_bytes = from->peak_bytes;
    return ASSAY_OK;
}

static enum assay_status merge_kept(struct run *into, const struct run *from,
                                    const struct translation *translation,
                                    struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < from->n_iterations_kept; i++) {
        struct iteration iteration = from->iterations[i];

        iteration.index = numbering_find(&translation->numbering,
                                         translation->first, iteration.index);
        iteration.thread = translation->threads[iteration.thread];
        iteration.start_ns += translation->shift_ns;
        st = iteration_keep(into, &iteration, err);
    }
    for (size_t i = 0; !st && i < from->n_kept; i++) {
        struct sample sample = from->kept[i];

        sample.scope = translation->scopes[sample.scope];
        sample.phase = translation->phases[sample.phase];
        sample.thread = translation->threads[sample.thread];
        sample.iteration = numbering_find(&translation->numbering,
                                          translation->first, sample.iteration);
        sample.start_ns += translation->shift_ns;
        st = run_keep(into, &sample, err);
    }
    return st;
}

/* Work is a mean per iteration: runs with other photographs, or other sizes,
 * have other work. share: b's part of the iterations. */
static struct scope_work merge_mean_work(const struct scope_work *a,
                                         const struct scope_work *b,
                                         double share)
{
    struct scope_work mean = *a;

    if (!(share > 0))
        return mean;
    mean.macs += share * (b->macs - a->macs);
    mean.flops += share * (b->flops - a->flops);
    mean.read_bytes += share * (b->read_bytes - a->read_bytes);
    mean.write_bytes += share * (b->write_bytes - a->write_bytes);
    mean.done_flops += share * (b->done_flops - a->done_flops);
    mean.done_bytes += share * (b->done_bytes - a->done_bytes);
    mean.kept_bytes += share * (b->kept_bytes - a->kept_bytes);
    return mean;
}

/* If the two disagree about which scope does the work, `into` wins. */
static enum assay_status merge_work(struct run *into, const struct run *from,
                                    const struct translation *translation,
                                    struct error *err)
{
    double n = (double)(into->n_iterations + from->n_iterations);
    double share = n > 0 ? (double)from->n_iterations / n : 0;
    enum assay_status st = ASSAY_OK;

    for (uint32_t i = 0; !st && i < from->n_scopes; i++) {
        const struct scope_work *known = run_work(from, i);
        uint32_t scope = translation->scopes[i];
        struct scope_work work;

        if (run_text(from, i) && !run_text(into, scope))
            st = run_text_set(into, scope, run_text(from, i), err);
        if (!known || st)
            continue;
        if (run_work(into, scope)) {
            work = merge_mean_work(run_work(into, scope), known, share);
        } else {
            work = *known;
            if (work.done_by != RUN_NONE)
                work.done_by = translation->scopes[work.done_by];
            if (!run_can_be_done_by(into, scope, work.done_by))
                work.done_by = RUN_NONE;
        }
        st = run_work_set(into, scope, &work, err);
    }
    return st ? st : edges_copy(into, from, translation->scopes, err);
}

static void merge_health(struct run *into, const struct run *from,
                         const struct translation *translation)
{
    struct run_health *health = &into->health;

    health->lost_spans += from->health.lost_spans;
    health->unbalanced_ends += from->health.unbalanced_ends;
    health->open_at_end += from->health.open_at_end;
    health->too_deep += from->health.too_deep;
    health->warm_up += from->health.warm_up;
    health->is_incomplete |= from->health.is_incomplete;
    if (from->memory.peak_bytes > into->memory.peak_bytes) {
        into->memory = from->memory;
        into->memory.peak_ns += translation->shift_ns;
        if (from->memory.peak_scope < from->n_scopes)
            into->memory.peak_scope =
                translation->scopes[from->memory.peak_scope];
    }
}

/* Renumbers the kept iterations of `into` without gaps. */
static enum assay_status merge_close_gaps(struct run *into, uint32_t *next,
                                          struct error *err)
{
    struct numbering own = {0};

    if (numbering_of_run(&own, into)) {
        mem_free(own.iterations);
        return error_nomem(err, own.n * sizeof *own.iterations,
                           "merging two runs");
    }
    for (size_t i = 0; i < into->n_cells; i++) {
        struct cell *cell = &into->cells[i];
        size_t kept = 0;

        if (cell->is_outside)
            continue;
        for (size_t k = 0; k < cell->n_points; k++) {
            struct point point = cell->points[k];

            if (!run_is_kept(point.iteration, own.stride))
                continue;
            point.iteration = numbering_find(&own, 0, point.iteration);
            cell->points[kept++] = point;
        }
        cell->n_points = kept;
        cell->stride = 1;
    }
    for (size_t i = 0; i < into->n_iterations_kept; i++)
        into->iterations[i].index =
            numbering_find(&own, 0, into->iterations[i].index);
    for (size_t i = 0; i < into->n_kept; i++)
        into->kept[i].iteration =
            numbering_find(&own, 0, into->kept[i].iteration);
    series_close_gaps(into, &own);
    into->iteration_stride = 1;
    *next = (uint32_t)own.n;
    mem_free(own.iterations);
    return ASSAY_OK;
}

static enum assay_status merge_all(struct run *into, const struct run *from,
                                   const struct translation *translation,
                                   struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < from->n_cells; i++)
        st = merge_cell(into, &from->cells[i], translation, err);
    if (!st)
        st = merge_kept(into, from, translation, err);
    if (!st)
        st = counters_merge(into, from, translation->shift_ns, err);
    if (!st)
        st = series_merge(into, from, translation, err);
    if (!st)
        st = ledger_merge(into, from, translation, err);
    if (!st)
        st = spaces_merge(into, from, err);
    if (!st)
        st = merge_work(into, from, translation, err);
    return st;
}

enum assay_status run_merge(struct run *into, const struct run *from,
                            struct error *err)
{
    struct translation translation = {.shift_ns = into->duration_ns};
    enum assay_status st = merge_close_gaps(into, &translation.first, err);

    if (!st && numbering_of_run(&translation.numbering, from))
        st = error_nomem(err, from->n_cells, "merging two runs");
    if (!st)
        st = translation_names(&translation, into, from, err);
    if (!st)
        st = merge_all(into, from, &translation, err);
    if (!st) {
        into->n_iterations += from->n_iterations;
        into->duration_ns += from->duration_ns;
        merge_health(into, from, &translation);
        samples_sort(into, into->kept, into->n_kept);
        st = counted_decide(into, err);
    }
    translation_release(&translation);
    return st;
}
