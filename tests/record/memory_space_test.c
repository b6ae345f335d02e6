/* tests/record/memory_space_test.c - memory by space and category. */
#include "recorded.h"

static void check_row(const struct run *run, const char *space,
                      const char *category, int64_t live, int64_t peak,
                      int64_t at_peak)
{
    const struct space_row *row = run_space_find(run, space, category);

    CHECK(row != NULL);
    CHECK_INT(row->live_bytes, live);
    CHECK_INT(row->peak_bytes, peak);
    CHECK_INT(row->at_peak_bytes, at_peak);
}

TEST(a_run_has_the_peak_of_each_space_and_its_contents_then)
{
    struct run *run;

    recorded_start(NULL);
    assay_memory("cuda:0", ASSAY_MEMORY_WEIGHTS, 100);
    assay_memory("cuda:0", ASSAY_MEMORY_SCRATCH, 50);
    assay_memory("cuda:0", ASSAY_MEMORY_SCRATCH, -50);
    assay_memory("cuda:0", ASSAY_MEMORY_ACTIVATIONS, 70); /* the peak */
    assay_memory("cuda:0", ASSAY_MEMORY_ACTIVATIONS, -30);
    assay_memory("cuda:0", ASSAY_MEMORY_GRADIENTS, 20);
    assay_memory(NULL, ASSAY_MEMORY_OPTIMIZER, 5);
    run = recorded_stop();
    CHECK_INT(run_space_count(run), 7);
    check_row(run, "cuda:0", "", 160, 170, 170);
    check_row(run, "cuda:0", "weights", 100, 100, 100);
    check_row(run, "cuda:0", "scratch", 0, 50, 0);
    check_row(run, "cuda:0", "activations", 40, 70, 70);
    check_row(run, "cuda:0", "gradients", 20, 20, 0);
    check_row(run, "host", "", 5, 5, 5);
    check_row(run, "host", "optimizer", 5, 5, 5);
    CHECK_INT(run_memory_of(run)->peak_bytes, RUN_UNKNOWN);
    CHECK_INT(run_health_of(run)->lost_spans, 0);
    run_free(run);
}

TEST(an_impossible_sum_is_counted_as_lost)
{
    struct run *run;

    recorded_start(NULL);
    assay_memory("host", ASSAY_MEMORY_OTHER, INT64_MAX);
    assay_memory("host", ASSAY_MEMORY_OTHER, 1);
    assay_memory("host", (enum assay_memory_category)77, -1);
    run = recorded_stop();
    check_row(run, "host", "other", INT64_MAX - 1, INT64_MAX, INT64_MAX);
    CHECK_INT(run_health_of(run)->lost_spans, 1);
    run_free(run);
}

enum { n_takers = 4, takes_each = 3000 };

static void *take_and_give(void *unused)
{
    for (int i = 0; i < takes_each; i++) {
        assay_memory("shared", ASSAY_MEMORY_SCRATCH, 10);
        assay_memory("shared", ASSAY_MEMORY_SCRATCH, -10);
    }
    assay_memory("shared", ASSAY_MEMORY_WEIGHTS, 1);
    return unused;
}

TEST(changes_of_all_threads_are_counted_in_order_of_time)
{
    pthread_t threads[n_takers];
    const struct space_row *row;
    struct run *run;

    recorded_start(NULL);
    for (int i = 0; i < n_takers; i++)
        pthread_create(&threads[i], NULL, take_and_give, NULL);
    for (int i = 0; i < n_takers; i++)
        pthread_join(threads[i], NULL);
    run = recorded_stop();
    row = run_space_find(run, "shared", "scratch");
    CHECK(row && row->live_bytes == 0);
    CHECK(row->peak_bytes >= 10 && row->peak_bytes <= 10 * n_takers);
    CHECK_INT(run_space_find(run, "shared", "weights")->live_bytes, n_takers);
    run_free(run);
}

TEST(merged_runs_have_the_space_with_the_higher_peak)
{
    struct error err = {0};
    struct run *a, *b;

    CHECK_STATUS(run_new(&a, &err), ASSAY_OK, &err);
    CHECK_STATUS(run_new(&b, &err), ASSAY_OK, &err);
    run_space_change(a, "host", "weights", 10, &err);
    run_space_change(a, "cuda:0", "weights", 99, &err);
    run_space_change(b, "host", "weights", 8, &err);
    run_space_change(b, "host", "scratch", 8, &err);
    run_space_change(b, "cuda:0", "scratch", 98, &err);
    CHECK_STATUS(run_seal(a, &err), ASSAY_OK, &err);
    CHECK_STATUS(run_seal(b, &err), ASSAY_OK, &err);
    CHECK_STATUS(run_merge(a, b, &err), ASSAY_OK, &err);
    check_row(a, "host", "", 16, 16, 16);
    check_row(a, "host", "weights", 8, 8, 8);
    check_row(a, "host", "scratch", 8, 8, 8);
    check_row(a, "cuda:0", "", 99, 99, 99);
    CHECK(run_space_find(a, "cuda:0", "scratch") == NULL);
    run_free(a);
    run_free(b);
}
