/* views/compare_words.c - see compare_words_internal.h. */
#include "views/compare_words_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { MOST_NAMED = 3 }; /* scopes in one sentence */
/* With as many iterations in every run, it is not their number that leaves a
 * row open. */
enum { FEW_ITERATIONS = 10 };

const char *compare_change_text(char buffer[UNITS_MAX],
                                const struct compare_row *row)
{
    return units_percent(buffer, row->ratio - 1, 1);
}

/* Percent without the % sign: "+4.2", "-0.1", "0.0", "+120". */
static const char *compare_percent_number(char buffer[UNITS_MAX], double ratio)
{
    double percent = (ratio - 1) * 100;

    if (fabs(percent) < 0.05)
        snprintf(buffer, UNITS_MAX, "0.0");
    else if (fabs(percent) < 1e6)
        snprintf(buffer, UNITS_MAX, "%+.*f", fabs(percent) < 99.95 ? 1 : 0,
                 percent);
    else
        snprintf(buffer, UNITS_MAX, "+inf"); /* as good as unknown */
    return buffer;
}

bool compare_is_open(const struct compare_row *row)
{
    static const double widest = 100; /* from a tenth to ten times */

    return !isnan(row->ratio) && !row->is_significant &&
           !(row->high <= widest * row->low);
}

const char *compare_interval_text(char buffer[UNITS_MAX],
                                  const struct compare_row *row)
{
    char low[UNITS_MAX], high[UNITS_MAX];

    buffer[0] = '\0';
    if (compare_is_open(row))
        snprintf(buffer, UNITS_MAX, "%s",
                 row->n_least < FEW_ITERATIONS ? "too few to tell"
                                               : "too noisy");
    else if (!isnan(row->ratio))
        snprintf(buffer, UNITS_MAX, "[%.12s, %.12s]",
                 compare_percent_number(low, row->low),
                 compare_percent_number(high, row->high));
    return buffer;
}

const char *compare_p_text(char buffer[UNITS_MAX],
                           const struct compare_row *row)
{
    buffer[0] = '\0';
    if (row->p < 0.001)
        snprintf(buffer, UNITS_MAX, "<0.001");
    else if (!isnan(row->p))
        snprintf(buffer, UNITS_MAX, row->p < 0.0995 ? "%.3f" : "%.2f", row->p);
    return buffer;
}

const char *compare_mark(const struct compare_row *row)
{
    if (row->is_outside)
        return "once";
    if (row->match == MATCH_ADDED)
        return "added";
    if (row->match == MATCH_REMOVED)
        return "removed";
    if (row->is_counted)
        return row->ratio > 1 ? "slower" : "faster";
    if (row->is_significant)
        return "small";
    if (row->match == MATCH_RENAMED)
        return "renamed";
    if (isnan(row->ratio))
        return "not tested";
    return compare_is_open(row) ? "?" : "=";
}

const char *compare_match_text(enum match match)
{
    switch (match) {
    case MATCH_BOTH:
        return "both";
    case MATCH_ADDED:
        return "added";
    case MATCH_REMOVED:
        return "removed";
    case MATCH_RENAMED:
        return "renamed";
    }
    return "";
}

const char *compare_gate_word(enum gate gate)
{
    switch (gate) {
    case GATE_PASSED:
        return "passed";
    case GATE_FAILED:
        return "failed";
    case GATE_NOISY:
        return "noisy";
    }
    return "";
}

struct time_unit compare_unit(const struct comparison *comparison)
{
    double whole = compare_row(comparison, 0)->a_ns;

    return whole < 1e6 ? (struct time_unit){.name = "us", .ns = 1e3}
                       : (struct time_unit){.name = "ms", .ns = 1e6};
}

const char *compare_time_text(char buffer[UNITS_MAX], struct time_unit unit,
                              double ns)
{
    return units_number(buffer, ns / unit.ns);
}

uint64_t side_iterations(const struct compare_side *side)
{
    uint64_t n = 0;

    for (size_t i = 0; i < side->n_runs; i++)
        n += run_iteration_count(side->runs[i]);
    return n;
}

