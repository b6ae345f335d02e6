/* views/report_compare.c - a comparison in the HTML report. */
#include "views/report_data_internal.h"

#include "views/compare_words_internal.h"

#include <math.h>
#include <stddef.h>

static const struct {
    const char *key;
    size_t offset;
} numbers[] = {
    {"ratio", offsetof(struct compare_row, ratio)},
    {"low", offsetof(struct compare_row, low)},
    {"high", offsetof(struct compare_row, high)},
    {"p", offsetof(struct compare_row, p)},
};

/* What the screen prints of a row. */
static const struct {
    const char *key;
    const char *(*text)(char buffer[UNITS_MAX], const struct compare_row *row);
} texts[] = {
    {"change", compare_change_text},
    {"interval", compare_interval_text},
    {"p_text", compare_p_text},
};

static void report_write_sides(struct json_writer *json,
                               const struct comparison *comparison,
                               const struct report_rows *a,
                               const struct report_rows *b)
{
    size_t n = compare_row_count(comparison);

    report_column(json, "parent");
    for (size_t i = 0; i < n; i++)
        report_row(json, compare_row(comparison, i)->parent);
    json_array_end(json);
    report_column(json, "a");
    for (size_t i = 0; i < n; i++) {
        uint32_t scope = compare_row(comparison, i)->a;

        report_row(json, scope == RUN_NONE ? RUN_NONE : a->row_of[scope]);
    }
    json_array_end(json);
    report_column(json, "b");
    for (size_t i = 0; i < n; i++) {
        uint32_t scope = compare_row(comparison, i)->b;

        report_row(json, scope == RUN_NONE ? RUN_NONE : b->row_of[scope]);
    }
    json_array_end(json);
}

static void report_write_tests(struct json_writer *json,
                               const struct comparison *comparison)
{
    size_t n = compare_row_count(comparison);

    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        report_column(json, numbers[k].key);
        for (size_t i = 0; i < n; i++) {
            const void *row = compare_row(comparison, i);
            const void *field = (const char *)row + numbers[k].offset;

            report_number(json, *(const double *)field);
        }
        json_array_end(json);
    }
    report_column(json, "mark");
    for (size_t i = 0; i < n; i++)
        json_write_string(json, compare_mark(compare_row(comparison, i)));
    json_array_end(json);
    report_column(json, "is_cause");
    for (size_t i = 0; i < n; i++)
        json_write_int(json, compare_row(comparison, i)->is_cause);
    json_array_end(json);
}

/* By how much of A's whole a row changed it: what the rows are sorted by. What
 * is in one run only changed it by all of its time. */
static double report_effect(const struct comparison *comparison, size_t i)
{
    const struct compare_row *row = compare_row(comparison, i);

    if (row->is_outside)
        return NAN;
    if (row->match == MATCH_ADDED || row->match == MATCH_REMOVED)
        return row->match == MATCH_ADDED ? row->share : -row->share;
    return isnan(row->ratio)
               ? NAN
               : compare_share_of_whole(comparison, i, row->ratio);
}

static void report_write_times(struct json_writer *json,
                               const struct comparison *comparison)
{
    size_t n = compare_row_count(comparison);

    report_column(json, "a_ms");
    for (size_t i = 0; i < n; i++)
        report_number(json, compare_row(comparison, i)->a_ns / 1e6);
    json_array_end(json);
    report_column(json, "b_ms");
    for (size_t i = 0; i < n; i++)
        report_number(json, compare_row(comparison, i)->b_ns / 1e6);
    json_array_end(json);
    report_column(json, "effect");
    for (size_t i = 0; i < n; i++)
        report_number(json, report_effect(comparison, i));
    json_array_end(json);
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        report_column(json, texts[k].key);
        for (size_t i = 0; i < n; i++) {
            char text[UNITS_MAX];

            json_write_string(json,
                              texts[k].text(text, compare_row(comparison, i)));
        }
        json_array_end(json);
    }
}

/* Which rows the screen shows without --all. */
static enum assay_status report_write_shown(struct json_writer *json,
                                            const struct comparison *comparison,
                                            struct error *err)
{
    struct compare_choice choice = {0};
    enum assay_status st = compare_choose(comparison, false, &choice, err);

    report_column(json, "is_shown");
    for (size_t i = 0; !st && i < compare_row_count(comparison); i++)
        json_write_int(json, choice.is_shown[i]);
    json_array_end(json);
    compare_choice_release(&choice);
    return st;
}

/* The verdict of the gate, and on each row that has a budget. */
static enum assay_status report_write_gate(struct json_writer *json,
                                           const struct comparison *comparison,
                                           const struct gate_result *gate)
{
    struct str text = {0};
    enum assay_status st = compare_gate_words(comparison, gate, &text);

    json_key(json, "gate");
    json_object_begin(json);
    json_member_string(json, "result", compare_gate_word(gate->gate));
    json_member_string(json, "text", str_text(&text));
    report_column(json, "rows");
    for (size_t i = 0; i < compare_row_count(comparison); i++) {
        if (gate->rows[i].is_judged)
            json_write_string(json, compare_gate_word(gate->rows[i].gate));
        else
            json_write_null(json);
    }
    json_array_end(json);
    report_column(json, "budgets");
    for (size_t i = 0; i < compare_row_count(comparison); i++)
        report_number(json,
                      gate->rows[i].is_judged ? gate->rows[i].above : NAN);
    json_array_end(json);
    json_object_end(json);
    str_release(&text);
    return st;
}

static enum assay_status report_write_words(struct json_writer *json,
                                            const struct comparison *comparison)
{
    struct str text = {0};
    enum assay_status st = compare_verdict_words(comparison, &text);

    json_member_string(json, "verdict", str_text(&text));
    str_clear(&text);
    if (!st)
        st = compare_all_unlike(comparison, &text);
    json_member_string(json, "unlike", text.n ? text.text : NULL);
    str_clear(&text);
    if (!st)
        st = compare_caution_words(comparison, &text);
    json_member_string(json, "note", text.n ? text.text : NULL);
    report_column(json, "sides");
    for (size_t i = 0; !st && i < 2; i++) {
        str_clear(&text);
        st = compare_side_words(comparison,
                                i == 0 ? compare_side_a(comparison)
                                       : compare_side_b(comparison),
                                &text);
        json_write_string(json, str_text(&text));
    }
    json_array_end(json);
    str_release(&text);
    return st;
}

enum assay_status report_write_comparison(struct json_writer *json,
                                          const struct comparison *comparison,
                                          const struct gate_result *gate,
                                          const struct report_rows *a,
                                          const struct report_rows *b,
                                          struct error *err)
{
    enum assay_status st;

    json_object_begin(json);
    st = report_write_words(json, comparison);
    json_member_double(json, "confidence", compare_confidence(comparison));
    json_member_double(json, "floor", compare_floor(comparison));
    json_member_int(json, "tested", (int64_t)compare_n_tested(comparison));
    if (!st && gate)
        st = report_write_gate(json, comparison, gate);
    if (st)
        return error_nomem(err, 0, "the words of a comparison");
    json_key(json, "rows");
    json_object_begin(json);
    report_write_sides(json, comparison, a, b);
    report_write_tests(json, comparison);
    report_write_times(json, comparison);
    st = report_write_shown(json, comparison, err);
    json_object_end(json);
    json_object_end(json);
    return st;
}
