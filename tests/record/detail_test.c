/* tests/record/detail_test.c - which samples are kept. */
#include "test.h"

#include "base/mem.h"
#include "record/detail_internal.h"

static const struct error no_error;

static struct detail *new_detail(void)
{
    struct detail *detail;

    CHECK_INT(detail_new(&detail, NULL), ASSAY_OK);
    return detail;
}

/* A run with one scope and as many threads as asked for. */
static struct run *new_run(unsigned n_threads)
{
    struct run *run;
    uint32_t id;

    CHECK_INT(run_new(&run, NULL), ASSAY_OK);
    CHECK_INT(run_scope_add(run, RUN_ROOT, "span", NULL, &id, NULL), ASSAY_OK);
    for (unsigned i = 0; i < n_threads; i++)
        CHECK_INT(run_thread_add(run, "thread", THREAD_CPU, &id, NULL),
                  ASSAY_OK);
    return run;
}

static void add(struct detail *detail, uint32_t iteration, uint32_t thread,
                int64_t start_ns)
{
    struct sample sample = {.scope = 1,
                            .thread = thread,
                            .iteration = iteration,
                            .start_ns = start_ns,
                            .duration_ns = 1};

    CHECK_INT(detail_add(detail, &sample, NULL), ASSAY_OK);
}

static void end(struct detail *detail, uint32_t iteration, int64_t duration_ns)
{
    struct sample sample = {
        .scope = RUN_ROOT, .iteration = iteration, .duration_ns = duration_ns};

    CHECK_INT(detail_add(detail, &sample, NULL), ASSAY_OK);
}

/* How many samples of the iteration the run keeps. */
static size_t count_kept(const struct run *run, uint32_t iteration)
{
    size_t n = 0;

    for (size_t i = 0; i < run_kept_count(run); i++)
        n += run_kept(run, i)->iteration == iteration;
    return n;
}

static void keep(struct detail *detail, struct run *run)
{
    CHECK_INT(detail_settle(detail, NULL), ASSAY_OK);
    CHECK_INT(detail_settle(detail, NULL), ASSAY_OK);
    CHECK_INT(detail_keep(detail, run, NULL), ASSAY_OK);
}

TEST(first_slowest_median_and_last_iterations_are_kept)
{
    struct detail *detail = new_detail();
    struct run *run = new_run(1);

    for (uint32_t i = 0; i < 101; i++) {
        add(detail, i, 0, i);
        add(detail, i, 0, i);
        end(detail, i, i == 40 ? 99999 : 1000 + 10 * (int64_t)(i * 37 % 101));
        if (i % 7 == 0)
            CHECK_INT(detail_settle(detail, NULL), ASSAY_OK);
    }
    keep(detail, run);
    CHECK_INT(count_kept(run, 0), 3);
    CHECK_INT(count_kept(run, 40), 3);
    CHECK_INT(count_kept(run, 100), 3);
    CHECK_INT(run_kept_count(run), 12);
    for (size_t i = 0; i < run_kept_count(run); i++) {
        const struct sample *sample = run_kept(run, i);
        uint32_t iteration = sample->iteration;

        if (sample->scope == RUN_ROOT && iteration != 0 && iteration != 40 &&
            iteration != 100)
            CHECK_NEAR((double)sample->duration_ns, 1500, 50);
    }
    detail_free(detail);
    run_free(run);
}

TEST(an_iteration_that_is_several_choices_is_kept_once)
{
    struct detail *detail = new_detail();
    struct run *run = new_run(1);

    add(detail, 0, 0, 5);
    end(detail, 0, 1000);
    keep(detail, run);
    CHECK_INT(run_kept_count(run), 2);
    keep(detail, run); /* replaces, does not add */
    CHECK_INT(run_kept_count(run), 2);
    detail_free(detail);
    run_free(run);
}

TEST(samples_of_another_thread_may_come_after_the_iterations_end)
{
    struct detail *detail = new_detail();
    struct run *run = new_run(2);

    for (uint32_t i = 0; i < 3; i++) {
        add(detail, i, 0, i);
        end(detail, i, 1000);
    }
    CHECK_INT(detail_settle(detail, NULL), ASSAY_OK);
    for (uint32_t i = 0; i < 3; i++)
        add(detail, i, 1, i);
    keep(detail, run);
    CHECK_INT(count_kept(run, 0), 3);
    CHECK_INT(count_kept(run, 2), 3);
    detail_free(detail);
    run_free(run);
}

