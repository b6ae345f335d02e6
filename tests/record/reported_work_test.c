/* tests/record/reported_work_test.c - arithmetic that a program reports. */
#include "recorded.h"

#include <math.h>

static const struct scope_work *work_of(const struct run *run, const char *path)
{
    uint32_t scope = scope_at(run, path);

    CHECK(scope != RUN_NONE);
    CHECK(run_work(run, scope) != NULL);
    return run_work(run, scope);
}

TEST(work_is_the_mean_per_iteration_without_the_warm_up)
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

TEST(without_iterations_work_is_the_mean_per_call)
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

TEST(executed_and_kept_parts_are_means_too_and_texts_of_the_warm_up_count)
{
    const struct scope_work *work;
    struct run *run;

    recorded_start(&(struct assay_options){.warm_up = 1});
    for (int i = 0; i < 3; i++) {
        assay_iteration_begin();
        assay_begin("conv");
        assay_work(&(struct assay_work){.macs = 100,
                                        .bytes_read = 5,
                                        .done_flops = 40 * i,
                                        .done_bytes = 10,
                                        .kept_bytes = 6,
                                        .shapes = i ? NULL : "first"});
        assay_end();
        assay_iteration_end();
    }
    run = recorded_stop();
    work = work_of(run, "conv");
    CHECK_NEAR(work->done_flops, 60, 0);
    CHECK_NEAR(work->done_bytes, 10, 0);
    CHECK_NEAR(work->kept_bytes, 6, 0);
    CHECK_STR(run_text(run, scope_at(run, "conv"))->shapes, "first");
    run_free(run);
}

/* A concatenation moves bytes and computes nothing; of a call that reports no
 * bytes, nobody knows. */
TEST(arithmetic_of_zero_is_none_where_bytes_are_known)
{
    struct run *run;

    recorded_start(NULL);
    assay_begin("concat");
    assay_work(&(struct assay_work){.bytes_read = 8, .bytes_written = 8});
    assay_end();
    assay_begin("mystery");
    assay_work(&(struct assay_work){.flops = 8});
    assay_end();
    run = recorded_stop();
    CHECK_NEAR(work_of(run, "concat")->macs, 0, 0);
    CHECK_NEAR(work_of(run, "concat")->flops, 0, 0);
    CHECK(isnan(work_of(run, "mystery")->macs));
    CHECK(isnan(work_of(run, "mystery")->read_bytes));
    run_free(run);
}

TEST(a_fused_module_is_in_its_place_without_a_span)
{
    assay_scope_t conv = assay_scope_path("net.conv", "Conv2d");
    assay_scope_t relu = assay_scope_path("net.relu", "ReLU");
    struct run *run;

    recorded_start(NULL);
    assay_fused(relu, conv);
    assay_begin_scope(conv);
    assay_end();
    assay_fused(conv, relu);             /* which is fused itself */
    assay_fused(ASSAY_SCOPE_NONE, conv); /* nobody */
    assay_fused(conv, conv);
    run = recorded_stop();
    CHECK_INT(work_of(run, "net.relu")->done_by, scope_at(run, "net.conv"));
    CHECK(run_work(run, scope_at(run, "net.conv")) == NULL);
    CHECK_STR(run_scope(run, scope_at(run, "net.relu"))->class_name, "ReLU");
    CHECK_INT(run_health_of(run)->lost_spans, 3);
    run_free(run);
}

TEST(work_without_a_span_and_impossible_work_are_counted_as_lost)
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
