/* What else the machine did while a run was measured (run_load()). */
#include "observed.h"

#include <math.h>

enum { N = 12 };

static struct error err;

/* Iterations of 100 ms with two threads on `cores` processors. */
static struct run *made_run(const char *cores)
{
    struct run *run = observed_run();

    OK(run_fact_set(run, "settings.threads", "2", &err));
    OK(run_fact_set(run, "machine.cores", cores, &err));
    for (uint32_t i = 0; i < N; i++)
        observe_ms(run, i, 100);
    return run;
}

static void observe_all(struct run *run, const char *name, double value)
{
    for (uint32_t i = 0; i < N; i++)
        observe(run, name, i, value);
}

static struct run_load load_of(struct run *run)
{
    struct run_load load;

    seal(run);
    run_load(run, &load);
    run_free(run);
    return load;
}

TEST(an_unobserved_run_is_not_disturbed)
{
    struct run_load load = load_of(made_run("2"));

    CHECK(isnan(load.others) && isnan(load.wait_ns));
    CHECK(!load.is_disturbed);
}

TEST(other_programs_disturb_if_no_processor_is_left_for_them)
{
    static const struct {
        const char *cores;
        double others;
        bool is_disturbed;
    } cases[] = {{"2", 0.1, false},
                 {"2", 0.4, true},
                 {"4", 1.9, false},
                 {"4", 2.5, true}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run *run = made_run(cases[i].cores);
        struct run_load load;

        observe_all(run, "steady.others", cases[i].others);
        load = load_of(run);
        CHECK_NEAR(load.others, cases[i].others, 1e-9);
        CHECK_INT(load.is_disturbed, cases[i].is_disturbed);
    }
}

static void check_disturbs(const char *series, double least, double most)
{
    struct run *run = made_run("16");

    observe_all(run, series, least);
    CHECK(!load_of(run).is_disturbed);
    run = made_run("16");
    observe_all(run, series, most);
    CHECK(load_of(run).is_disturbed);
}

TEST(waiting_throttling_and_steal_disturb)
{
    check_disturbs("steady.wait", 4, 6);
    check_disturbs("steady.throttled", 0.01, 0.1);
    check_disturbs("steady.stolen", 0.1, 0.3);
}

static bool is_disturbed_by(double others, double wait_ms)
{
    struct run *run = made_run("2");

    observe_all(run, "steady.others", others);
    observe_all(run, "steady.wait", wait_ms);
    return load_of(run).is_disturbed;
}

/* A loader's threads take processors from those that compute. */
TEST(threads_that_wait_for_each_other_are_not_disturbed)
{
    CHECK(is_disturbed_by(0.1, 9));
    CHECK(!is_disturbed_by(0.02, 9));
}

TEST(programs_for_which_nobody_waits_do_not_disturb)
{
    CHECK(is_disturbed_by(0.4, 1));
    CHECK(!is_disturbed_by(0.4, 0.1));
}

TEST(the_wait_is_a_share_of_an_iteration)
{
    struct run *run = made_run("2");
    struct run_load load;

    observe_all(run, "steady.wait", 25);
    load = load_of(run);
    CHECK_NEAR(load.wait_ns, 25e6, 1);
    CHECK_NEAR(load.wait_share, 0.25, 1e-6);
}

/* As every other time on the screen; one long wait does not disturb a run. */
TEST(the_wait_is_a_mean_and_one_long_one_does_not_disturb)
{
    struct run *run = made_run("16");
    struct run_load load;

    for (uint32_t i = 0; i < N; i++)
        observe(run, "steady.wait", i, i == 3 ? 96 : 0);
    load = load_of(run);
    CHECK_NEAR(load.wait_ns, 8e6, 1);
    CHECK_NEAR(load.wait_share, 0.08, 1e-6);
    CHECK(!load.is_disturbed);
}
