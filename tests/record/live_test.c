/* tests/record/live_test.c - the live bytes of the last iteration. */
#include "recorded.h"

#include "base/mem.h"
#include "record/record_internal.h"

#include <assay/memory.h>

static const struct counter *find_live(const struct run *run)
{
    for (uint32_t i = 0; i < run_counters(run); i++) {
        if (strcmp(run_counter(run, i)->name, RUN_LIVE_BYTES) == 0)
            return run_counter(run, i);
    }
    return NULL;
}

TEST(every_change_in_the_last_iteration_is_in_the_run)
{
    const struct iteration *last;
    const struct counter *live;
    struct run *run;

    recorded_start(NULL);
    assay_bytes(1000);
    for (int i = 0; i < 3; i++) {
        assay_iteration_begin();
        assay_bytes(100 * (i + 1));
        assay_bytes(-100 * (i + 1));
        assay_iteration_end();
        assay_bytes(7);
    }
    run = recorded_stop();
    live = find_live(run);
    last = run_iteration(run, 2);
    CHECK(live != NULL);
    CHECK_STR(live->unit, "bytes");
    CHECK_INT(live->n_points, 3);
    CHECK_INT(live->points[0].time_ns, last->start_ns);
    CHECK(live->points[0].value == 1014);
    CHECK(live->points[1].value == 1314);
    CHECK(live->points[2].value == 1014);
    CHECK(live->points[2].time_ns <= last->start_ns + last->duration_ns);
    CHECK(live->min == 1014 && live->max == 1314 && live->last == 1014);
    run_free(run);
}

static const struct counter *find_counter(const struct run *run,
                                          const char *name)
{
    for (uint32_t i = 0; i < run_counters(run); i++) {
        if (strcmp(run_counter(run, i)->name, name) == 0)
            return run_counter(run, i);
    }
    return NULL;
}

TEST(the_bytes_of_each_category_in_the_last_iteration_are_in_the_run)
{
    const struct counter *weights, *others;
    const struct iteration *last;
    struct run *run;

    recorded_start(NULL);
    assay_memory(NULL, ASSAY_MEMORY_WEIGHTS, 500);
    for (int i = 0; i < 3; i++) {
        assay_iteration_begin();
        assay_memory(NULL, ASSAY_MEMORY_ACTIVATIONS, 10 * (i + 1));
        assay_memory(NULL, ASSAY_MEMORY_ACTIVATIONS, -10 * (i + 1));
        assay_iteration_end();
        assay_memory("cuda:0", ASSAY_MEMORY_SCRATCH, 7);
    }
    run = recorded_stop();
    last = run_iteration(run, 2);
    weights = find_counter(run, RUN_LIVE_BYTES ".host.weights");
    others = find_counter(run, RUN_LIVE_BYTES ".host.activations");
    CHECK(weights && others);
    CHECK_INT(weights->n_points, 1);
    CHECK_INT(weights->points[0].time_ns, last->start_ns);
    CHECK(weights->points[0].value == 500);
    CHECK_INT(others->n_points, 3);
    CHECK(others->points[0].value == 0);
    CHECK(others->points[1].value == 30);
    CHECK(others->points[2].value == 0);
    CHECK(
        find_counter(run, RUN_LIVE_BYTES ".cuda:0.scratch")->points[0].value ==
        14);
    CHECK(find_counter(run, RUN_LIVE_BYTES ".host.") == NULL);
    run_free(run);
}

TEST(the_points_of_categories_stay_few_and_none_is_forgotten)
{
    struct live live = {0};

    CHECK_INT(live_add_held(&live, (struct held_point){0, 7, 42}), ASSAY_OK);
    for (uint32_t k = 0; k < 300000; k++)
        CHECK_INT(
            live_add_held(&live, (struct held_point){1 + (int64_t)k, k % 3, k}),
            ASSAY_OK);
    CHECK(live.n_held <= 1 << 16);
    CHECK_INT(live.held[0].row, 7);
    CHECK(live.held[0].bytes == 42);
    live_iteration(&live, 299990, 300000);
    CHECK(live.n_held < 20);
    CHECK_INT(live.held[0].row, 7);
    live_release(&live);
}

TEST(a_run_without_iterations_or_bytes_has_none)
{
    struct run *run;

    recorded_start(NULL);
    assay_bytes(1000);
    run = recorded_stop();
    CHECK(find_live(run) == NULL);
    run_free(run);
    recorded_start(NULL);
    assay_iteration_begin();
    assay_iteration_end();
    run = recorded_stop();
    CHECK(find_live(run) == NULL);
    run_free(run);
}

/* It keeps at most two iterations, and the later part of a very long one. */
TEST(the_points_kept_stay_few)
{
    struct live live = {0};
    size_t most = 0;

    for (int i = 0; i < 1000; i++) {
        for (int k = 0; k < 100; k++)
            CHECK_INT(live_add(&live, 100 * i + k, k), ASSAY_OK);
        live_iteration(&live, 100 * i, 100 * i + 99);
        most = live.n > most ? live.n : most;
    }
    CHECK(most <= 201);
    for (int k = 0; k < 200000; k++)
        CHECK_INT(live_add(&live, 1000000 + k, k), ASSAY_OK);
    CHECK(live.n <= 1 << 16);
    CHECK(live.points[live.n - 1].value == 199999);
    live_release(&live);
}

TEST(running_out_of_memory_leaves_nothing_behind)
{
    struct live live = {0};
    struct error err = {0};
    struct run *run;
    enum assay_status st;
    long nth = 0, before;

    CHECK_INT(run_new(&run, &err), ASSAY_OK);
    CHECK_INT(live_add(&live, 5, 10), ASSAY_OK);
    live_iteration(&live, 0, 9);
    before = mem_live();
    do {
        mem_fail_at(nth++);
        st = live_finish(&live, run, NULL);
        mem_fail_at(-1);
        if (st)
            CHECK_INT(run_counters(run), 0);
    } while (st == ASSAY_NOMEM);
    CHECK_INT(st, ASSAY_OK);
    CHECK(nth > 1);
    CHECK(mem_live() >= before);
    CHECK_INT(run_counter(run, 0)->n_points, 1);
    live_release(&live);
    run_free(run);
}
