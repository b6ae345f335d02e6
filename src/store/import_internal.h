/* store/import_internal.h - what the files of the importer share.
 *
 * A trace is read once (import_events.c). Complete spans go to one sort, begins
 * and ends to another; those are matched in order of time and become spans too
 * (import_pairs.c). Then the spans of the host are read back thread by thread
 * in order of time, nested and counted in the run (import_spans.c). What a
 * device did waits until then: it belongs to the operator in which the host
 * launched it (import_links.c).
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

/* Times lie within these, so that no difference of two overflows: the year 2116
 * in nanoseconds since 1970. */
#define IMPORT_MAX_NS (INT64_MAX / 2)

enum {
    IMPORT_MAX_LABELS = 200000, /* and as many scopes */
    IMPORT_MAX_LABEL_BYTES = 64 << 20,
    IMPORT_MAX_CELLS = 250000, /* a kilobyte of statistics each */
    IMPORT_MAX_LANES = 20000,
    IMPORT_MAX_COUNTERS = 1000,
    IMPORT_MAX_STEPS = 1000000,
    IMPORT_MAX_KEPT = 20000 /* samples kept in full per iteration */
};

/* ---- one event as it is written (import_record.c) ----------------------- */

/* One of an event's "args". */
struct argument {
    size_t key, text; /* offsets in the texts */
    bool is_number;
    double number;
};

/* One event as it is read: its members come in any order. Initialise to {0};
 * one serves all events. */
struct record {
    struct str name, category, pid, tid, id, texts;
    struct argument *arguments; /* of metadata and counters */
    size_t n_arguments, arguments_capacity;
    char phase; /* 0: none */
    bool is_empty, has_time, has_correlation;
    uint64_t
        correlation; /* what a launch and what it launched have in common */
    int64_t time_ns, duration_ns; /* within IMPORT_MAX_NS */
};

void record_release(struct record *record);

/* Reads the event whose { was just read. */
enum assay_status record_read(struct record *record, struct json_reader *json,
                              struct error *err);

/* The argument with this name, or NULL. */
const struct argument *record_argument(const struct record *record,
                                       const char *key);

/* ASSAY_BAD_INPUT: "line 3, column 14: what". */
enum assay_status record_refuse(const struct json_reader *json,
                                const char *what, struct error *err);

/* ---- names in the events (import_tables.c) ----------------------------- */

/* What an event is, by its category or name. */
enum label_traits {
    LABEL_OPERATOR = 1,
    LABEL_KERNEL = 2,
    LABEL_DEVICE = 4, /* happens on an accelerator */
    LABEL_STEP = 8,   /* an iteration */
    LABEL_FRAME = 16, /* the whole recording, not work of its own */
    LABEL_CALL = 32,  /* a call of a device's library, not an operator */
    LABEL_WORK = 64   /* keeps a device busy */
};

/* A name with its category. */
struct label {
    const char *name, *category;
    size_t name_bytes, category_bytes;
    unsigned traits;
};

struct process {
    const char *pid;
    const char *name, *labels; /* NULL if the trace has none */
    int64_t sort_index;
    bool has_spans;
};

/* A thread of the trace, or everything asynchronous in one process and
 * category. */
