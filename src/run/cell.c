/* run/cell.c - counts samples: one cell per scope, phase and thread. */
#include "run/run_internal.h"

#include "base/mem.h"
#include "base/vec.h"

/* scope 32 bits, thread 20, phase 11, outside 1; run_thread_add() and
 * run_phase_add() enforce the limits. */
static uint64_t cell_key(uint32_t scope, uint32_t phase, uint32_t thread,
                         bool is_outside)
{
    return (uint64_t)scope << 32 | (uint64_t)thread << 12 |
           (uint64_t)phase << 1 | is_outside;
}

static size_t cell_slot(const struct cell_index *index, uint64_t key)
{
    uint64_t hash = key * UINT64_C(0x9e3779b97f4a7c15);
    size_t i = (size_t)(hash >> 32) & (index->n_slots - 1);

    while (index->keys[i] && index->keys[i] != key + 1)
        i = (i + 1) & (index->n_slots - 1);
    return i;
}

static enum assay_status cell_index_grow(struct cell_index *index)
{
    size_t n_slots = index->n_slots ? index->n_slots * 2 : 64;
    struct cell_index grown = {
        .keys = mem_array(n_slots, sizeof *grown.keys),
        .cells = mem_array(n_slots, sizeof *grown.cells),
        .n_slots = n_slots,
    };

    if (!grown.keys || !grown.cells) {
        mem_free(grown.keys);
        mem_free(grown.cells);
        return ASSAY_NOMEM;
    }
    for (size_t i = 0; i < index->n_slots; i++) {
        size_t slot;

        if (!index->keys[i])
            continue;
        slot = cell_slot(&grown, index->keys[i] - 1);
        grown.keys[slot] = index->keys[i];
        grown.cells[slot] = index->cells[i];
    }
    mem_free(index->keys);
    mem_free(index->cells);
    *index = grown;
    return ASSAY_OK;
}

static enum assay_status cell_reserve(struct run *run)
{
    if (!vec_grow(&run->cells, &run->cells_capacity, run->n_cells + 1,
                  sizeof *run->cells) ||
        !vec_grow(&run->next_cell, &run->next_capacity, run->n_cells + 1,
                  sizeof *run->next_cell))
        return ASSAY_NOMEM;
    if (run->n_cells + 1 > run->index.n_slots / 4 * 3)
        return cell_index_grow(&run->index);
    return ASSAY_OK;
}

/* Adds an uninitialised cell under its key. The caller has checked that there
 * is none yet. */
static struct cell *cell_append(struct run *run, uint64_t key, uint32_t scope,
                                uint32_t thread)
{
    struct scope_links *links = &run->links[scope];
    uint32_t id = (uint32_t)run->n_cells;
    size_t slot;

    if (cell_reserve(run))
        return NULL;
    slot = cell_slot(&run->index, key);
    run->index.keys[slot] = key + 1;
    run->index.cells[slot] = id;
    run->next_cell[id] = RUN_NONE;
    if (links->first_cell == RUN_NONE)
        links->first_cell = id;
    else
        run->next_cell[links->last_cell] = id;
    links->last_cell = id;
    links->has_host |= run->threads[thread].kind != THREAD_DEVICE;
    run->n_cells++;
    return &run->cells[id];
}

static struct cell *cell_lookup(const struct run *run, uint64_t key)
{
    size_t slot;

    if (!run->index.n_slots)
        return NULL;
    slot = cell_slot(&run->index, key);
    return run->index.keys[slot] ? &run->cells[run->index.cells[slot]] : NULL;
}

struct cell *cell_find_or_add(struct run *run, uint32_t scope, uint32_t phase,
                              uint32_t thread, bool is_outside,
                              struct error *err)
{
    uint64_t key = cell_key(scope, phase, thread, is_outside);
    struct cell *cell = cell_lookup(run, key);

    if (cell)
        return cell;
    cell = cell_append(run, key, scope, thread);
    if (!cell) {
        error_nomem(err, sizeof *cell, "the statistics of a scope");
        return NULL;
    }
    *cell = (struct cell){
        .scope = scope,
        .phase = phase,
        .thread = thread,
        .is_outside = is_outside,
        .bytes = RUN_UNKNOWN,
        .peak_bytes = RUN_UNKNOWN,
        .stride = 1,
    };
    return cell;
}

bool cell_is_device(const struct run *run, const struct cell *cell)
{
    return run->threads[cell->thread].kind == THREAD_DEVICE;
}

void cell_release(struct cell *cell)
{
    dist_release(&cell->calls);
    dist_release(&cell->iterations);
    mem_free(cell->points);
    cell->points = NULL;
}

uint32_t cell_next_of(const struct run *run, uint32_t scope, uint32_t cell)
{
    return cell == RUN_NONE ? run->links[scope].first_cell
                            : run->next_cell[cell];
}

enum assay_status cell_add_point(struct cell *cell, const struct point *point)
{
    while (cell->n_points == RUN_MAX_POINTS) {
        size_t kept = 0;

        cell->stride *= 2;
        for (size_t i = 0; i < cell->n_points; i++) {
            if (run_is_kept(cell->points[i].iteration, cell->stride))
                cell->points[kept++] = cell->points[i];
        }
        cell->n_points = kept;
    }
    if (!run_is_kept(point->iteration, cell->stride))
        return ASSAY_OK;
    if (!vec_grow(&cell->points, &cell->points_capacity, cell->n_points + 1,
                  sizeof *cell->points))
        return ASSAY_NOMEM;
    cell->points[cell->n_points++] = *point;
    return ASSAY_OK;
}

static enum assay_status cell_close_point(struct cell *cell)
{
    enum assay_status st;

