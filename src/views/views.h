/* views/views.h - runs as text, tables and traces.
 *
 * One file per view. Each reads a sealed run and writes to a sink, so that a
 * test can compare bytes; none changes the run or knows where it came from.
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
    GROUP_SCOPE, /* one row per scope */
    GROUP_NAME,  /* joins scopes of the same name, wherever they are */
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
    double hide_below; /* share of the whole; default 0.02 */
    const char *wrote; /* written files, for the summary; or NULL */
    const char *note;  /* what a reader of the summary must know; or NULL */
    const char *next;  /* a command to continue with; or NULL */
};

/* The options without any choice of the user. */
struct view_options view_defaults(struct term term);

typedef enum assay_status run_view(const struct run *run,
                                   const struct view_options *options,
                                   struct sink *sink, struct error *err);

/* A screen of 80 columns and 24 lines, the last of which is for the prompt: a
 * line for each subject, the modules that cost most, what next. */
run_view view_brief;
/* All of it: what, where, how long, how steady, the tree, what next. */
run_view view_summary;
run_view view_tree, view_table;
/* The stable layouts for other programs: TERMINAL.md. */
run_view view_tree_plain, view_table_plain;
/* Who owned the memory at the peak. */
run_view view_memory;
run_view view_json, view_csv, view_markdown;

/* Chrome trace event JSON, for Perfetto and chrome://tracing. */
enum assay_status view_trace(const struct run *run, struct sink *sink,
                             struct error *err);

struct compare_view {
    struct term term;
    const char *name_a, *name_b;    /* file names, for the head */
    const char *how;                /* how the runs were made; or NULL */
    bool all;                       /* every row, not only changed ones */
    const struct gate_result *gate; /* NULL: there is no gate */
};

typedef enum assay_status comparison_view(const struct comparison *comparison,
                                          const struct compare_view *options,
                                          struct sink *sink, struct error *err);

comparison_view view_compare, view_compare_json, view_compare_markdown;
/* For continuous integration; both need a gate. JUnit's XML: one test per
 * judged scope. For GitHub: the screen, and its verdict as an annotation. */
comparison_view view_compare_junit, view_compare_github;

/* Appends "failed: backbone.layer3 +5.1 % [+4.2, +6.0] is over its budget of
 * 3 %; the whole +0.5 % [+0.1, +0.9]". It can only return ASSAY_NOMEM. */
enum assay_status compare_gate_words(const struct comparison *comparison,
                                     const struct gate_result *gate,
                                     struct str *text);

#endif
