/* run/gate.c - checks a comparison against budgets: pass, fail, noisy. */
#include "run/compare_internal.h"
#include "run/student.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

/* The iterations to suggest if there were too few to test anything. */
enum { first_guess = 20 };

/* Whether the pattern (* any text, ? one byte) matches the whole path. */
static bool gate_matches(const char *pattern, const char *path)
{
    const char *star = NULL, *retry = NULL;

    while (*path) {
        if (*pattern == '*') {
            star = pattern++;
            retry = path;
        } else if (*pattern == '?' || *pattern == *path) {
            pattern++;
            path++;
        } else if (star) {
            pattern = star + 1;
            path = ++retry;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

static bool budget_is_exact(const struct budget *budget)
{
    return budget->scope && !strpbrk(budget->scope, "*?");
}

/* The last one that matches, NULL if none does. */
static const struct budget *budget_find(const struct budgets *budgets,
                                        const char *path)
{
    for (size_t i = budgets->n; i-- > 0;) {
        const struct budget *budget = &budgets->items[i];

        if (!budget->scope || gate_matches(budget->scope, path))
            return budget;
    }
    return NULL;
}

/* The upper end of the row's own interval, not widened for the other rows: the
 * gate is about this row alone. */
static double gate_own_high(const struct comparison *c, size_t i)
{
    const struct row_test *test = &c->tests[i];

    return c->rows[i].ratio *
           exp(student_critical(1 - c->confidence, test->df) * test->se);
}

/* Whether the row, slower by this ratio, would be over its budget by a change
 * that counts. The floor does not hold for the whole and for a scope that a
 * budget names. */
static bool gate_is_over(const struct comparison *c, size_t i,
                         const struct budget *budget, double ratio)
{
    return ratio - 1 > budget->above &&
           (i == 0 || budget_is_exact(budget) ||
            compare_share_of_whole(c, i, ratio) >= c->floor);
}

static enum gate gate_judge(const struct comparison *c, size_t i,
                            const struct budget *budget)
{
    const struct compare_row *row = &c->rows[i];
    bool is_on_both = row->a != RUN_NONE && row->b != RUN_NONE;
    bool is_named = i == 0 || budget_is_exact(budget);

    if (!c->tests[i].is_tested) {
        bool is_missed = i == 0 ? c->n_tested == 0 : is_named;

        return is_on_both && is_missed ? GATE_NOISY : GATE_PASSED;
    }
    if (is_named ? row->is_significant : row->is_counted)
        return row->ratio - 1 > budget->above ? GATE_FAILED : GATE_PASSED;
    return gate_is_over(c, i, budget, gate_own_high(c, i)) ? GATE_NOISY
                                                           : GATE_PASSED;
}

/* How many iterations make the interval small enough to exclude the budget or,
 * if the estimate is above that, zero. It shrinks with their square root. */
static uint64_t gate_iterations_needed(const struct comparison *c, size_t i,
                                       double above)
{
    const struct compare_row *row = &c->rows[i];
    const struct row_test *test = &c->tests[i];
    double estimate = log(row->ratio), budget = log1p(above);
    double reach, room, needed;

    if (!test->is_tested)
        return first_guess;
    if (isfinite(test->side_df))
        return 0; /* the runs differ: more runs would help, not longer ones */
    if (estimate > budget) {
        reach = log(row->high / row->low) / 2;
        room = estimate;
    } else {
        reach = log(gate_own_high(c, i) / row->ratio);
        room = fmax(budget - estimate, budget / 2);
    }
    needed = ceil(1.2 * test->n * (reach / room) * (reach / room) / 10) * 10;
    if (!(needed <= RUN_MAX_POINTS))
        return 0;
    return (uint64_t)fmax(needed, test->n + 1);
}

/* Enough for every row that is undecided; 0 if that is unknown for one. */
static uint64_t gate_most_iterations(const struct comparison *c,
                                     const struct gate_result *result)
{
    uint64_t most = 0;

    for (size_t i = 0; i < c->n_rows; i++) {
        uint64_t needed;

        if (!result->rows[i].is_judged || result->rows[i].gate != GATE_NOISY)
            continue;
        needed = gate_iterations_needed(c, i, result->rows[i].above);
        if (needed == 0)
            return 0;
        most = needed > most ? needed : most;
    }
    return most;
}

/* A cause is worse than what it explains; then the one farther over budget. */
static bool gate_is_worse(const struct comparison *c,
                          const struct gate_result *result, size_t i,
                          uint32_t than)
{
    const struct compare_row *row = &c->rows[i], *other;

    if (than == RUN_NONE)
        return true;
    if (than == 0)
        return false;
    other = &c->rows[than];
    if (row->is_cause != other->is_cause)
        return row->is_cause;
    return row->ratio - result->rows[i].above >
           other->ratio - result->rows[than].above;
}

/* The whole, or the worst of the rows with this verdict. */
static uint32_t gate_find_worst(const struct comparison *c,
                                const struct gate_result *result,
                                enum gate gate)
{
    uint32_t worst = RUN_NONE;

    for (uint32_t i = 0; i < c->n_rows; i++) {
        if (result->rows[i].is_judged && result->rows[i].gate == gate &&
            gate_is_worse(c, result, i, worst))
            worst = i;
    }
    return worst;
}

/* A budget for a scope that does not exist is most likely a mistake. */
static enum assay_status gate_check_used(const struct budgets *budgets,
                                         const struct comparison *c,
                                         struct error *err)
{
    struct str path = {0};
    enum assay_status st = ASSAY_OK;

    for (size_t b = 0; !st && b < budgets->n; b++) {
        bool is_used = !budget_is_exact(&budgets->items[b]);

        for (size_t i = 0; !st && !is_used && i < c->n_rows; i++) {
            str_clear(&path);
            if (compare_row_path(c, i, &path))
                st = error_nomem(err, path.n, "the path of a scope");
            else
                is_used = strcmp(str_text(&path), budgets->items[b].scope) == 0;
        }
        if (!st && !is_used)
            st = error_set(err, ASSAY_NOT_FOUND,
                           "the budget for '%s' matches no scope of the runs; "
                           "correct the path, or remove the budget",
                           budgets->items[b].scope);
    }
    str_release(&path);
    return st;
}

/* A scope that only one side has, or that was called too rarely, is judged only
 * if a budget names it. */
static bool gate_can_judge(const struct comparison *c, size_t i,
                           const struct budget *budget)
{
    return i == 0 || c->tests[i].is_tested || budget_is_exact(budget);
}

static enum assay_status gate_judge_rows(const struct comparison *c,
                                         const struct budgets *budgets,
                                         struct gate_result *out,
                                         struct error *err)
{
    struct str path = {0};
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < c->n_rows; i++) {
        struct gate_row *row = &out->rows[i];
        const struct budget *budget;

        str_clear(&path);
        if (compare_row_path(c, i, &path)) {
            st = error_nomem(err, path.n, "the path of a scope");
            break;
        }
        budget = budget_find(budgets, str_text(&path));
        if (!budget || !gate_can_judge(c, i, budget))
            continue;
        *row = (struct gate_row){.is_judged = true,
                                 .gate = gate_judge(c, i, budget),
                                 .above = budget->above};
        out->n_failed += row->gate == GATE_FAILED;
        out->n_noisy += row->gate == GATE_NOISY;
    }
    str_release(&path);
    return st;
}

void gate_result_release(struct gate_result *result)
{
    mem_free(result->rows);
    *result = (struct gate_result){0};
}

enum assay_status compare_gate(const struct comparison *comparison,
                               const struct budgets *budgets,
                               struct gate_result *out, struct error *err)
{
    enum assay_status st;

    *out = (struct gate_result){.row = RUN_NONE};
    st = gate_check_used(budgets, comparison, err);
    if (st)
        return st;
    out->rows = mem_array(comparison->n_rows, sizeof *out->rows);
    if (!out->rows)
        return error_nomem(err, comparison->n_rows * sizeof *out->rows,
                           "the verdicts of a gate");
    st = gate_judge_rows(comparison, budgets, out, err);
    if (st)
        return st;
    out->gate = out->n_failed  ? GATE_FAILED
                : out->n_noisy ? GATE_NOISY
                               : GATE_PASSED;
    if (out->gate == GATE_PASSED)
        return ASSAY_OK;
    out->row = gate_find_worst(comparison, out, out->gate);
    out->above = out->rows[out->row].above;
    if (out->gate == GATE_NOISY)
        out->more_iterations = gate_most_iterations(comparison, out);
    return ASSAY_OK;
}
