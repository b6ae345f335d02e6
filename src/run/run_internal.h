/* run/run_internal.h - how a run is laid out; for the files of this room.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RUN_RUN_INTERNAL_H
#define RUN_RUN_INTERNAL_H

#include "base/arena.h"
#include "base/map.h"
#include "run/run.h"

/* Beside every scope: what only this room needs. */
struct scope_links {
    uint32_t last_child;
    uint32_t first_cell, last_cell;
    uint32_t work;    /* an index, RUN_NONE: nothing is known */
    uint32_t text;    /* the same of run->texts */
    uint32_t n_doing; /* scopes that are done by this one */
    bool has_host;    /* a thread of the host was in it */
};

/* From the packed key of a cell to its index: open addressing. */
struct cell_index {
    uint64_t *keys; /* 0: free; a key is stored plus one */
    uint32_t *cells;
    size_t n_slots;
};

struct fact {
    const char *key;
    char *value;
};

struct run {
    struct arena text; /* names; lives as long as the run */
    bool is_sealed;

    struct scope *scopes;
    struct scope_links *links; /* one a scope */
    size_t n_scopes, scopes_capacity, links_capacity;
    struct map scope_ids; /* (parent, class length, class, name) */

    const char **phases;
    size_t n_phases, phases_capacity;
    struct run_thread *threads;
    size_t n_threads, threads_capacity;

    struct cell *cells;
    uint32_t *next_cell; /* the next one of the same scope */
    size_t n_cells, cells_capacity, next_capacity;
    struct cell_index index;

    struct sample *kept;
    size_t n_kept, kept_capacity;

    struct iteration *iterations;
    size_t n_iterations_kept, iterations_capacity;
    uint32_t iteration_stride;
    uint64_t n_iterations;

    struct counter *counters;
    size_t n_counters, counters_capacity;
    struct fact *facts;
    size_t n_facts, facts_capacity;
    struct map fact_ids;

    bool is_part; /* see run_is_part() */

    struct scope_work *works;
    size_t n_works, works_capacity;
    struct scope_text *texts;
    size_t n_texts, texts_capacity;

    struct series *series;
    size_t n_series, series_capacity;
    struct space_row *spaces;
    size_t n_spaces, spaces_capacity;
    struct ledger_row *ledger;
    size_t n_ledger, ledger_capacity;

    struct run_health health;
    struct run_memory memory;
    int64_t duration_ns;
};

/* The cell, or NULL without memory. Marks it as outside, or not. */
struct cell *cell_find_or_add(struct run *run, uint32_t scope, uint32_t phase,
                              uint32_t thread, bool is_outside,
                              struct error *err);
void cell_release(struct cell *cell);
/* Whether it is time of a device. */
bool cell_is_device(const struct run *run, const struct cell *cell);
void series_release(struct series *series);

/* Adds a finished point, thinning the points where they become too many. */
enum assay_status cell_add_point(struct cell *cell, const struct point *point);

/* Remembers an iteration, thinning alike. */
enum assay_status iteration_keep(struct run *run,
                                 const struct iteration *iteration,
                                 struct error *err);

/* In stats.c: sorts points by iteration and adds up those of the same one; how
 * many are left. */
size_t points_join(struct point *points, size_t n);
/* Percentiles and the interval of the median, from what is known of all
 * iterations and the totals of those that are remembered. */
enum assay_status stats_add_percentiles(struct scope_stats *out,
                                        const struct dist *dist,
                                        const struct point *points, size_t n,
                                        struct error *err);

/* The cells of a scope: first with RUN_NONE, RUN_NONE at the end. */
uint32_t cell_next_of(const struct run *run, uint32_t scope, uint32_t cell);

/* Whether run_work_set() would take done_by for the scope. */
bool work_can_be_done_by(const struct run *run, uint32_t scope,
                         uint32_t done_by);

/* The iterations that a run remembers anywhere, in order. */
struct numbering {
    uint32_t *iterations;
    size_t n, capacity;
    uint32_t stride; /* the largest of all lists: what they have in common */
};

/* Where the names of one run are found in the other. */
struct translation {
    uint32_t *scopes, *phases, *threads;
    struct numbering numbering;
    uint32_t first; /* number of its first iteration */
    int64_t shift_ns;
};

/* The new number, or RUN_NONE where the iteration is not remembered. */
uint32_t numbering_find(const struct numbering *numbering, uint32_t first,
                        uint32_t iteration);

/* The parts of a merge that are in series.c, ledger.c, space.c and
 * counter.c. */
void series_close_gaps(struct run *run, const struct numbering *numbering);
enum assay_status series_merge(struct run *into, const struct run *from,
                               const struct translation *translation,
                               struct error *err);
enum assay_status ledger_merge(struct run *into, const struct run *from,
                               const struct translation *translation,
                               struct error *err);
enum assay_status spaces_merge(struct run *into, const struct run *from,
                               struct error *err);
enum assay_status counters_merge(struct run *into, const struct run *from,
                                 int64_t shift_ns, struct error *err);

/* In verdict.c: the median of n values and their scaled MAD; scratch has room
 * for as many. Farther than NOISE_OUTLIER_MADS of it is no noise any more. */
enum { NOISE_TOO_FEW = 10, NOISE_OUTLIER_MADS = 5 };
void noise_of(const double *values, double *scratch, size_t n, double *median,
              double *mad);

void samples_sort(const struct run *run, struct sample *samples, size_t n);

#endif