static const char *compare_plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

enum assay_status compare_side_words(const struct comparison *comparison,
                                     const struct compare_side *side,
                                     struct str *text)
{
    uint64_t n = side_iterations(side);

    if (compare_has_starts(comparison))
        return str_printf(text, "%" PRIu64 " start%s", n, compare_plural(n));

    if (str_printf(text, "%zu run%s", side->n_runs,
                   compare_plural(side->n_runs)))
        return ASSAY_NOMEM;
    if (n == 0)
        return str_append(text, ", no iterations marked");
    return str_printf(text, ", %" PRIu64 " iteration%s", n, compare_plural(n));
}

static bool compare_is_named(const struct compare_row *row, bool slower)
{
    return row->is_cause && (row->ratio > 1) == slower;
}

/* "backbone.layer3 +5.1 % [+4.2, +6.0]" */
static enum assay_status
compare_words_append_row(const struct comparison *comparison, size_t i,
                         struct str *text)
{
    const struct compare_row *row = compare_row(comparison, i);
    char change[UNITS_MAX], interval[UNITS_MAX];

    if (compare_row_path(comparison, i, text))
        return ASSAY_NOMEM;
    return str_printf(text, " %s %s", compare_change_text(change, row),
                      compare_interval_text(interval, row));
}

/* The causes in one direction: how many, and the first few by name. */
static enum assay_status
compare_append_causes(const struct comparison *comparison, bool slower,
                      struct str *text)
{
    size_t n = 0, named = 0;
    enum assay_status st;

    for (size_t i = 0; i < compare_row_count(comparison); i++)
        n += compare_is_named(compare_row(comparison, i), slower);
    if (n == 0)
        return ASSAY_OK;
    st = str_printf(text,
                    "%s%zu scope%s %s %s by more than noise (%g %% confidence "
                    "over %zu scope%s): ",
                    text->n ? "; " : "", n, compare_plural(n),
                    n == 1 ? "is" : "are", slower ? "slower" : "faster",
                    100 * compare_confidence(comparison),
                    compare_n_tested(comparison),
                    compare_plural(compare_n_tested(comparison)));
    for (size_t i = 0; !st && i < compare_row_count(comparison); i++) {
        if (!compare_is_named(compare_row(comparison, i), slower))
            continue;
        if (named == MOST_NAMED)
            return str_printf(text, " and %zu more", n - named);
        if (named++ > 0)
            st = str_append(text, ", ");
        if (!st)
            st = compare_words_append_row(comparison, i, text);
    }
    return st;
}

bool compare_is_top(const struct comparison *comparison,
                    const struct compare_row *row)
{
    return row->parent == RUN_NONE ||
           compare_row(comparison, row->parent)->match != row->match;
}

static size_t compare_count_small(const struct comparison *c)
{
    size_t n = 0;

    for (size_t i = 0; i < compare_row_count(c); i++)
        n +=
            compare_row(c, i)->is_significant && !compare_row(c, i)->is_counted;
    return n;
}

/* "2 scopes differ by less than 0.5 % of the whole, which does not count" */
static enum assay_status compare_append_small(const struct comparison *c,
                                              struct str *text)
{
    size_t n = compare_count_small(c);

    if (n == 0)
        return ASSAY_OK;
    return str_printf(text,
                      "%s%zu scope%s by less than %g %% of the whole, which "
                      "does not count",
                      text->n ? "; " : "", n, n == 1 ? " differs" : "s differ",
                      100 * compare_floor(c));
}

/* "; 1 scope added, 2 removed" */
static enum assay_status
compare_append_matches(const struct comparison *comparison, struct str *text)
{
    size_t n[MATCH_RENAMED + 1] = {0};
    bool is_first = true;

    for (size_t i = 0; i < compare_row_count(comparison); i++) {
        const struct compare_row *row = compare_row(comparison, i);

        n[row->match] +=
            row->match == MATCH_RENAMED || compare_is_top(comparison, row);
    }
    for (enum match m = MATCH_ADDED; m <= MATCH_RENAMED; m++) {
        if (n[m] == 0)
            continue;
        if (str_printf(text, "%s%zu%s%s %s", is_first ? "; " : ", ", n[m],
                       is_first ? " scope" : "",
                       is_first ? compare_plural(n[m]) : "",
                       compare_match_text(m)))
            return ASSAY_NOMEM;
        is_first = false;
    }
    return ASSAY_OK;
}

