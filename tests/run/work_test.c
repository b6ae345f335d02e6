/* tests/run/work_test.c - the work of scopes, and which scope does it. */
#include "base/mem.h"
#include "run/run.h"
#include "test.h"

#include <math.h>

static struct error err;

enum { CONV = 1, BN, RELU, N_SCOPES };

/* A convolution, and what follows it, below the root. */
static struct run *layer_run(void)
{
    static const char *const names[] = {"conv", "bn", "relu"};
    struct run *run;
    uint32_t id;

    err = (struct error){0};
    CHECK_INT(run_new(&run, &err), ASSAY_OK);
    for (size_t i = 0; i < 3; i++)
        CHECK_INT(run_scope_add(run, RUN_ROOT, names[i], "", &id, &err), 0);
    CHECK_INT(id, RELU);
    return run;
}

static struct scope_work macs(double macs)
{
    struct scope_work work = scope_work_unknown();

    work.macs = macs;
    return work;
}

static struct scope_work done_by(uint32_t scope)
{
    struct scope_work work = scope_work_unknown();

    work.done_by = scope;
    return work;
}

static void set(struct run *run, uint32_t scope, struct scope_work work)
{
    CHECK_STATUS(run_work_set(run, scope, &work, &err), ASSAY_OK, &err);
}

static void check_refused(struct run *run, uint32_t scope,
                          struct scope_work work, const char *words)
{
    err = (struct error){0};
    CHECK_INT(run_work_set(run, scope, &work, &err), ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, words);
}

TEST(work_is_known_for_scopes_it_was_set_for)
{
    struct run *run = layer_run();

    CHECK(!run_has_work(run));
    CHECK(run_work(run, CONV) == NULL);
    set(run, CONV, macs(1e9));
    CHECK(run_has_work(run));
    CHECK(run_work(run, CONV)->macs == 1e9);
    CHECK(isnan(run_work(run, CONV)->parameters));
    CHECK_INT(run_work(run, CONV)->done_by, RUN_NONE);
    CHECK(run_work(run, BN) == NULL);
    set(run, CONV, macs(2e9));
    CHECK(run_work(run, CONV)->macs == 2e9);
    run_free(run);
}

TEST(impossible_work_is_refused)
{
    struct run *run = layer_run();
    struct scope_work work = scope_work_unknown();

    check_refused(run, N_SCOPES, macs(1), "unknown scope (4)");
    check_refused(run, CONV, macs(-1), "'conv' cannot have -1 macs");
    check_refused(run, CONV, macs(INFINITY), "inf macs");
    work.flops = -2;
    check_refused(run, CONV, work, "-2 flops");
    work = (struct scope_work){.read_bytes = -3, .done_by = RUN_NONE};
    check_refused(run, CONV, work, "-3 read_bytes");
    work = (struct scope_work){.write_bytes = -4, .done_by = RUN_NONE};
    check_refused(run, CONV, work, "-4 write_bytes");
    work = (struct scope_work){.parameters = -5, .done_by = RUN_NONE};
    check_refused(run, CONV, work, "-5 parameters");
    CHECK(!run_has_work(run));
    run_free(run);
}

TEST(a_scope_that_does_anothers_work_must_do_its_own)
{
    struct run *run = layer_run();

    check_refused(run, BN, done_by(N_SCOPES), "done by an unknown scope");
    check_refused(run, BN, done_by(BN), "really does the work");
    set(run, BN, done_by(CONV));
    check_refused(run, RELU, done_by(BN), "'relu' cannot be done by 'bn'");
    check_refused(run, CONV, done_by(RELU), "'conv' cannot be done by 'relu'");
    check_refused(run, CONV, done_by(BN), "'conv' cannot be done by 'bn'");
    set(run, RELU, done_by(CONV));
    CHECK_INT(run_work(run, RELU)->done_by, CONV);
    run_free(run);
}