TEST(a_sample_that_comes_after_the_choice_is_ignored)
{
    struct detail *detail = new_detail();
    struct run *run = new_run(2);

    for (uint32_t i = 0; i < 3; i++)
        end(detail, i, 1000);
    keep(detail, run);
    add(detail, 1, 1, 0);
    keep(detail, run);
    CHECK_INT(count_kept(run, 0), 1);
    CHECK_INT(count_kept(run, 1), 0);
    detail_free(detail);
    run_free(run);
}

TEST(an_iteration_that_never_ends_does_not_hold_up_the_others)
{
    struct detail *detail = new_detail();
    struct run *run = new_run(1);

    add(detail, 0, 0, 0);
    end(detail, 0, 1000);
    add(detail, 1, 0, 1);
    for (uint32_t i = 2; i < 10; i++) {
        add(detail, i, 0, i);
        end(detail, i, 1000);
    }
    keep(detail, run);
    CHECK_INT(count_kept(run, 1), 0);
    CHECK_INT(count_kept(run, 9), 2);
    detail_free(detail);
    run_free(run);
}

TEST(an_iteration_keeps_no_more_than_its_limit)
{
    struct detail *detail = new_detail();
    struct run *run = new_run(1);

    for (int64_t i = 0; i < 3 * DETAIL_MAX_OF_ITERATION; i++)
        add(detail, 0, 0, i);
    end(detail, 0, 1000);
    keep(detail, run);
    CHECK_INT(run_kept_count(run), DETAIL_MAX_OF_ITERATION + 1);
    detail_free(detail);
    run_free(run);
}

TEST(without_iterations_the_first_and_the_last_samples_are_kept)
{
    enum { n_samples = 50000 };
    struct detail *detail = new_detail();
    struct run *run = new_run(1);
    int64_t least_late = INT64_MAX;
    size_t n_early = 0;

    for (int64_t i = 0; i < n_samples; i++)
        add(detail, RUN_NONE, 0, i);
    keep(detail, run);
    CHECK_INT(run_kept_count(run), 2 * DETAIL_MAX_OUTSIDE);
    for (size_t i = 0; i < run_kept_count(run); i++) {
        int64_t start_ns = run_kept(run, i)->start_ns;

        if (start_ns < DETAIL_MAX_OUTSIDE)
            n_early++;
        else if (start_ns < least_late)
            least_late = start_ns;
    }
    CHECK_INT(n_early, DETAIL_MAX_OUTSIDE);
    CHECK_INT(least_late, n_samples - DETAIL_MAX_OUTSIDE);
    detail_free(detail);
    run_free(run);
}

TEST(memory_stays_bounded_however_short_the_iterations)
{
    struct detail *detail = new_detail();
    size_t before = mem_live_bytes();

    mem_reset_peak();
    for (uint32_t i = 0; i < 300000; i++) {
        add(detail, i, 0, i);
        end(detail, i, 1000);
    }
    CHECK(mem_peak_bytes() - before < 24 * 1024 * 1024);
    detail_free(detail);
}

TEST(running_out_of_memory_fails_and_leaks_nothing)
{
    long nth = 0, before = mem_live();
    enum assay_status st;

    do {
        struct detail *detail = NULL;
        struct error err = no_error;
        struct sample sample = {.scope = 1, .duration_ns = 1};
        struct sample ends = {.scope = RUN_ROOT, .duration_ns = 9};

        mem_fail_at(nth++);
        st = detail_new(&detail, &err);
        if (!st)
            st = detail_add(detail, &sample, &err);
        if (!st)
            st = detail_add(detail, &ends, &err);
        if (!st)
            st = detail_settle(detail, &err);
        if (!st)
            st = detail_settle(detail, &err);
        mem_fail_at(-1);
        detail_free(detail);
        CHECK_INT(mem_live(), before);
        CHECK(st == ASSAY_OK || err.text[0]);
    } while (st == ASSAY_NOMEM);
    CHECK_INT(st, ASSAY_OK);
    CHECK(nth > 4);
}