/* A change that other rows explain, though none of them counts by itself:
 * scopes that were added or removed. */
static enum assay_status
compare_append_explained(const struct comparison *comparison, struct str *text)
{
    size_t i = 0;
    enum assay_status st;

    while (i < compare_row_count(comparison) &&
           !compare_row(comparison, i)->is_counted)
        i++;
    if (i == compare_row_count(comparison))
        return ASSAY_OK;
    st = compare_words_append_row(comparison, i, text);
    return st ? st
              : str_printf(
                    text,
                    " is more than noise (%g %% confidence over %zu "
                    "scope%s), and what was added or removed explains it",
                    100 * compare_confidence(comparison),
                    compare_n_tested(comparison),
                    compare_plural(compare_n_tested(comparison)));
}

enum assay_status compare_verdict_words(const struct comparison *comparison,
                                        struct str *text)
{
    size_t before = text->n;
    enum assay_status st;

    if (compare_n_tested(comparison) == 0)
        return str_append(text, "nothing could be tested: a scope needs 5 "
                                "iterations in a run of each side");
    st = compare_append_causes(comparison, true, text);
    if (!st)
        st = compare_append_causes(comparison, false, text);
    if (!st && text->n == before)
        st = compare_append_explained(comparison, text);
    if (!st)
        st = compare_append_small(comparison, text);
    if (!st && text->n == before)
        st = str_printf(text,
                        "no difference is more than noise (%g %% confidence "
                        "over %zu scope%s)",
                        100 * compare_confidence(comparison),
                        compare_n_tested(comparison),
                        compare_plural(compare_n_tested(comparison)));
    return st ? st : compare_append_matches(comparison, text);
}

static size_t side_count_disturbed(const struct compare_side *side)
{
    size_t n = 0;

    for (size_t i = 0; i < side->n_runs; i++)
        n += run_is_disturbed(side->runs[i]);
    return n;
}

/* "other work disturbed 1 of the 2 runs" */
static enum assay_status
compare_append_disturbed(const struct comparison *comparison, struct str *text)
{
    const struct compare_side *a = compare_side_a(comparison);
    const struct compare_side *b = compare_side_b(comparison);
    size_t n = side_count_disturbed(a) + side_count_disturbed(b);

    if (n == 0)
        return ASSAY_OK;
    return str_printf(text, "%sother work disturbed %zu of the %zu runs",
                      text->n ? "; " : "", n, a->n_runs + b->n_runs);
}

/* Which times are those of a device. */
static enum assay_status
compare_append_devices(const struct comparison *comparison, struct str *text)
{
    bool of_a = false, of_b = false;

    for (size_t i = 0; i < compare_row_count(comparison); i++) {
        of_a |= compare_row(comparison, i)->a_is_device;
        of_b |= compare_row(comparison, i)->b_is_device;
    }
    if (!of_a && !of_b)
        return ASSAY_OK;
    return str_printf(text,
                      "%stimes of modules that a device ran for longer than "
                      "the host launched them are the device's (%s)",
                      text->n ? "; " : "",
                      of_a && of_b ? "A and B"
                      : of_a       ? "A"
                                   : "B");
}

enum assay_status compare_caution_words(const struct comparison *comparison,
                                        struct str *text)
{
    size_t untested = 0;
    enum assay_status st = ASSAY_OK;

