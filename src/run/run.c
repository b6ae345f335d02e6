/* run/run.c - the life of a run, and its small facts. */
#include "run/run_internal.h"

#include "base/mem.h"

enum assay_status run_new(struct run **out, struct error *err)
{
    struct run *run = mem_zalloc(sizeof *run);
    enum assay_status st;
    uint32_t id;

    *out = NULL;
    if (!run)
        return error_nomem(err, sizeof *run, "a run");
    run->memory.peak_bytes = RUN_UNKNOWN;
    run->memory.peak_scope = RUN_NONE;
    run->model = RUN_NONE;
    run->iteration_stride = 1;
    st = run_scope_add(run, RUN_NONE, "run", NULL, &id, err);
    if (!st)
        st = run_phase_add(run, "", &id, err);
    if (st) {
        run_free(run);
        return st;
    }
    *out = run;
    return ASSAY_OK;
}

void run_free(struct run *run)
{
    if (!run)
        return;
    for (size_t i = 0; i < run->n_cells; i++)
        cell_release(&run->cells[i]);
    for (size_t i = 0; i < run->n_counters; i++)
        mem_free(run->counters[i].points);
    for (size_t i = 0; i < run->n_facts; i++)
        mem_free(run->facts[i].value);
    for (size_t i = 0; i < run->n_series; i++)
        series_release(&run->series[i]);
    mem_free(run->series);
    mem_free(run->ledger);
    mem_free(run->spaces);
    mem_free(run->scopes);
    mem_free(run->links);
    mem_free(run->phases);
    mem_free(run->threads);
    mem_free(run->cells);
    mem_free(run->next_cell);
    mem_free(run->index.keys);
    mem_free(run->index.cells);
    mem_free(run->kept);
    mem_free(run->iterations);
    mem_free(run->disturbed);
    mem_free(run->counters);
    mem_free(run->facts);
    mem_free(run->found);
    mem_free(run->works);
    for (size_t i = 0; i < run->n_texts; i++) {
        mem_free((char *)run->texts[i].shapes);
        mem_free((char *)run->texts[i].kernel);
    }
    mem_free(run->texts);
    mem_free(run->edges);
    map_release(&run->scope_ids);
    map_release(&run->fact_ids);
    arena_release(&run->text);
    mem_free(run);
}

struct run_health *run_health(struct run *run)
{
    return &run->health;
}

const struct run_health *run_health_of(const struct run *run)
{
    return &run->health;
}

struct run_memory *run_memory(struct run *run)
{
    return &run->memory;
}

const struct run_memory *run_memory_of(const struct run *run)
{
    return &run->memory;
}

int64_t run_duration_ns(const struct run *run)
{
    return run->duration_ns;
}

void run_duration_set(struct run *run, int64_t duration_ns)
{
    run->duration_ns = duration_ns;
}
