/* tests/store/read_run.c - a user's program: it records, and reads
 * the run back, with the public headers and libassay alone.
 *
 *     read_run FILE        exit code 0: all is as it should be */
#include <assay.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

static int n_failed;

static void check(int is_true, int line, const char *what)
{
    if (is_true)
        return;
    fprintf(stderr, "read_run.c:%d: %s\n", line, what);
    n_failed++;
}

#define CHECK(claim) check((claim) ? 1 : 0, __LINE__, #claim)

static void record(const char *path)
{
    assay_lane_t queue = assay_lane_open("queue", ASSAY_LANE_DEVICE);
    assay_scope_t conv = assay_scope(
        assay_scope(ASSAY_SCOPE_ROOT, "model", "Net"), "conv", "Conv2d");

    CHECK(!assay_start(path, &(struct assay_options){.warm_up = 1}, NULL));
    assay_thread("main");
    assay_fact("settings.batch", "8");
    for (int i = 0; i < 4; i++) {
        int64_t now;

        assay_iteration_begin();
        assay_phase_begin("forward");
        assay_begin_class("model", "Net");
        assay_begin_scope(conv);
        assay_work(&(struct assay_work){
            .macs = 1000, .shapes = "8x3", .kernel = "direct"});
        now = assay_clock_ns();
        assay_end();
        assay_bytes(64);
        assay_bytes(-64);
        assay_end();
        assay_phase_end();
        assay_counter("depth", "items", i);
        assay_memory("cuda:0", ASSAY_MEMORY_WEIGHTS, 10);
        assay_span_at(queue, conv, now + 500, now + 2500,
                      &(struct assay_span_details){.launched_ns = now,
                                                   .phase = "forward"});
        assay_iteration_end();
    }
    CHECK(!assay_stop(NULL));
}

static void read_names(struct assay_run *run)
{
    struct assay_run_scope scope;
    enum assay_lane_kind kind = ASSAY_LANE_THREAD;
    uint32_t conv = assay_run_find(run, "model.conv");
    size_t n_devices = 0;

    CHECK(assay_run_scope_count(run) == 3);
    CHECK(assay_run_scope_at(run, conv, &scope));
    CHECK(strcmp(scope.name, "conv") == 0);
    CHECK(strcmp(scope.class_name, "Conv2d") == 0);
    CHECK(scope.parent == assay_run_find(run, "model"));
    CHECK(scope.depth == 2 && scope.first_child == ASSAY_RUN_NONE);
    CHECK(assay_run_find(run, "nothing") == ASSAY_RUN_NONE);
    CHECK(!assay_run_scope_at(run, 99, &scope));
    CHECK(assay_run_phase_count(run) == 2);
    CHECK(strcmp(assay_run_phase(run, 1), "forward") == 0);
    CHECK(strcmp(assay_run_fact(run, "settings.batch"), "8") == 0);
    CHECK(assay_run_fact(run, "nothing") == NULL);
    for (uint32_t i = 0; i < assay_run_lane_count(run); i++) {
        const char *name = assay_run_lane(run, i, &kind);

        CHECK((strcmp(name, "queue") == 0) == (kind == ASSAY_LANE_DEVICE));
        n_devices += kind == ASSAY_LANE_DEVICE;
    }
    CHECK(n_devices == 1);
}

static void read_numbers(struct assay_run *run)
{
    uint32_t conv = assay_run_find(run, "model.conv");
    struct assay_error error = {0};
    struct assay_run_stats stats;
    struct assay_run_work work;
    struct assay_run_space space;
    uint32_t peak;

    CHECK(!assay_run_stats_of(run, conv, NULL, ASSAY_LANE_THREAD, &stats, 0));
    CHECK(stats.calls == 3 && stats.n == 3 && stats.total_ns > 0);
    CHECK(!assay_run_stats_of(run, conv, "forward", ASSAY_LANE_DEVICE, &stats,
                              0));
    CHECK(stats.calls == 3 && stats.mean_ns == 2000);
    CHECK(assay_run_stats_of(run, conv, "backward", ASSAY_LANE_THREAD, &stats,
                             &error) == ASSAY_NOT_FOUND);
    CHECK(strcmp(error.text, "the run has no phase 'backward'") == 0);
    CHECK(assay_run_work_of(run, conv, &work));
    CHECK(work.macs == 1000 && isnan(work.flops));
    CHECK(strcmp(work.shapes, "8x3") == 0);
    CHECK(strcmp(work.kernel, "direct") == 0);
    CHECK(!assay_run_work_of(run, 0, &work));
    CHECK(assay_run_peak_bytes(run, &peak) == 64);
    CHECK(peak == assay_run_find(run, "model"));
    CHECK(assay_run_space_count(run) == 2 &&
          assay_run_space_at(run, 1, &space));
    CHECK(strcmp(space.category, "weights") == 0 && space.peak_bytes == 40);
}

static void read_moments(struct assay_run *run)
{
    struct assay_run_iteration iteration;
    struct assay_run_sample sample;
    struct assay_run_counter counter;
    struct assay_run_health health;
    size_t n_queued = 0;
    double value = 0;

    CHECK(assay_run_iteration_total(run) == 3);
    CHECK(assay_run_iteration_count(run) == 3);
    CHECK(assay_run_iteration_at(run, 2, &iteration) && iteration.index == 2);
    CHECK(!assay_run_iteration_at(run, 3, &iteration));
    for (size_t i = 0; assay_run_sample_at(run, i, &sample); i++)
        n_queued += sample.queued_ns == 500;
    CHECK(n_queued == 3);
    CHECK(assay_run_counter_at(run, 0, &counter) ||
          assay_run_counter_count(run) == 0);
    for (uint32_t i = 0; assay_run_counter_at(run, i, &counter); i++) {
        if (strcmp(counter.name, "depth") == 0) {
            CHECK(counter.n == 4 && counter.last == 3);
            CHECK(assay_run_counter_point(run, i, 3, NULL, &value));
            CHECK(value == 3);
        }
    }
    CHECK(assay_run_series_count(run) == 0);
    assay_run_health_of(run, &health);
    CHECK(health.lost_spans == 0 && health.warm_up == 1);
    CHECK(!health.is_incomplete);
    CHECK(assay_run_duration_ns(run) > 0);
}

int main(int argc, char **argv)
{
    struct assay_error error = {0};
    struct assay_run *run;

    if (argc != 2)
        return 2;
    CHECK(assay_run_open("/nowhere/at.all", &run, &error) == ASSAY_NOT_FOUND);
    CHECK(run == NULL && error.text[0]);
    assay_run_close(run);
    record(argv[1]);
    if (assay_run_open(argv[1], &run, &error)) {
        fprintf(stderr, "read_run.c: %s\n", error.text);
        return 1;
    }
    read_names(run);
    read_numbers(run);
    read_moments(run);
    assay_run_close(run);
    return n_failed > 0;
}