    if (!compare_covers_starts(comparison))
        st = str_append(text, "1 run per side: differences between runs of "
                              "the same program are not covered; give several "
                              "with --a and --b");
    for (size_t i = 0; i < compare_row_count(comparison); i++) {
        const struct compare_row *row = compare_row(comparison, i);

        untested += isnan(row->ratio) && row->match != MATCH_ADDED &&
                    row->match != MATCH_REMOVED && row->a_ns > 0 &&
                    !row->is_outside;
    }
    if (!st && untested && compare_n_tested(comparison))
        st = str_printf(text,
                        "%s%zu scope%s not tested: fewer than 5 "
                        "iterations in the runs of a side",
                        text->n ? "; " : "", untested,
                        untested == 1 ? " was" : "s were");
    if (!st)
        st = compare_append_disturbed(comparison, text);
    if (!st)
        st = compare_append_devices(comparison, text);
    return st;
}

/* How to get a decision from a measurement that was too noisy. */
static enum assay_status compare_append_advice(const struct comparison *c,
                                               const struct gate_result *gate,
                                               struct str *text)
{
    if (compare_has_pairs(c))
        return str_append(text, "; more pairs (--pairs, --limit) may settle "
                                "it");
    if (gate->more_iterations)
        return str_printf(text,
                          "; about %" PRIu64 " iterations per run may settle "
                          "it",
                          gate->more_iterations);
    return str_append(text, "; more runs per side (--a, --b) may settle it");
}

enum assay_status compare_judged_words(const struct comparison *c, size_t i,
                                       struct str *text)
{
    const struct compare_row *row = compare_row(c, i);
    char change[UNITS_MAX], interval[UNITS_MAX];

    if (i == 0 ? str_append(text, "the whole") : compare_row_path(c, i, text))
        return ASSAY_NOMEM;
    if (isnan(row->ratio))
        return str_append(text, " (not tested)");
    return str_printf(text, " %s %s", compare_change_text(change, row),
                      compare_interval_text(interval, row));
}

/* The cause that changed the whole the most, RUN_NONE if there is none. */
static uint32_t compare_find_main_cause(const struct comparison *c)
{
    uint32_t most = RUN_NONE;

    for (uint32_t i = 1; i < compare_row_count(c); i++) {
        const struct compare_row *row = compare_row(c, i);

        if (row->is_cause && row->ratio > 1 &&
            (most == RUN_NONE ||
             compare_share_of_whole(c, i, row->ratio) >
                 compare_share_of_whole(c, most, compare_row(c, most)->ratio)))
            most = i;
    }
    return most;
}

/* What besides the row that decided: the cause if that is the whole, or what
 * the whole did. */
static enum assay_status compare_append_rest(const struct comparison *c,
                                             const struct gate_result *gate,
                                             struct str *text)
{
    size_t n = gate->gate == GATE_FAILED ? gate->n_failed : gate->n_noisy;
    uint32_t cause = compare_find_main_cause(c);
    enum assay_status st = ASSAY_OK;

    if (gate->row == 0 && gate->gate == GATE_FAILED && cause != RUN_NONE) {
        st = str_append(text, ", most of it in ");
        return st ? st : compare_judged_words(c, cause, text);
    }
    if (n > 1)
        st = str_printf(text, ", and %zu more", n - 1);
    if (st || gate->row == 0)
        return st;
    st = str_append(text, "; ");
    return st ? st : compare_judged_words(c, 0, text);
}

enum assay_status compare_gate_words(const struct comparison *comparison,
                                     const struct gate_result *gate,
                                     struct str *text)
{
    bool is_failed = gate->gate == GATE_FAILED;

    if (gate->gate == GATE_PASSED) {
        if (str_append(text, "passed: "))
            return ASSAY_NOMEM;
        if (!gate->rows[0].is_judged)
            return str_append(text, "no module is over its budget");
        return compare_judged_words(comparison, 0, text)
                   ? ASSAY_NOMEM
                   : str_append(text, " is within its budget, and so is every "
                                      "module");
    }
    if (str_append(text, is_failed ? "failed: " : "too noisy to decide: ") ||
        compare_judged_words(comparison, gate->row, text) ||
        str_printf(text, " %s its budget of %g %%",
                   is_failed ? "is over" : "may be over", 100 * gate->above) ||
        compare_append_rest(comparison, gate, text))
        return ASSAY_NOMEM;
    return is_failed ? ASSAY_OK : compare_append_advice(comparison, gate, text);
}
