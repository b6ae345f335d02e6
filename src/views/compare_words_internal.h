/* views/compare_words_internal.h - what the views of a comparison say alike:
 * numbers, marks, the closing sentences, and which rows are worth a line.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_COMPARE_WORDS_INTERNAL_H
#define VIEWS_COMPARE_WORDS_INTERNAL_H

#include "base/units.h"
#include "views/scope_rows.h"
#include "views/views.h"

/* "+5.1 %"; "-" where it was not tested. */
const char *compare_change_text(char buffer[UNITS_MAX],
                                const struct compare_row *row);
/* Whether a row was tested and nothing came of it: so few iterations, or runs,
 * that differ so much that B may be a tenth of A or ten times A. */
bool compare_is_open(const struct compare_row *row);
/* "[+4.2, +6.0]", in percent; "too few to tell" where it is open, "" where it
 * was not tested. */
const char *compare_interval_text(char buffer[UNITS_MAX],
                                  const struct compare_row *row);
/* "0.031", "<0.001"; "" where it was not tested. */
const char *compare_p_text(char buffer[UNITS_MAX],
                           const struct compare_row *row);
/* "slower", "faster", "added", "removed", "renamed", "=", "?", "not tested". */
const char *compare_mark(const struct compare_row *row);
/* "both", "added", "removed", "renamed": as JSON has it. */
const char *compare_match_text(enum match match);
/* "passed", "failed", "noisy". */
const char *compare_gate_word(enum gate gate);

/* Whether nothing above the row was added or removed with it. */
bool compare_is_top(const struct comparison *comparison,
                    const struct compare_row *row);

/* The unit of all times: that of the whole. */
struct time_unit compare_unit(const struct comparison *comparison);
const char *compare_time_text(char buffer[UNITS_MAX], struct time_unit unit,
                              double ns);

uint64_t side_iterations(const struct compare_side *side);

/* Each appends to a text; only ASSAY_NOMEM can come back. */

/* "3 runs, 150 iterations" */
enum assay_status compare_side_words(const struct compare_side *side,
                                     struct str *text);
/* "1 scope is slower by more than noise (95 % confidence over 148 scopes):
 * backbone.layer3 +5.1 % [+4.2, +6.0]; 2 scopes added, 1 removed" */
enum assay_status compare_verdict_words(const struct comparison *comparison,
                                        struct str *text);
/* What the verdict does not cover; nothing where it covers all. */
enum assay_status compare_caution_words(const struct comparison *comparison,
                                        struct str *text);
/* "failed: backbone.layer3 +5.1 % is over its budget of 3 %" */
enum assay_status compare_gate_words(const struct comparison *comparison,
                                     const struct gate_result *gate,
                                     struct str *text);

/* Which rows are shown unless all are asked for: what differs, the way there,
 * and the largest of the rest. */
struct compare_choice {
    bool *is_shown; /* by row */
    bool *has_next; /* by row: a shown sibling comes after it */
    size_t n_hidden;
};

enum assay_status compare_choose(const struct comparison *comparison, bool all,
                                 struct compare_choice *choice,
                                 struct error *err);
void compare_choice_release(struct compare_choice *choice); /* from {0} */

#endif