    if (!cell->open.calls)
        return ASSAY_OK;
    st = dist_add(&cell->iterations, cell->open.total_ns);
    if (!st)
        st = cell_add_point(cell, &cell->open);
    cell->open = (struct point){0};
    return st;
}

static enum assay_status cell_count(struct cell *cell, const struct sample *s)
{
    /* Outside the iterations every call counts as one. */
    uint32_t iteration =
        cell->is_outside ? (uint32_t)cell->calls.n : s->iteration;
    enum assay_status st = ASSAY_OK;

    if (cell->open.calls && cell->open.iteration != iteration)
        st = cell_close_point(cell);
    if (!st)
        st = dist_add(&cell->calls, s->duration_ns);
    if (st)
        return st;
    cell->open.iteration = iteration;
    cell->open.calls++;
    cell->open.total_ns += s->duration_ns;
    cell->open.self_ns += s->self_ns;
    cell->total_ns += s->duration_ns;
    cell->self_ns += s->self_ns;
    if (s->bytes > cell->bytes)
        cell->bytes = s->bytes;
    if (s->peak_bytes > cell->peak_bytes)
        cell->peak_bytes = s->peak_bytes;
    return ASSAY_OK;
}

static enum assay_status cell_check_sample(const struct run *run,
                                           const struct sample *s,
                                           struct error *err)
{
    if (s->scope >= run->n_scopes || s->phase >= run->n_phases ||
        s->thread >= run->n_threads)
        return error_set(err, ASSAY_BAD_INPUT,
                         "a sample has an unknown scope, phase or thread "
                         "(%u, %u, %u)",
                         s->scope, s->phase, s->thread);
    if (s->duration_ns < 0 || s->duration_ns > RUN_MAX_NS ||
        s->start_ns < -RUN_MAX_NS || s->start_ns > RUN_MAX_NS)
        return error_set(err, ASSAY_BAD_INPUT,
                         "a sample of '%s' has an impossible duration",
                         run->scopes[s->scope].name);
    return ASSAY_OK;
}

static bool cell_overflows(const struct cell *cell, const struct sample *s)
{
    return cell->total_ns > RUN_MAX_NS - s->duration_ns ||
           s->self_ns > s->duration_ns || s->self_ns < -RUN_MAX_NS ||
           cell->self_ns < -RUN_MAX_NS - s->self_ns;
}

static enum assay_status
cell_count_iteration(struct run *run, const struct sample *s, struct error *err)
{
    struct iteration iteration = {.index = s->iteration,
                                  .thread = s->thread,
                                  .start_ns = s->start_ns,
                                  .duration_ns = s->duration_ns};

    run->n_iterations++;
    return iteration_keep(run, &iteration, err);
}

enum assay_status run_count(struct run *run, const struct sample *sample,
                            struct error *err)
{
    bool is_outside = sample->iteration == RUN_NONE;
    enum assay_status st = cell_check_sample(run, sample, err);
    struct cell *cell;

    if (st)
        return st;
    cell = cell_find_or_add(run, sample->scope, sample->phase, sample->thread,
                            is_outside, err);
    if (!cell)
        return ASSAY_NOMEM;
    if (!is_outside && cell->open.calls &&
        sample->iteration < cell->open.iteration)
        return error_set(err, ASSAY_BAD_INPUT,
                         "the iterations of '%s' go back from %u to %u",
                         run->scopes[sample->scope].name, cell->open.iteration,
                         sample->iteration);
    if (cell_overflows(cell, sample))
        return error_set(err, ASSAY_BAD_INPUT,
                         "the durations of '%s' add up to more than a run can "
                         "last",
                         run->scopes[sample->scope].name);
    if (cell_count(cell, sample))
        return error_nomem(err, sizeof(struct point),
                           "the statistics of a scope");
    if (sample->start_ns + sample->duration_ns > run->duration_ns)
        run->duration_ns = sample->start_ns + sample->duration_ns;
    if (sample->scope == RUN_ROOT && !is_outside)
        return cell_count_iteration(run, sample, err);
    return ASSAY_OK;
}

enum assay_status run_seal(struct run *run, struct error *err)
{
    for (size_t i = 0; i < run->n_cells; i++) {
        if (cell_close_point(&run->cells[i]))
            return error_nomem(err, sizeof(struct point),
                               "the statistics of a scope");
    }
    samples_sort(run, run->kept, run->n_kept);
    return counted_decide(run, err);
}

bool run_cell_is_scope_time(const struct run *run, const struct cell *cell)
{
    return !cell_is_device(run, cell) || !run->links[cell->scope].has_host;
}

size_t run_cell_count(const struct run *run)
{
    return run->n_cells;
}

const struct cell *run_cell(const struct run *run, size_t i)
{
    return &run->cells[i];
}

enum assay_status run_cell_take(struct run *run, struct cell *cell,
                                struct error *err)
{
    uint64_t key =
        cell_key(cell->scope, cell->phase, cell->thread, cell->is_outside);
    enum assay_status st = ASSAY_OK;
    struct cell *place = NULL;

    if (cell->scope >= run->n_scopes || cell->phase >= run->n_phases ||
        cell->thread >= run->n_threads)
        st = error_set(err, ASSAY_BAD_INPUT,
                       "statistics for an unknown scope, phase or thread "
                       "(%u, %u, %u)",
                       cell->scope, cell->phase, cell->thread);
    else if (cell_lookup(run, key))
        st = error_set(err, ASSAY_BAD_INPUT, "statistics of '%s' given twice",
                       run->scopes[cell->scope].name);
    else if (!(place = cell_append(run, key, cell->scope, cell->thread)))
        st = error_nomem(err, sizeof *cell, "the statistics of a scope");
    if (st) {
        cell_release(cell);
        return st;
    }
    if (cell->stride == 0)
        cell->stride = 1;
    *place = *cell;
    return ASSAY_OK;
}
