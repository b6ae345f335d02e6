/* The figures of a run in a trend, and the gate's word on it. */
#include "views/trend.h"

#include "base/mem.h"
#include "made_runs.h"
#include "test.h"
#include "views/report.h"

#include <math.h>
#include <string.h>

static struct error err;

#define OK(call) CHECK_STATUS((call), ASSAY_OK, &err)

/* Twenty iterations of so many ms, all of them in one layer. */
static struct run *made_steady(double ms, const char *layer)
{
    struct run *run;
    uint32_t thread, scope;

    OK(run_new(&run, &err));
    OK(run_thread_add(run, "main", THREAD_CPU, &thread, &err));
    OK(run_fact_set(run, "model.name", "steady", &err));
    OK(run_fact_set(run, "program.commit", "abc1234", &err));
    scope = made_scope(run, RUN_ROOT, layer, "Layer");
    for (uint32_t i = 0; i < 20; i++) {
        double each = ms + 0.01 * (i % 3);

        made_call(run, scope, thread, i, each, each);
        made_call(run, RUN_ROOT, thread, i, each, 0);
    }
    OK(run_seal(run, &err));
    return run;
}

static struct trend_verdict judged(struct run *base, struct run *run,
                                   double above)
{
    struct budgets budgets = {0};
    struct trend_verdict verdict;

    OK(budgets_add(&budgets, NULL, above, &err));
    OK(trend_judge(base, run, &budgets, &verdict, &err));
    budgets_release(&budgets);
    return verdict;
}

TEST(a_run_over_its_budget_fails_and_a_faster_one_passes)
{
    struct run *fast = made_steady(10, "layer"),
               *slow = made_steady(12, "layer");
    struct trend_verdict verdict = judged(fast, slow, 0.05);

    CHECK_STR(trend_word(&verdict), "failed");
    CHECK(verdict.is_beyond_noise);
    CHECK_NEAR(verdict.ratio, 1.2, 0.01);
    CHECK_HAS(verdict.text, "failed: the whole +20 %");
    verdict = judged(fast, slow, 0.3);
    CHECK_STR(trend_word(&verdict), "passed");
    verdict = judged(slow, fast, 0.05);
    CHECK_STR(trend_word(&verdict), "passed");
    CHECK(verdict.is_beyond_noise);
    verdict = judged(fast, fast, 0.05);
    CHECK_STR(trend_word(&verdict), "passed");
    CHECK(!verdict.is_beyond_noise);
    run_free(fast);
    run_free(slow);
}

/* Many are called model.onnx: the folder tells them apart, here as on the
 * screen, in plots and in the title of a report. */
TEST(a_model_from_a_file_is_called_by_its_file)
{
    struct run *run = made_steady(10, "layer");
    struct trend_point point;

    trend_describe(run, &point);
    CHECK_STR(point.model, "steady");
    OK(run_fact_set(run, "model.weights", "models/yolo/model.onnx", &err));
    trend_describe(run, &point);
    CHECK_STR(point.model, "yolo/model.onnx");
    run_free(run);
}

/* The name of the layer is at the end of the sentence and longer than it may
 * be: letters of two bytes, of which none may be cut. */
TEST(a_long_sentence_is_cut_between_two_letters)
{
    char name[1201];
    struct run *fast, *slow;

    for (size_t shift = 0; shift < 2; shift++) {
        struct trend_verdict verdict;
        size_t n;

        memset(name, 'a', shift);
        for (size_t i = shift; i + 1 < sizeof name; i += 2)
            memcpy(name + i, "\xc3\xa4", 2);
        name[1200 - shift] = '\0';
        fast = made_steady(10, name);
        slow = made_steady(12, name);
        verdict = judged(fast, slow, 0.05);
        n = strlen(verdict.text);
        CHECK(n > TREND_WORDS - 3 && n < TREND_WORDS);
        CHECK(verdict.text[n - 1] == '\xa4');
        run_free(fast);
        run_free(slow);
    }
}

TEST(a_point_has_the_figures_of_its_run)
{
    struct run *run = made_steady(10, "layer"), *bare = made_pipeline();
    struct trend_point point = {0};

    trend_describe(run, &point);
    CHECK_STR(point.model, "steady");
    CHECK_STR(point.commit, "abc1234");
    CHECK_STR(point.started, "");
    CHECK_INT(point.n_iterations, 20);
    CHECK_NEAR(point.mean_ns, 10.0095e6, 1e3);
    CHECK(isnan(point.peak_bytes));
    trend_describe(bare, &point);
    CHECK_INT(point.n_iterations, 0);
    CHECK_STR(point.commit, "");
    run_free(run);
    run_free(bare);
}

TEST(no_failing_allocation_goes_unnoticed)
{
    struct run *fast = made_steady(10, "layer"),
               *slow = made_steady(12, "layer");
    struct budgets budgets = {0};
    struct trend_verdict verdict;
    enum assay_status st;
    long before, nth = 0;

    OK(budgets_add(&budgets, NULL, 0.05, &err));
    before = mem_live();
    do {
        mem_fail_at(nth++);
        st = trend_judge(fast, slow, &budgets, &verdict, NULL);
        mem_fail_at(-1);
        CHECK_INT(mem_live(), before);
        CHECK(st == ASSAY_NOMEM || verdict.is_judged);
    } while (st != ASSAY_OK && nth < 5000);
    CHECK_INT(st, ASSAY_OK);
    CHECK(nth > 5);
    budgets_release(&budgets);
    run_free(fast);
    run_free(slow);
}