struct lane {
    uint32_t process;
    const char *tid;
    const char *name; /* NULL if the trace has none */
    enum thread_kind kind;
    int64_t sort_index;
    int64_t last_ns; /* time of its last event */
    uint64_t n_spans;
    uint32_t thread;         /* of the run */
    uint32_t scope;          /* the parent of its spans */
    uint32_t last_iteration; /* of its spans that were counted */
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

/* Each finds or adds one, and returns its index. */
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

/* The earliest starts, to distinguish the first spans from the rest. */
struct earliest {
    int64_t *starts; /* a heap, the latest on top */
    size_t n;
};

struct import {
    struct run *run;
    struct import_tables tables;
    struct event_sort *pairs, *spans;
    struct event_sort *links;  /* launches, and what waits for them */
    struct event_sort *device; /* spans of devices, and when they were busy */
    uint64_t n_events, n_events_by_letter[128];
    uint64_t n_operators, n_kernels, n_linked;
    int64_t kernels_ns;
    uint64_t n_spans, n_overlaps;
    int64_t first_ns, last_ns; /* of spans and counters */
    struct step *steps;
    size_t n_steps, steps_capacity;
    struct earliest earliest;
    enum import_keep keep;
    bool is_unclosed; /* a bare array without its closing bracket */
};

/* Reads the trace: fills the tables, the sorts and the counts. */
enum assay_status import_read_events(struct import *import,
                                     struct json_reader *json,
                                     struct error *err);

/* Adds a complete span to the sort: an EVENT_SPAN or EVENT_LAUNCH. Sets its
 * group. */
enum assay_status import_add_span(struct import *import, struct event *event,
                                  struct error *err);
/* Notes a span in the counts and the times of the trace. */
void import_note_span(struct import *import, const struct event *event);
/* Extends the time that the trace covers. */
void import_see(struct import *import, int64_t start_ns, int64_t end_ns);
/* Adds a start to the earliest ones, if it is one. */
void import_see_start(struct import *import, int64_t start_ns);

/* Matches begins and ends. */
enum assay_status import_match_pairs(struct import *import, struct error *err);

/* Adds a scope under the parent, unless there are too many. */
enum assay_status import_scope(struct import *import, uint32_t parent,
                               uint32_t label, uint32_t *scope,
                               struct error *err);

/* Adds a thread to the run for each lane with spans, in the order that the
 * trace asks for (import_threads.c). */
enum assay_status import_make_threads(struct import *import, struct error *err);
/* "thread 4037 (python)", for messages and for the run. */
enum assay_status import_lane_name(const struct import *import,
                                   const struct lane *lane, struct str *name);

/* Nests the spans, counts them in the run and keeps some: first those of the
 * host, then those of devices. */
enum assay_status import_count_spans(struct import *import, struct error *err);

/* ---- launches and what they launched (import_links.c) ------------------- */

/* Adds a span of a device: to the links if it has a correlation. */
enum assay_status import_add_device_span(struct import *import,
                                         struct event *event,
                                         bool has_correlation,
                                         uint64_t correlation,
                                         struct error *err);
/* Adds one end of an arrow. group: see import_flow_group(). */
enum assay_status import_add_flow(struct import *import, bool is_end,
                                  uint32_t lane, uint64_t group,
                                  int64_t time_ns, struct error *err);
/* A number for an arrow that no correlation has. */
uint64_t import_flow_group(const struct record *record);
/* The host launched something in the scope. */
enum assay_status import_add_launch(struct import *import, uint64_t link,
                                    uint32_t scope, int64_t time_ns,
                                    struct error *err);
/* Finds the scope of everything that waits for it, and finishes the sort of
 * devices. */
enum assay_status import_join_links(struct import *import, struct error *err);

/* The time in which at least one queue of a device worked, in stretches that
 * end with the iterations. Start from {0}. */
struct busy {
    uint32_t process, thread, scope;
    int64_t start_ns, end_ns;
    bool is_open;
};

enum assay_status import_take_busy(struct import *import, struct busy *busy,
                                   const struct event *event,
                                   struct error *err);
/* Counts the last stretch. */
enum assay_status import_end_busy(struct import *import, struct busy *busy,
                                  struct error *err);

/* ---- the iteration of a span (import_steps.c) --------------------------- */

/* Sorts the steps and drops those that are not iterations: on another thread
 * than the first one, on a device, or overlapping. */
void import_settle_steps(struct import *import);
/* The iteration in which a span ends; RUN_NONE outside all. */
uint32_t import_iteration(const struct import *import, int64_t start_ns,
                          int64_t end_ns);
/* The first beginning or end of an iteration after this time; INT64_MAX: none.
 */
int64_t import_next_bound(const struct import *import, int64_t time_ns);
/* The iteration that a step is; RUN_NONE if it is not one. */
uint32_t import_step_index(const struct import *import, uint32_t lane,
                           int64_t start_ns, int64_t duration_ns);

/* Which samples to keep in full: all, or if there are too many those of a few
 * iterations, or the first. */
struct keeper {
    bool keeps_all;
    uint32_t iterations[4];
    size_t n_iterations;
    size_t n_kept[4]; /* of each; [0] if there are no iterations */
    int64_t until_ns; /* without iterations: starts up to here */
};

enum assay_status keeper_init(struct keeper *keeper,
                              const struct import *import, struct error *err);
bool keeper_takes(struct keeper *keeper, const struct sample *sample);

/* ---- the bytes of a trace (import_source.c) ----------------------------- */

struct trace_file;

/* Opens a trace, plain or gzip; refuses files that are clearly not one. */
enum assay_status trace_file_open(const char *path, struct progress *progress,
                                  struct trace_file **out, struct error *err);
struct json_source trace_file_source(struct trace_file *file);
void trace_file_close(struct trace_file *file); /* accepts NULL */

#endif
