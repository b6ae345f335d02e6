/* Recordings show the threads that help, and count them for nothing. */
#include "cli/worker_lanes.h"

#include "record/record.h"
#include "team/team.h"
#include "test.h"

#include <string.h>
#include <time.h>

static struct error err;

static uint32_t lane_called(const struct run *run, const char *name)
{
    for (uint32_t i = 0; i < run_thread_count(run); i++) {
        if (strcmp(run_thread(run, i)->name, name) == 0)
            return i;
    }
    return RUN_NONE;
}

/* Kept samples of a lane, all of which must be of that scope. */
static size_t count_kept(const struct run *run, uint32_t lane,
                         const char *scope)
{
    size_t n = 0;

    for (size_t i = 0; i < run_kept_count(run); i++) {
        const struct sample *sample = run_kept(run, i);

        if (sample->thread != lane)
            continue;
        CHECK_STR(run_scope(run, sample->scope)->name, scope);
        n++;
    }
    return n;
}

static size_t count_cells(const struct run *run, uint32_t lane)
{
    size_t n = 0;

    for (size_t i = 0; i < run_cell_count(run); i++)
        n += run_cell(run, i)->thread == lane;
    return n;
}

static void work(void *data)
{
    (void)data;
}

/* A region outside the iterations, which is not shown, and one in each of
 * two. */
static struct run *record_regions(void)
{
    const struct timespec moment = {.tv_nsec = 60 * 1000 * 1000};
    struct recorded recorded;
    struct run *run;

    CHECK_STATUS(record_start_in_memory(NULL, &err), ASSAY_OK, &err);
    assay_begin("load");
    CHECK(team_run(work, NULL, 3));
    assay_end();
    for (int i = 0; i < 2; i++) {
        assay_iteration_begin();
        assay_begin_class("conv", "Conv2d");
        CHECK(team_run(work, NULL, 3));
        nanosleep(&moment, NULL); /* the writer wakes 20 times per second */
        assay_end();
        assay_iteration_end();
    }
    CHECK_STATUS(record_stop_run(&recorded, &err), ASSAY_OK, &err);
    run = recorded_take_run(&recorded);
    recorded_release(&recorded);
    return run;
}

TEST(workers_have_lanes_with_the_module_they_work_for)
{
    struct run *run;
    uint32_t lane;

    worker_lanes_show();
    run = record_regions();
    for (int i = 1; i <= 2; i++) {
        lane = lane_called(run, i == 1 ? "OpenMP worker 1" : "OpenMP worker 2");
        CHECK(lane != RUN_NONE);
        CHECK_INT(run_thread(run, lane)->kind, THREAD_HELPER);
        CHECK_INT(count_kept(run, lane, "conv"), 2);
        CHECK_INT(count_cells(run, lane), 0);
    }
    run_free(run);
}

TEST(workers_add_nothing_to_the_calls_of_a_module)
{
    struct scope_stats stats;
    struct run *run;
    uint32_t conv;

    worker_lanes_show();
    run = record_regions();
    CHECK_STATUS(run_scope_find(run, RUN_ROOT, "conv", "Conv2d", &conv, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(run_scope_stats(run, conv, RUN_ANY, &stats, &err), ASSAY_OK,
                 &err);
    CHECK_INT(stats.calls, 2);
    CHECK_INT(run_health_of(run)->lost_spans, 0);
    CHECK_INT(run_health_of(run)->unbalanced_ends, 0);
    run_free(run);
}

TEST(the_writer_has_a_lane_and_no_statistics)
{
    struct run *run;
    uint32_t lane;

    worker_lanes_show();
    run = record_regions();
    lane = lane_called(run, "assay writer, drains");
    CHECK(lane != RUN_NONE);
    CHECK_INT(run_thread(run, lane)->kind, THREAD_HELPER);
    CHECK(count_kept(run, lane, run_scope(run, RUN_ROOT)->name) > 0);
    CHECK_INT(count_cells(run, lane), 0);
    CHECK_INT(run_kept_share(run).iterations, 2);
    CHECK_INT(run_scope_count(run), 3); /* the root, load, conv */
    run_free(run);
}

TEST(a_recording_that_was_not_asked_to_shows_no_writer)
{
    struct run *run;

    record_show_writer(false);
    team_set_watch(NULL);
    run = record_regions();
    CHECK_INT(run_thread_count(run), 1);
    run_free(run);
}
