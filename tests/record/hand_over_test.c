/* tests/record/hand_over_test.c - a run returned in memory. */
#include "recorded.h"
#include "store/runs.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

static void record_iterations(int n)
{
    for (int i = 0; i < n; i++) {
        assay_iteration_begin();
        assay_phase_begin("forward");
        assay_begin_class("model", "Net");
        assay_bytes(100 * (i + 1));
        assay_begin("conv");
        assay_end();
        assay_bytes(-100 * (i + 1));
        assay_end();
        assay_phase_end();
        assay_iteration_end();
    }
}

static struct recorded stop_run(void)
{
    struct recorded recorded = {0};
    struct error err = {0};

    OK(record_stop_run(&recorded, &err));
    CHECK(recorded.run != NULL);
    return recorded;
}

static void check_saved(struct recorded *recorded)
{
    struct error err = {0};
    struct run *loaded;

    OK(recorded_save(recorded, &err));
    CHECK(!test_part_count("run.assay"));
    OK(store_load(test_path("run.assay"), &loaded, &err));
    check_same_run(recorded->run, loaded);
    run_free(loaded);
}

TEST(the_returned_run_equals_the_one_in_its_file)
{
    struct recorded recorded;
    struct error err = {0};

    recorded_start(&(struct assay_options){.warm_up = 2, .program = "p"});
    record_iterations(1500);
    recorded = stop_run();
    CHECK_INT(run_iteration_count(recorded.run), 1498);
    CHECK_INT(test_part_count("run.assay"), 1);
    CHECK(access(test_path("run.assay"), F_OK) != 0);
    OK(run_fact_set(recorded.run, "added", "later", &err));
    check_saved(&recorded);
    recorded_release(&recorded);
}

TEST(a_handle_leads_to_its_scope_in_the_returned_run)
{
    assay_scope_t model, unused = assay_scope_path("nobody.here", NULL);
    struct recorded recorded;
    struct error err = {0};

    OK(record_start_in_memory(NULL, &err));
    CHECK(record_number() > 0);
    record_iterations(2);
    model = assay_scope_path("model.conv", NULL);
    recorded = stop_run();
    CHECK_INT(recorded_scope(&recorded, model),
              scope_at(recorded.run, "model.conv"));
    CHECK_INT(recorded_scope(&recorded, ASSAY_SCOPE_ROOT), RUN_ROOT);
    CHECK_INT(recorded_scope(&recorded, unused), RUN_NONE);
    CHECK_INT(recorded_scope(&recorded, ASSAY_SCOPE_NONE), RUN_NONE);
    CHECK_INT(record_number(), 0);
    recorded_release(&recorded);
}

TEST(iterations_kept_in_full_are_returned_too)
{
    struct recorded recorded;

    recorded_start(&(struct assay_options){.keep_first = 20});
    record_iterations(40);
    recorded = stop_run();
    CHECK_INT(run_kept_count(recorded.run), 3 * 20);
    check_saved(&recorded);
    recorded_release(&recorded);
}

TEST(all_samples_are_returned_with_their_launches)
{
    assay_lane_t queue = assay_lane_open("handed", ASSAY_LANE_DEVICE);
    assay_scope_t scope = assay_scope(ASSAY_SCOPE_ROOT, "handed", NULL);
    struct recorded recorded;
    int64_t now;

    recorded_start(&(struct assay_options){.keep_all = 1});
    record_iterations(3000); /* appended before there are columns for those */
    usleep(200000);
    now = assay_clock_ns();
    assay_span_at(queue, scope, now + 50, now + 70,
                  &(struct assay_span_details){.launched_ns = now});
    record_iterations(10);
    recorded = stop_run();
    CHECK_INT(run_kept_count(recorded.run), 3 * 3010 + 1);
    check_saved(&recorded);
    recorded_release(&recorded);
}

TEST(an_unsaved_run_leaves_nothing)
{
    struct recorded recorded;

    remove(test_path("run.assay"));
    recorded_start(NULL);
    record_iterations(3);
    recorded = stop_run();
    recorded_release(&recorded);
    CHECK(!test_part_count("run.assay"));
    CHECK(access(test_path("run.assay"), F_OK) != 0);
}

TEST(a_run_in_memory_is_not_saved)
{
    struct recorded recorded;
    struct error err = {0};
    struct run *run;

    OK(record_start_in_memory(NULL, &err));
    record_iterations(3);
    recorded = stop_run();
    CHECK(recorded.file == NULL);
    OK(recorded_save(&recorded, &err));
    run = recorded_take_run(&recorded);
    recorded_release(&recorded);
    CHECK_INT(stats_of(run, "model.conv").calls, 3);
    run_free(run);
}

TEST(without_a_recording_nothing_is_returned)
{
    struct recorded recorded;
    struct error err = {0};

    CHECK_INT(record_stop_run(&recorded, &err), ASSAY_NOT_FOUND);
    CHECK_STR(err.text, "nothing was recorded");
    CHECK(recorded.run == NULL);
}

static void die_before_saving(void)
{
    struct recorded recorded;

    if (record_start(test_path("run.assay"), NULL, NULL))
        _exit(9);
    record_iterations(3);
    if (record_stop_run(&recorded, NULL))
        _exit(9);
    raise(SIGKILL);
}

TEST(a_program_killed_before_it_saves_leaves_a_readable_part)
{
    struct error err = {0};
    struct run *run;
    int status;
    pid_t child = fork();

    if (child == 0) {
        die_before_saving();
        _exit(0);
    }
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    OK(store_load(test_part("run.assay"), &run, &err));
    CHECK(run_health_of(run)->is_incomplete);
    run_free(run);
}
