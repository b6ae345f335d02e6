/* views/view_compare_json.c - a comparison for programs: every row.
 *
 * docs/compare.md lists the members. */
#include "base/json.h"
#include "views/compare_words_internal.h"

#include <math.h>

enum { INDENT = 2 };

static void compare_json_write_side(struct json_writer *json, const char *key,
                                    const char *name,
                                    const struct compare_side *side)
{
    json_key(json, key);
    json_inline_object_begin(json);
    json_member_string(json, "name", name);
    json_member_int(json, "runs", (int64_t)side->n_runs);
    json_member_int(json, "iterations", (int64_t)side_iterations(side));
    json_object_end(json);
}

static void compare_json_write_unlike(struct json_writer *json,
                                      const struct comparison *comparison)
{
    struct compare_unlike unlike;
    size_t next = 0;

    json_key(json, "unlike");
    json_array_begin(json);
    while (compare_unlike(comparison, &next, &unlike)) {
        json_inline_object_begin(json);
        json_member_string(json, "fact", unlike.fact);
        json_member_string(json, "a", unlike.a);
        json_member_string(json, "b", unlike.b);
        json_member_bool(json, "a_varies", unlike.a_has_others);
        json_member_bool(json, "b_varies", unlike.b_has_others);
        json_object_end(json);
    }
    json_array_end(json);
}

static void compare_json_write_member(struct json_writer *json, const char *key,
                                      const struct str *text)
{
    json_member_string(json, key, text->n ? text->text : NULL);
}

static enum assay_status
compare_json_write_gate(struct json_writer *json,
                        const struct comparison *comparison,
                        const struct gate_result *gate)
{
    struct str text = {0};
    enum assay_status st = ASSAY_OK;
    bool has_row = gate->gate != GATE_PASSED;

    if (has_row)
        st = compare_row_path(comparison, gate->row, &text);
    json_key(json, "gate");
    json_object_begin(json);
    json_member_string(json, "result", compare_gate_word(gate->gate));
    json_member_string(json, "decided_by",
                       !has_row         ? NULL
                       : gate->row == 0 ? "whole"
                                        : "module");
    json_member_string(json, "scope", has_row ? str_text(&text) : NULL);
    json_member_double(json, "budget", has_row ? gate->above : NAN);
    json_member_int(json, "failed", (int64_t)gate->n_failed);
    json_member_int(json, "noisy", (int64_t)gate->n_noisy);
    json_member_double(json, "more_iterations",
                       gate->more_iterations ? (double)gate->more_iterations
                                             : NAN);
    str_clear(&text);
    if (!st)
        st = compare_gate_words(comparison, gate, &text);
    compare_json_write_member(json, "text", &text);
    json_object_end(json);
    str_release(&text);
    return st;
}

static void compare_json_write_numbers(struct json_writer *json,
                                       const struct compare_row *row)
{
    const struct {
        const char *key;
        double value;
    } members[] = {
        {"a_ms", row->a_ns / 1e6},
        {"b_ms", row->b_ns / 1e6},
        {"a_self_ms", row->a_self_ns / 1e6},
        {"b_self_ms", row->b_self_ns / 1e6},
        {"ratio", row->ratio},
        {"low", row->low},
        {"high", row->high},
        {"p", row->p},
        {"p_raw", row->p_raw},
        {"share", row->share},
    };

    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        json_key(json, members[i].key);
        json_write_rounded(json, members[i].value, 6);
    }
}

static enum assay_status
compare_json_write_row(struct json_writer *json,
                       const struct comparison *comparison, size_t i)
{
    const struct compare_row *row = compare_row(comparison, i);
    const struct run *a = compare_side_a(comparison)->runs[0];
    struct str path = {0};
    enum assay_status st = compare_row_path(comparison, i, &path);

    json_inline_object_begin(json);
    json_member_string(json, "scope", str_text(&path));
    json_member_string(json, "class",
                       compare_row_scope(comparison, i)->class_name);
    if (row->match == MATCH_RENAMED)
        json_member_string(json, "was", run_scope(a, row->a)->name);
    json_key(json, "parent");
    if (row->parent == RUN_NONE)
        json_write_null(json);
    else
        json_write_int(json, row->parent);
    json_member_int(json, "depth", row->depth);
    json_member_string(json, "match", compare_match_text(row->match));
    compare_json_write_numbers(json, row);
    if (row->is_outside)
        json_member_bool(json, "outside", true);
    json_member_bool(json, "significant", row->is_significant);
    json_member_bool(json, "counts", row->is_counted);
    json_member_bool(json, "cause", row->is_cause);
    json_member_string(json, "mark", compare_mark(row));
    json_object_end(json);
    str_release(&path);
    return st;
}

static enum assay_status
compare_json_write_words(struct json_writer *json,
                         const struct comparison *comparison)
{
    struct str text = {0};
    enum assay_status st = compare_verdict_words(comparison, &text);

    compare_json_write_member(json, "verdict", &text);
    str_clear(&text);
    if (!st)
        st = compare_caution_words(comparison, &text);
    compare_json_write_member(json, "note", &text);
    str_release(&text);
    return st;
}

enum assay_status view_compare_json(const struct comparison *comparison,
                                    const struct compare_view *options,
                                    struct sink *sink, struct error *err)
{
    struct json_writer json = json_writer(sink, INDENT);
    enum assay_status st;

    json_object_begin(&json);
    compare_json_write_side(&json, "a", options->name_a,
                            compare_side_a(comparison));
    compare_json_write_side(&json, "b", options->name_b,
                            compare_side_b(comparison));
    if (options->how)
        json_member_string(&json, "runs", options->how);
    compare_json_write_unlike(&json, comparison);
    json_member_double(&json, "confidence", compare_confidence(comparison));
    json_member_double(&json, "floor", compare_floor(comparison));
    json_member_int(&json, "tested", (int64_t)compare_n_tested(comparison));
    st = compare_json_write_words(&json, comparison);
    if (!st && options->gate)
        st = compare_json_write_gate(&json, comparison, options->gate);
    json_key(&json, "rows");
    json_array_begin(&json);
    for (size_t i = 0; !st && i < compare_row_count(comparison); i++)
        st = compare_json_write_row(&json, comparison, i);
    json_array_end(&json);
    json_object_end(&json);
    sink_puts(sink, "\n");
    if (st)
        return error_nomem(err, 0, "the text of a comparison");
    return sink_status(sink, err);
}
