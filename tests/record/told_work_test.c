/* tests/record/told_work_test.c - arithmetic that a program tells of. */
#include "recorded.h"

#include <math.h>

static const struct scope_work *work_of(const struct run *run, const char *path)
{
    uint32_t scope = scope_at(run, path);

    CHECK(scope != RUN_NONE);
    CHECK(run_work(run, scope) != NULL);
    return run_work(run, scope);
}

TEST(work_is_the_mean_over_the_iterations_without_the_warm_up)
{
    const struct scope_work *work;
    const struct scope_text *text;
    struct run *run;

    recorded_start(&(struct assay_options){.warm_up = 1});
    for (int i = 0; i < 5; i++) {
        assay_iteration_begin();
        for (int call = 0; call < 2; call++) {
            assay_begin_class("conv", "Conv2d");
            assay_work(&(struct assay_work){.macs = i ? 100 : 1e6,
                                            .flops = 10 * i,
                                            .bytes_read = 7,
                                            .bytes_written = 3,
                                            .parameters = 64,
                                            .shapes = i < 4 ? "3" : "4 -> 5",
                                            .kernel = "gemm"});
            assay_end();
        }
        assay_iteration_end();
    }
    run = recorded_stop();
    work = work_of(run, "conv");
    CHECK_NEAR(work->macs, 200, 0);
    CHECK_NEAR(work->flops, 2 * (10 + 20 + 30 + 40) / 4.0, 0);
    CHECK_NEAR(work->read_bytes, 14, 0);
    CHECK_NEAR(work->write_bytes, 6, 0);
    CHECK_NEAR(work->parameters, 64, 0);
    CHECK(isnan(work->done_flops) && work->done_by == RUN_NONE);
    text = run_text(run, scope_at(run, "conv"));
    CHECK(text != NULL);
    CHECK_STR(text->shapes, "4 -> 5");
    CHECK_STR(text->kernel, "gemm");
    CHECK_INT(run_health_of(run)->lost_spans, 0);
    run_free(run);
}

TEST(without_iterations_work_is_the_mean_over_the_calls)
{
    assay_scope_t scope = assay_scope_path("a.b", NULL);
    struct run *run;

    recorded_start(NULL);
    for (int i = 1; i <= 3; i++)
        assay_scope_work(scope, &(struct assay_work){.macs = i});
    run = recorded_stop();
    CHECK_NEAR(work_of(run, "a.b")->macs, 2, 0);
    CHECK(isnan(work_of(run, "a.b")->flops));
    CHECK(run_text(run, scope_at(run, "a.b")) == NULL);
    run_free(run);
}

TEST(work_of_nothing_and_impossible_work_are_counted_as_lost)
{
    struct run *run;

    recorded_start(NULL);
    assay_work(&(struct assay_work){.macs = 1}); /* no span is open */
    assay_scope_work(ASSAY_SCOPE_NONE, &(struct assay_work){.macs = 1});
    assay_begin("span");
    assay_work(&(struct assay_work){.macs = -1});
    assay_work(&(struct assay_work){.flops = NAN});
    assay_work(&(struct assay_work){.bytes_read = INFINITY});
    assay_end();
    run = recorded_stop();
    CHECK_INT(run_health_of(run)->lost_spans, 5);
    CHECK(!run_has_work(run));
    run_free(run);
}

enum { n_tellers = 4, calls_each = 5000 };

static void *tell_work(void *unused)
{
    for (int i = 0; i < calls_each; i++) {
        assay_begin("shared");
        assay_work(&(struct assay_work){.macs = 3, .kernel = "k"});
        assay_end();
    }
    return unused;
}

TEST(the_work_of_all_threads_is_added_up)
{
    pthread_t threads[n_tellers];
    struct run *run;

    recorded_start(NULL);
    assay_iteration_begin();
    for (int i = 0; i < n_tellers; i++)
        pthread_create(&threads[i], NULL, tell_work, NULL);
    for (int i = 0; i < n_tellers; i++)
        pthread_join(threads[i], NULL);
    assay_iteration_end();
    run = recorded_stop();
    CHECK_NEAR(work_of(run, "shared")->macs, 3.0 * n_tellers * calls_each, 0);
    run_free(run);
}
