/* views/trend.c - see trend.h. */
#include "views/trend.h"

#include "views/model_title.h"
#include "views/views.h"

#include <math.h>
#include <string.h>

/* What does not fit is cut off, between two characters. */
static void trend_copy(char *to, size_t size, const char *text)
{
    size_t n = text ? strnlen(text, size) : 0;

    if (n == size) {
        for (n--; n && ((unsigned char)text[n] & 0xc0) == 0x80;)
            n--;
    }
    if (n)
        memcpy(to, text, n);
    to[n] = '\0';
}

void trend_describe(const struct run *run, struct trend_point *point)
{
    const struct run_memory *memory = run_memory_of(run);
    const char *model = model_run_title(run);
    struct scope_stats stats;

    trend_copy(point->model, TREND_TEXT,
               model ? model : run_scope(run, RUN_ROOT)->name);
    trend_copy(point->started, TREND_TEXT, run_fact(run, "time.started"));
    trend_copy(point->commit, TREND_TEXT, run_fact(run, "program.commit"));
    point->n_iterations = run_iteration_count(run);
    point->mean_ns = point->p95_ns = point->peak_bytes = NAN;
    if (memory->peak_bytes != RUN_UNKNOWN)
        point->peak_bytes = (double)memory->peak_bytes;
    if (run_scope_stats(run, RUN_ROOT, RUN_ANY, &stats, NULL) == ASSAY_OK) {
        point->mean_ns = stats.mean_ns;
        point->p95_ns = stats.p95_ns;
    }
}

static enum assay_status trend_ask(const struct comparison *comparison,
                                   const struct budgets *budgets,
                                   struct trend_verdict *verdict,
                                   struct error *err)
{
    const struct compare_row *whole = compare_row(comparison, 0);
    struct gate_result gate = {0};
    struct str text = {0};
    enum assay_status st = compare_gate(comparison, budgets, &gate, err);

    if (!st && compare_gate_words(comparison, &gate, &text))
        st = error_nomem(err, TREND_WORDS, "the words of a gate");
    if (!st) {
        verdict->is_judged = true;
        verdict->gate = gate.gate;
        verdict->is_beyond_noise = whole->is_counted;
        verdict->ratio = whole->ratio;
        trend_copy(verdict->text, TREND_WORDS, str_text(&text));
    }
    str_release(&text);
    gate_result_release(&gate);
    return st;
}

enum assay_status trend_judge(const struct run *base, const struct run *run,
                              const struct budgets *budgets,
                              struct trend_verdict *verdict, struct error *err)
{
    struct comparison *comparison = NULL;
    struct error why = {0};
    enum assay_status st;

    *verdict = (struct trend_verdict){.ratio = NAN};
    st = compare_new(&(struct compare_side){&base, 1},
                     &(struct compare_side){&run, 1}, NULL, &comparison, &why);
    if (!st)
        st = trend_ask(comparison, budgets, verdict, &why);
    compare_free(comparison);
    if (st == ASSAY_NOMEM)
        return error_set(err, st, "%s", why.text);
    if (st)
        trend_copy(verdict->text, TREND_WORDS, why.text);
    return ASSAY_OK;
}

const char *trend_word(const struct trend_verdict *verdict)
{
    static const char *const words[] = {[GATE_PASSED] = "passed",
                                        [GATE_FAILED] = "failed",
                                        [GATE_NOISY] = "undecided"};

    return verdict->is_judged ? words[verdict->gate] : "";
}
