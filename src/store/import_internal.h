/* store/import_internal.h - what the files of the importer share.
 *
 * A trace is read once (import_events.c). Spans that are whole go to one sort,
 * begins and ends to another; those are matched in order of time and become
 * spans too (import_pairs.c). Then the spans come back thread by thread in
 * order of time, are nested and counted into the run (import_spans.c).
 *
 * SPDX-License-Identifier: MIT */
#ifndef STORE_IMPORT_INTERNAL_H
#define STORE_IMPORT_INTERNAL_H

#include "base/arena.h"
#include "base/json.h"
#include "base/map.h"
#include "run/run.h"
#include "store/event_sort.h"
#include "store/import.h"

/* Times are kept within these, so that no difference of two overflows: the
 * year 2116 in nanoseconds since 1970. */
#define IMPORT_MAX_NS (INT64_MAX / 2)

enum {
    IMPORT_MAX_LABELS = 200000, /* and as many scopes */
    IMPORT_MAX_LABEL_BYTES = 64 << 20,
    IMPORT_MAX_CELLS = 250000, /* a kilobyte of statistics each */
    IMPORT_MAX_LANES = 20000,
    IMPORT_MAX_COUNTERS = 1000,
    IMPORT_MAX_STEPS = 1000000,
    IMPORT_MAX_KEPT = 20000 /* samples in full, of an iteration */
};

/* ---- what the events name (import_tables.c) --------------------------- */

/* What a category or name makes of an event. */
enum label_traits {
    LABEL_OPERATOR = 1,
    LABEL_KERNEL = 2,
    LABEL_DEVICE = 4, /* happens on an accelerator */
    LABEL_STEP = 8,   /* an iteration */
    LABEL_FRAME = 16  /* spans the whole recording: no work of its own */
};

/* A name with its category. */
struct label {
    const char *name, *category;
    size_t name_bytes, category_bytes;
    unsigned traits;
};

struct process {
    const char *pid;
    const char *name, *labels; /* NULL where nobody said */
    int64_t sort_index;
    bool has_spans;
};

/* A thread of the trace, or all that happens asynchronously in one process and
 * category. */
struct lane {
    uint32_t process;
    const char *tid;
    const char *name; /* NULL where nobody said */
    enum thread_kind kind;
    int64_t sort_index;
    int64_t last_ns; /* when anything was last heard of it */
    uint64_t n_spans;
    uint32_t thread; /* of the run */
    uint32_t scope;  /* what its spans stand under */
};

enum { LABEL_CACHE_BITS = 14, LANE_CACHE = 64 };

struct import_tables {
    struct arena texts;
    struct str key; /* the last one looked up */
    struct map label_map, process_map, lane_map, counter_map;
    struct label *labels;
    struct process *processes;
    struct lane *lanes;
    size_t n_labels, labels_capacity, label_bytes;
    size_t n_processes, processes_capacity;
    size_t n_lanes, lanes_capacity;
    uint32_t n_counters;
    uint32_t label_cache[1 << LABEL_CACHE_BITS]; /* label + 1; 0: none */
    uint32_t lane_cache[LANE_CACHE];             /* lane + 1; 0: none */
};

/* Each finds or adds, and answers the index. */
enum assay_status tables_label(struct import_tables *tables,
                               const struct str *name,
                               const struct str *category, uint32_t *id,
                               struct error *err);
enum assay_status tables_process(struct import_tables *tables,
                                 const struct str *pid, uint32_t *id,
                                 struct error *err);
enum assay_status tables_lane(struct import_tables *tables,
                              const struct str *pid, const struct str *tid,
                              enum thread_kind kind, uint32_t *id,
                              struct error *err);
void tables_release(struct import_tables *tables);

/* ---- the whole -------------------------------------------------------- */

/* A stretch of time that is an iteration. */
struct step {
    int64_t start_ns, end_ns;
    uint32_t lane;
};

/* The earliest starts, so that the first spans can be told from the rest. */
struct earliest {
    int64_t *starts; /* a heap, the latest on top */
    size_t n;
};

struct import {
    struct run *run;
    struct import_tables tables;
    struct event_sort *pairs, *spans;
    uint64_t n_events, n_events_by_letter[128];
    uint64_t n_operators, n_kernels;
    int64_t kernels_ns;
    uint64_t n_spans, n_overlaps;
    int64_t first_ns, last_ns; /* of spans and counters */
    struct step *steps;
    size_t n_steps, steps_capacity;
    struct earliest earliest;
    bool is_unclosed; /* a bare array without its bracket */
};

/* Reads the trace: fills the tables, the sorts and the counts. */
enum assay_status import_read_events(struct import *import,
                                     struct json_reader *json,
                                     struct error *err);

/* A span is known from begin to end: sorts it in. */
enum assay_status import_add_span(struct import *import, uint32_t lane,
                                  uint32_t label, int64_t start_ns,
                                  int64_t duration_ns, uint64_t sequence,
                                  struct error *err);
/* Widens the time the trace covers. */
void import_see(struct import *import, int64_t start_ns, int64_t end_ns);
/* Considers a start for the earliest ones. */
void import_see_start(struct import *import, int64_t start_ns);

/* Matches begins and ends. */
enum assay_status import_match_pairs(struct import *import, struct error *err);

/* Adds the scope under the parent, unless there are too many. */
enum assay_status import_scope(struct import *import, uint32_t parent,
                               uint32_t label, uint32_t *scope,
                               struct error *err);

/* Gives the run a thread for each lane that has spans, in the order the trace
 * asks for (import_threads.c). */
enum assay_status import_make_threads(struct import *import, struct error *err);
/* "thread 4037 (python)", for messages and for the run. */
enum assay_status import_lane_name(const struct import *import,
                                   const struct lane *lane, struct str *name);

/* Nests the spans, counts them into the run and keeps some. */
enum assay_status import_count_spans(struct import *import, struct error *err);

/* ---- which iteration a span belongs to (import_steps.c) ---------------- */

/* Puts the steps in order and leaves out those that are no iterations: of
 * another thread than the first one, on a device, or overlapping. */
void import_settle_steps(struct import *import);
/* The iteration in which a span ends; RUN_NONE outside of all. */
uint32_t import_iteration(const struct import *import, int64_t start_ns,
                          int64_t end_ns);
/* Which iteration a step is; RUN_NONE where it is none. */
uint32_t import_step_index(const struct import *import, uint32_t lane,
                           int64_t start_ns, int64_t duration_ns);

/* Which samples to keep in full: those of a few iterations, or the first. */
struct keeper {
    uint32_t iterations[4];
    size_t n_iterations;
    size_t n_kept[4]; /* of each; [0] where there are no iterations */
    int64_t until_ns; /* where there are none: starts up to here */
};

enum assay_status keeper_init(struct keeper *keeper,
                              const struct import *import, struct error *err);
bool keeper_wants(struct keeper *keeper, const struct sample *sample);

/* ---- where the bytes come from (import_source.c) ----------------------- */

struct trace_file;

/* Opens a trace, plain or gzip, and refuses what is plainly something else. */
enum assay_status trace_file_open(const char *path, struct progress *progress,
                                  struct trace_file **out, struct error *err);
struct json_source trace_file_source(struct trace_file *file);
void trace_file_close(struct trace_file *file); /* accepts NULL */

#endif