TEST(a_scope_may_be_fused_once_nothing_is_fused_into_it)
{
    struct run *run = layer_run();

    set(run, BN, done_by(CONV));
    set(run, BN, done_by(RELU));
    set(run, CONV, done_by(RELU));
    set(run, BN, done_by(RUN_NONE));
    check_refused(run, RELU, done_by(BN), "really does");
    set(run, CONV, macs(1));
    set(run, RELU, done_by(BN));
    run_free(run);
}

TEST(a_part_of_a_run_keeps_the_work)
{
    struct run *run = layer_run(), *part;
    struct run_filter filter = {.last_iteration = UINT64_MAX};

    set(run, CONV, macs(7));
    set(run, BN, done_by(CONV));
    CHECK_INT(run_seal(run, &err), ASSAY_OK);
    CHECK_STATUS(run_subset(run, &filter, &part, &err), ASSAY_OK, &err);
    CHECK(run_work(part, CONV)->macs == 7);
    CHECK_INT(run_work(part, BN)->done_by, CONV);
    CHECK(run_work(part, RELU) == NULL);
    run_free(part);
    run_free(run);
}

/* The scopes of the second have other numbers. */
TEST(merged_runs_have_the_work_of_both_and_the_first_wins)
{
    struct run *run = layer_run(), *other;
    uint32_t gelu, conv, bn, relu;

    CHECK_INT(run_new(&other, &err), ASSAY_OK);
    CHECK_INT(run_scope_add(other, RUN_ROOT, "gelu", "", &gelu, &err), 0);
    CHECK_INT(run_scope_add(other, RUN_ROOT, "bn", "", &bn, &err), 0);
    CHECK_INT(run_scope_add(other, RUN_ROOT, "conv", "", &conv, &err), 0);
    CHECK_INT(run_scope_add(other, RUN_ROOT, "relu", "", &relu, &err), 0);
    set(run, CONV, macs(7));
    set(run, BN, done_by(CONV));
    set(other, gelu, done_by(conv));
    set(other, conv, macs(8));
    set(other, relu, done_by(bn));
    CHECK_STATUS(run_merge(run, other, &err), ASSAY_OK, &err);

    CHECK(run_work(run, CONV)->macs == 7);
    CHECK_INT(run_work(run, BN)->done_by, CONV);
    CHECK_STR(run_scope(run, 4)->name, "gelu");
    CHECK_INT(run_work(run, 4)->done_by, CONV);
    /* The second's bn does the work of its relu, the first's does none. */
    CHECK_INT(run_work(run, RELU)->done_by, RUN_NONE);
    run_free(run);
    run_free(other);
}

/* One iteration of a large photograph, three of a small one. */
TEST(work_of_merged_runs_is_the_mean_per_iteration)
{
    struct run *run = layer_run(), *other = layer_run();
    uint32_t thread;

    CHECK_INT(run_thread_add(run, "main", THREAD_CPU, &thread, &err), 0);
    CHECK_INT(run_thread_add(other, "main", THREAD_CPU, &thread, &err), 0);
    for (uint32_t i = 0; i < 4; i++) {
        struct sample sample = {.iteration = i ? i - 1 : 0,
                                .duration_ns = 1000};

        CHECK_INT(run_count(i ? other : run, &sample, &err), ASSAY_OK);
    }
    set(run, CONV, macs(8));
    set(other, CONV, macs(4));
    CHECK_STATUS(run_merge(run, other, &err), ASSAY_OK, &err);
    CHECK(run_work(run, CONV)->macs == 5);
    CHECK(isnan(run_work(run, CONV)->flops));
    run_free(run);
    run_free(other);
}

TEST(running_out_of_memory_leaves_the_work_unchanged)
{
    struct run *run = layer_run();
    struct scope_work work = macs(1), fused = done_by(CONV);

    mem_fail_at(0);
    CHECK_INT(run_work_set(run, CONV, &work, NULL), ASSAY_NOMEM);
    CHECK_INT(run_work_set(run, BN, &fused, NULL), ASSAY_NOMEM);
    mem_fail_at(-1);
    CHECK(!run_has_work(run) && run_work(run, CONV) == NULL);
    set(run, CONV, done_by(RELU));
    run_free(run);
}
