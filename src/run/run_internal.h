/* run/run_internal.h - the layout of a run, for the files of this room.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RUN_RUN_INTERNAL_H
#define RUN_RUN_INTERNAL_H

#include "base/arena.h"
#include "base/map.h"
#include "run/run.h"

/* What only this room needs to know about a scope. */
struct scope_links {
    uint32_t last_child;
    uint32_t first_cell, last_cell;
    uint32_t work;    /* an index, RUN_NONE: nothing is known */
    uint32_t text;    /* the same for run->texts */
    uint32_t n_doing; /* scopes done by this one */
    bool has_host;    /* a host thread was in it */
};

/* A hash table from a cell's packed key to its index: open addressing. */
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

    struct scope *scopes;
    struct scope_links *links; /* one per scope */
    size_t n_scopes, scopes_capacity, links_capacity;
    uint32_t model;       /* see run_model_scope() */
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
    uint32_t *disturbed; /* sorted; counted.c */
    size_t n_disturbed;
    uint64_t n_counted;
    uint32_t counted_stride; /* of the iterations that count, if any are
                                disturbed */

    struct counter *counters;
    size_t n_counters, counters_capacity;
    struct fact *facts;
    size_t n_facts, facts_capacity;
    struct map fact_ids;
    struct found_photo *found;
    size_t n_found, found_capacity;

    bool is_part; /* see run_is_part() */

    struct scope_work *works;
    size_t n_works, works_capacity;
    struct scope_text *texts;
    size_t n_texts, texts_capacity;
    struct run_edge *edges;
    size_t n_edges, edges_capacity;

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

/* The cell, or NULL if memory runs out. */
struct cell *cell_find_or_add(struct run *run, uint32_t scope, uint32_t phase,
                              uint32_t thread, bool is_outside,
                              struct error *err);
void cell_release(struct cell *cell);
/* Whether its time is a device's. */
bool cell_is_device(const struct run *run, const struct cell *cell);
void series_release(struct series *series);
/* Copies the edges of another run unless there are some already. scopes: the
 * scope for each of the other run; NULL: the same. */
enum assay_status edges_copy(struct run *to, const struct run *from,
                             const uint32_t *scopes, struct error *err);

/* Keep a point or an iteration, thinning the list when it gets too long. */
enum assay_status cell_add_point(struct cell *cell, const struct point *point);
enum assay_status iteration_keep(struct run *run,
                                 const struct iteration *iteration,
                                 struct error *err);

/* In stats.c: sorts points by iteration and adds up those of the same one;
 * returns how many are left. */
size_t points_join(struct point *points, size_t n);

/* What percentiles and intervals are computed from. */
struct stats_source {
    const struct run *run;
    const struct dist *dist;    /* over all iterations */
    const struct point *points; /* the totals of the kept ones */
    size_t n;
    uint32_t stride; /* of the points */
};

/* The means, from sums over the iterations that count. */
void stats_fill_means(const struct run *run, struct scope_stats *out,
                      const struct cell_sums *counted);
/* Adds percentiles and intervals; mean_ns and is_outside are known. */
enum assay_status stats_add_percentiles(struct scope_stats *out,
                                        const struct stats_source *source,
                                        struct error *err);

/* Iterates over the cells of a scope: start with RUN_NONE, ends with it too. */
uint32_t cell_next_of(const struct run *run, uint32_t scope, uint32_t cell);

/* All iterations that a run keeps anywhere, in order. */
struct numbering {
    uint32_t *iterations;
    size_t n, capacity;
    uint32_t stride; /* the largest of all lists: what they have in common */
};

/* Where the names of one run are in the other. */
struct translation {
    uint32_t *scopes, *phases, *threads;
    struct numbering numbering;
    uint32_t first; /* new number of its first iteration */
    int64_t shift_ns;
};

/* The new number, or RUN_NONE if the iteration is not kept. */
uint32_t numbering_find(const struct numbering *numbering, uint32_t first,
                        uint32_t iteration);

/* The parts of a merge in series.c, ledger.c, space.c and counter.c. */
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
 * for n. */
enum { NOISE_TOO_FEW = 10 };
void noise_of(const double *values, double *scratch, size_t n, double *median,
              double *mad);
/* In outlier.c: the duration from which on an iteration is slow; infinite if
 * there are too few to tell. */
double outlier_limit(size_t n, double median, double mad);
/* In mean.c: the totals of the points in the kept iterations that count, in
 * order, 0 where there is none; values has room for run->n_iterations_kept. */
size_t mean_values(const struct run *run, const struct point *points, size_t n,
                   uint32_t stride, double *values);
/* In counted.c: decides which iterations count. */
enum assay_status counted_decide(struct run *run, struct error *err);

void samples_sort(const struct run *run, struct sample *samples, size_t n);

#endif
