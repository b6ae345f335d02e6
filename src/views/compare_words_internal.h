/* views/compare_words_internal.h - what the views of a comparison share:
 * numbers, marks, the closing sentences, and which rows are shown.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_COMPARE_WORDS_INTERNAL_H
#define VIEWS_COMPARE_WORDS_INTERNAL_H

#include "base/units.h"
#include "views/scope_rows.h"
#include "views/views.h"

/* "+5.1 %"; "-" if it was not tested. */
const char *compare_change_text(char buffer[UNITS_MAX],
                                const struct compare_row *row);
/* Whether the test of a row says nothing: iterations or runs are so few, or
 * differ so much, that B may be a tenth of A or ten times A. */
bool compare_is_open(const struct compare_row *row);
/* "[+4.2, +6.0]", in percent; "too few to tell" or "too noisy" if the row is
 * open, "" if it was not tested. */
const char *compare_interval_text(char buffer[UNITS_MAX],
                                  const struct compare_row *row);
/* "0.031", "<0.001"; "" if it was not tested. */
const char *compare_p_text(char buffer[UNITS_MAX],
                           const struct compare_row *row);
/* "slower", "faster", "small", "added", "removed", "renamed", "once", "=", "?",
 * "not tested". */
const char *compare_mark(const struct compare_row *row);
/* "both", "added", "removed", "renamed": as in JSON. */
const char *compare_match_text(enum match match);
/* "passed", "failed", "noisy". */
const char *compare_gate_word(enum gate gate);

/* Whether the row above it was not added or removed too. */
bool compare_is_top(const struct comparison *comparison,
                    const struct compare_row *row);

/* The unit for all times, chosen by the whole. */
struct time_unit compare_unit(const struct comparison *comparison);
const char *compare_time_text(char buffer[UNITS_MAX], struct time_unit unit,
                              double ns);

uint64_t side_iterations(const struct compare_side *side);

/* Each appends to a text and can only return ASSAY_NOMEM. */

/* "3 runs, 150 iterations"; "8 starts" */
enum assay_status compare_side_words(const struct comparison *comparison,
                                     const struct compare_side *side,
                                     struct str *text);
/* "1 scope is slower by more than noise (95 % confidence over 148 scopes):
 * backbone.layer3 +5.1 % [+4.2, +6.0]; 2 scopes added, 1 removed" */
enum assay_status compare_verdict_words(const struct comparison *comparison,
                                        struct str *text);
/* "the whole +5.1 % [+4.2, +6.0]", or the path of another row. */
enum assay_status compare_judged_words(const struct comparison *comparison,
                                       size_t i, struct str *text);
/* What the verdict does not cover; nothing if it covers all. */
enum assay_status compare_caution_words(const struct comparison *comparison,
                                        struct str *text);

/* ---- compare_unlike.c: what is not the same on both sides ---------------- */

struct compare_unlike {
    const char *fact; /* "settings.threads" */
    const char *name; /* "threads" */
    const char *a, *b;
    bool a_has_others, b_has_others; /* not all runs of the side say that */
};

/* *next is 0 for the first one; false after the last one. */
bool compare_unlike(const struct comparison *comparison, size_t *next,
                    struct compare_unlike *out);
/* "threads A 2, B 4" */
enum assay_status compare_unlike_words(const struct compare_unlike *unlike,
                                       struct str *text);
/* All of it in one sentence; nothing if there is none. */
enum assay_status compare_all_unlike(const struct comparison *comparison,
                                     struct str *text);

/* Which rows are shown without --all: those that differ, their parents, and the
 * largest of the rest. */
struct compare_choice {
    bool *is_shown; /* by row */
    bool *has_next; /* by row: a shown sibling follows */
    size_t n_hidden;
};

enum assay_status compare_choose(const struct comparison *comparison, bool all,
                                 struct compare_choice *choice,
                                 struct error *err);
void compare_choice_release(struct compare_choice *choice); /* start from {0} */

#endif
