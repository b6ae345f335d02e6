/* views/compare_words.c - see compare_words_internal.h. */
#include "views/compare_words_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { MOST_NAMED = 3 }; /* scopes in one sentence */

const char *compare_change_text(char buffer[UNITS_MAX],
                                const struct compare_row *row)
{
    return units_percent(buffer, row->ratio - 1, 1);
}

/* Percent without the sign for it: "+4.2", "-0.1", "0.0", "+120". */
static const char *percent_number(char buffer[UNITS_MAX], double ratio)
{
    double percent = (ratio - 1) * 100;

    if (fabs(percent) < 0.05)
        snprintf(buffer, UNITS_MAX, "0.0");
    else if (fabs(percent) < 1e6)
        snprintf(buffer, UNITS_MAX, "%+.*f", fabs(percent) < 99.95 ? 1 : 0,
                 percent);
    else
        snprintf(buffer, UNITS_MAX, "+inf"); /* as good as not known */
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
        snprintf(buffer, UNITS_MAX, "too few to tell");
    else if (!isnan(row->ratio))
        snprintf(buffer, UNITS_MAX, "[%.12s, %.12s]",
                 percent_number(low, row->low),
                 percent_number(high, row->high));
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
    if (row->match == MATCH_ADDED)
        return "added";
    if (row->match == MATCH_REMOVED)
        return "removed";
    if (row->is_significant)
        return row->ratio > 1 ? "slower" : "faster";
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

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

enum assay_status compare_side_words(const struct compare_side *side,
                                     struct str *text)
{
    uint64_t n = side_iterations(side);

    if (str_printf(text, "%zu run%s", side->n_runs, plural(side->n_runs)))
        return ASSAY_NOMEM;
    if (n == 0)
        return str_append(text, ", no iterations marked");
    return str_printf(text, ", %" PRIu64 " iteration%s", n, plural(n));
}

static bool is_named(const struct compare_row *row, bool slower)
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

/* The causes of one direction: how many, and the first few by name. */
static enum assay_status append_causes(const struct comparison *comparison,
                                       bool slower, struct str *text)
{
    size_t n = 0, named = 0;
    enum assay_status st;

    for (size_t i = 0; i < compare_row_count(comparison); i++)
        n += is_named(compare_row(comparison, i), slower);
    if (n == 0)
        return ASSAY_OK;
    st = str_printf(text,
                    "%s%zu scope%s %s %s by more than noise (%g %% confidence "
                    "over %zu scopes): ",
                    text->n ? "; " : "", n, plural(n), n == 1 ? "is" : "are",
                    slower ? "slower" : "faster",
                    100 * compare_confidence(comparison),
                    compare_n_tested(comparison));
    for (size_t i = 0; !st && i < compare_row_count(comparison); i++) {
        if (!is_named(compare_row(comparison, i), slower))
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

/* "; 1 scope added, 2 removed" */
static enum assay_status append_matches(const struct comparison *comparison,
                                        struct str *text)
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
                       is_first ? " scope" : "", is_first ? plural(n[m]) : "",
                       compare_match_text(m)))
            return ASSAY_NOMEM;
        is_first = false;
    }
    return ASSAY_OK;
}

enum assay_status compare_verdict_words(const struct comparison *comparison,
                                        struct str *text)
{
    size_t before = text->n;
    enum assay_status st;

    if (compare_n_tested(comparison) == 0)
        return str_append(text, "nothing could be tested: a scope needs 5 "
                                "iterations in a run of each side");
    st = append_causes(comparison, true, text);
    if (!st)
        st = append_causes(comparison, false, text);
    if (!st && text->n == before)
        st = str_printf(text,
                        "no difference is more than noise (%g %% confidence "
                        "over %zu scopes)",
                        100 * compare_confidence(comparison),
                        compare_n_tested(comparison));
    return st ? st : append_matches(comparison, text);
}

enum assay_status compare_caution_words(const struct comparison *comparison,
                                        struct str *text)
{
    size_t untested = 0;
    enum assay_status st = ASSAY_OK;

    if (compare_side_a(comparison)->n_runs == 1 &&
        compare_side_b(comparison)->n_runs == 1)
        st = str_append(text, "1 run a side: differences between runs of the "
                              "same program are not covered; give several "
                              "with --a and --b");
    for (size_t i = 0; i < compare_row_count(comparison); i++) {
        const struct compare_row *row = compare_row(comparison, i);

        untested += isnan(row->ratio) && row->match != MATCH_ADDED &&
                    row->match != MATCH_REMOVED;
    }
    if (!st && untested && compare_n_tested(comparison))
        st = str_printf(text,
                        "%s%zu scope%s not tested: fewer than 5 "
                        "iterations in the runs of a side",
                        text->n ? "; " : "", untested,
                        untested == 1 ? " was" : "s were");
    return st;
}

/* How to get a decision out of a measurement that was too noisy. */
static enum assay_status append_advice(const struct gate_result *gate,
                                       struct str *text)
{
    if (gate->more_iterations)
        return str_printf(text, "; about %" PRIu64 " iterations a run may tell",
                          gate->more_iterations);
    return str_append(text, "; more runs a side (--a, --b) may tell");
}

enum assay_status compare_gate_words(const struct comparison *comparison,
                                     const struct gate_result *gate,
                                     struct str *text)
{
    char change[UNITS_MAX];
    const struct compare_row *row;
    bool is_failed = gate->gate == GATE_FAILED;
    size_t n = is_failed ? gate->n_failed : gate->n_noisy;

    if (gate->gate == GATE_PASSED)
        return str_append(text, "passed: nothing is slower than its budget");
    row = compare_row(comparison, gate->row);
    if (str_append(text, is_failed ? "failed: " : "too noisy to decide: ") ||
        compare_row_path(comparison, gate->row, text) ||
        str_printf(text, " %s %s its budget of %g %%",
                   isnan(row->ratio) ? "(not tested)"
                                     : compare_change_text(change, row),
                   is_failed ? "is over" : "may be over", 100 * gate->above))
        return ASSAY_NOMEM;
    if (n > 1 && str_printf(text, ", and %zu more", n - 1))
        return ASSAY_NOMEM;
    return is_failed ? ASSAY_OK : append_advice(gate, text);
}
