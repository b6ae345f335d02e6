/* views/report_compare.c - a comparison in the HTML report. */
#include "views/report_data_internal.h"

#include "views/compare_words_internal.h"

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

enum assay_status report_write_comparison(struct json_writer *json,
                                          const struct comparison *comparison,
                                          const struct report_rows *a,
                                          const struct report_rows *b,
                                          struct error *err)
{
    struct str verdict = {0}, caution = {0};
    enum assay_status st = compare_verdict_words(comparison, &verdict);

    if (!st)
        st = compare_caution_words(comparison, &caution);
    json_object_begin(json);
    json_member_string(json, "verdict", str_text(&verdict));
    json_member_string(json, "note", caution.n ? caution.text : NULL);
    json_member_double(json, "confidence", compare_confidence(comparison));
    json_key(json, "rows");
    json_object_begin(json);
    report_write_sides(json, comparison, a, b);
    report_write_tests(json, comparison);
    json_object_end(json);
    json_object_end(json);
    str_release(&caution);
    str_release(&verdict);
    return st ? error_nomem(err, 0, "the words of a comparison") : ASSAY_OK;
}
