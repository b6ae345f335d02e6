/* run/gate.c - a comparison against budgets: pass, fail, or too noisy. */
#include "run/compare_internal.h"
#include "run/student.h"

#include <math.h>
#include <string.h>

/* A scope without a budget of its own is worth an "undecided" from this share
 * of the time on. */
static const double worth_share = 0.05;
/* What to record where so few iterations were that nothing was tested. */
enum { first_guess = 20 };

/* Whether the pattern (* any text, ? one byte) fits the whole path. */
static bool fits(const char *pattern, const char *path)
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

static bool is_exact(const struct budget *budget)
{
    return budget->scope && !strpbrk(budget->scope, "*?");
}

/* The last one that fits, NULL where none does. */
static const struct budget *budget_for(const struct budgets *budgets,
                                       const char *path)
{
    for (size_t i = budgets->n; i-- > 0;) {
        const struct budget *budget = &budgets->items[i];

        if (!budget->scope || fits(budget->scope, path))
            return budget;
    }
    return NULL;
}

/* The upper end of the row's own interval, not widened for the other rows: the
 * gate asks about this row alone. */
static double own_high(const struct comparison *c, size_t i)
{
    const struct row_test *test = &c->tests[i];

    return c->rows[i].ratio *
           exp(student_critical(1 - c->confidence, test->df) * test->se);
}

static enum gate gate_row(const struct comparison *c, size_t i,
                          const struct budget *budget)
{
    const struct compare_row *row = &c->rows[i];
    bool is_on_both = row->a != RUN_NONE && row->b != RUN_NONE;
    bool is_over = row->ratio - 1 > budget->above;

    if (!c->tests[i].is_tested) {
        bool is_missed = i == 0 ? c->n_tested == 0 : is_exact(budget);

        return is_on_both && is_missed ? GATE_NOISY : GATE_PASSED;
    }
    if (row->is_significant)
        return is_over ? GATE_FAILED : GATE_PASSED;
    if (i == 0 || is_exact(budget))
        return own_high(c, i) - 1 > budget->above ? GATE_NOISY : GATE_PASSED;
    return is_over && row->share >= worth_share ? GATE_NOISY : GATE_PASSED;
}

/* The interval shrinks with the square root of the iterations: how many until
 * it leaves room between the estimate and the budget, or none for zero. */
static uint64_t iterations_wanted(const struct comparison *c, size_t i,
                                  double above)
{
    const struct compare_row *row = &c->rows[i];
    const struct row_test *test = &c->tests[i];
    double estimate = log(row->ratio), budget = log1p(above);
    double reach, room, wanted;

    if (!test->is_tested)
        return first_guess;
    if (isfinite(test->side_df))
        return 0; /* the runs differ: more of them would help, not longer ones
                   */
    if (estimate > budget) {
        reach = log(row->high / row->low) / 2;
        room = estimate;
    } else {
        reach = log(own_high(c, i) / row->ratio);
        room = fmax(budget - estimate, budget / 2);
    }
    wanted = ceil(1.2 * test->n * (reach / room) * (reach / room) / 10) * 10;
    if (!(wanted <= RUN_MAX_POINTS))
        return 0;
    return (uint64_t)fmax(wanted, test->n + 1);
}

/* A cause before what it explains, then what is farther over its budget. */
static bool is_worse(const struct comparison *c, size_t i, double above,
                     const struct gate_result *than)
{
    const struct compare_row *row = &c->rows[i], *other;

    if (than->row == RUN_NONE)
        return true;
    other = &c->rows[than->row];
    if (row->is_cause != other->is_cause)
        return row->is_cause;
    return row->ratio - above > other->ratio - than->above;
}

static void record(const struct comparison *c, size_t i, double above,
                   struct gate_result *worst)
{
    if (is_worse(c, i, above, worst)) {
        worst->row = (uint32_t)i;
        worst->above = above;
    }
}

/* A budget for a scope that is not there guards nothing: most likely a slip. */
static enum assay_status check_used(const struct budgets *budgets,
                                    const struct comparison *c,
                                    struct error *err)
{
    struct str path = {0};
    enum assay_status st = ASSAY_OK;

    for (size_t b = 0; !st && b < budgets->n; b++) {
        bool is_used = !is_exact(&budgets->items[b]);

        for (size_t i = 0; !st && !is_used && i < c->n_rows; i++) {
            str_clear(&path);
            if (compare_row_path(c, i, &path))
                st = error_nomem(err, path.n, "the path of a scope");
            else
                is_used = strcmp(str_text(&path), budgets->items[b].scope) == 0;
        }
        if (!st && !is_used)
            st = error_set(err, ASSAY_NOT_FOUND,
                           "the budget for '%s' fits no scope of the runs; "
                           "correct the path, or remove the budget",
                           budgets->items[b].scope);
    }
    str_release(&path);
    return st;
}

enum assay_status compare_gate(const struct comparison *comparison,
                               const struct budgets *budgets,
                               struct gate_result *out, struct error *err)
{
    struct gate_result failed = {.gate = GATE_FAILED, .row = RUN_NONE};
    struct gate_result noisy = {.gate = GATE_NOISY, .row = RUN_NONE};
    struct str path = {0};
    enum assay_status st = check_used(budgets, comparison, err);

    for (size_t i = 0; !st && i < comparison->n_rows; i++) {
        const struct budget *budget;
        enum gate gate;

        str_clear(&path);
        st = compare_row_path(comparison, i, &path);
        if (st) {
            error_nomem(err, path.n, "the path of a scope");
            break;
        }
        budget = budget_for(budgets, str_text(&path));
        gate = budget ? gate_row(comparison, i, budget) : GATE_PASSED;
        if (gate == GATE_FAILED) {
            failed.n_failed++;
            record(comparison, i, budget->above, &failed);
        } else if (gate == GATE_NOISY) {
            noisy.n_noisy++;
            record(comparison, i, budget->above, &noisy);
        }
    }
    str_release(&path);
    failed.n_noisy = noisy.n_noisy;
    *out = failed.n_failed ? failed : noisy;
    if (!failed.n_failed && noisy.n_noisy)
        out->more_iterations =
            iterations_wanted(comparison, noisy.row, noisy.above);
    else if (!failed.n_failed)
        *out = (struct gate_result){.gate = GATE_PASSED, .row = RUN_NONE};
    return st;
}
