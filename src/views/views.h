/* views/views.h - runs as text, tables, traces.
 *
 * A file a view. Each reads a sealed run and writes to a sink, so that a test
 * can compare bytes; none changes the run or knows where it came from.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_VIEWS_H
#define VIEWS_VIEWS_H

#include "base/sink.h"
#include "base/term.h"
#include "run/compare.h"
#include "run/run.h"

enum view_sort {
    SORT_SELF, /* the default of tables */
    SORT_TOTAL,
    SORT_CALLS,
    SORT_MEAN,
    SORT_NAME,
    SORT_ORDER, /* of first appearance */
    SORT_BYTES
};

enum view_group {
    GROUP_SCOPE, /* a row a scope */
    GROUP_NAME,  /* scopes of the same name together, wherever they are */
    GROUP_CLASS
};

struct view_options {
    struct term term;
    const char *source; /* the run's file name, for titles; may be NULL */
    int depth;          /* levels below the root; -1: choose */
    bool all;           /* hide nothing */
    enum view_sort sort;
    enum view_group group;
    size_t limit;      /* rows of a table; 0: 20 */
    double hide_below; /* share of the whole; 0.02 unless told */
    const char *wrote; /* files that came with it, for the summary; or NULL */
    const char *note;  /* what a reader of the summary must know; or NULL */
    /* What was found on photographs, for the JSON: an object a line; or NULL.
     */
    const char *found;
    const char *next; /* a command that goes on from here; or NULL */
};

/* What a person gets without saying more. */
struct view_options view_defaults(struct term term);

/* One screen: what, where, how long, how steady, the tree, what is next. */
enum assay_status view_summary(const struct run *run,
                               const struct view_options *options,
                               struct sink *sink, struct error *err);
enum assay_status view_tree(const struct run *run,
                            const struct view_options *options,
                            struct sink *sink, struct error *err);
enum assay_status view_table(const struct run *run,
                             const struct view_options *options,
                             struct sink *sink, struct error *err);
/* The stable layouts that other programs read: TERMINAL.md. */
enum assay_status view_tree_plain(const struct run *run,
                                  const struct view_options *options,
                                  struct sink *sink, struct error *err);
enum assay_status view_table_plain(const struct run *run,
                                   const struct view_options *options,
                                   struct sink *sink, struct error *err);

/* Who owned the memory at the peak. */
enum assay_status view_memory(const struct run *run,
                              const struct view_options *options,
                              struct sink *sink, struct error *err);

enum assay_status view_json(const struct run *run,
                            const struct view_options *options,
                            struct sink *sink, struct error *err);
enum assay_status view_csv(const struct run *run,
                           const struct view_options *options,
                           struct sink *sink, struct error *err);
enum assay_status view_markdown(const struct run *run,
                                const struct view_options *options,
                                struct sink *sink, struct error *err);

/* Chrome trace event JSON, for Perfetto and chrome://tracing. */
enum assay_status view_trace(const struct run *run, struct sink *sink,
                             struct error *err);

struct compare_view {
    struct term term;
    const char *name_a, *name_b;    /* file names, for the head */
    bool all;                       /* every row, not only what changed */
    const struct gate_result *gate; /* NULL: no gate was asked for */
};

enum assay_status view_compare(const struct comparison *comparison,
                               const struct compare_view *options,
                               struct sink *sink, struct error *err);
enum assay_status view_compare_json(const struct comparison *comparison,
                                    const struct compare_view *options,
                                    struct sink *sink, struct error *err);
enum assay_status view_compare_markdown(const struct comparison *comparison,
                                        const struct compare_view *options,
                                        struct sink *sink, struct error *err);

#endif
