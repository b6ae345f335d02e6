/* What a recorded run of a detector has besides its times: how memory was used,
 * what was in the photographs, how the machine behaved. */
#include "session/profile.h"
#include "store/store.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { side = 64 };

static struct error err;

static struct profile_options small_job(bool is_plain)
{
    struct profile_options options = {
        .session.model.name = "faster-rcnn",
        .session.model.build = model_defaults(),
        .session.n_threads = 1,
        .session.is_plain = is_plain,
        .session.detail = ENGINE_OPS,
        .n_images = 2,
        .n_warm_up = 1,
        .session.vision.score = NAN,
    };

    options.session.model.build.min_size = side;
    options.session.model.build.max_size = 2 * side;
    return options;
}

static struct run *record(struct profile_options *options)
{
    struct photos photos = {0};
    struct profile_report report = {0};
    struct run *run;

    err = (struct error){0};
    options->run_path = test_path("recorded.assay");
    CHECK_STATUS(
        photos_add(&photos, TEST_SOURCE_DIR "/assets/coffee.jpg", &err),
        ASSAY_OK, &err);
    CHECK_STATUS(profile_run(options, &photos, &report, &err), ASSAY_OK, &err);
    CHECK_STATUS(store_load(options->run_path, &run, &err), ASSAY_OK, &err);
    profile_report_release(&report);
    photos_release(&photos);
    return run;
}

/* ---- memory ------------------------------------------------------------ */

/* Every byte of the peak has one owner, and so has every other byte of the
 * process. */
static void check_ledger(const struct run *run)
{
    int64_t in_pool = 0, outside = run_ledger_sum(run, LEDGER_OUTSIDE);
    double untouched = run_fact_number(run, "memory.untouched_bytes");
    size_t n_modules = 0;

    for (int kind = 0; kind < LEDGER_OUTSIDE; kind++)
        in_pool += run_ledger_sum(run, (enum ledger_kind)kind);
    CHECK_INT(in_pool, run_memory_of(run)->peak_bytes);
    CHECK_INT(in_pool + outside - (isnan(untouched) ? 0 : (int64_t)untouched),
              (int64_t)run_fact_number(run, "memory.process_peak_bytes"));
    CHECK(outside > 0);
    CHECK(run_ledger_sum(run, LEDGER_WEIGHTS) >=
          (int64_t)run_fact_number(run, "model.parameter_bytes"));
    CHECK(run_ledger_sum(run, LEDGER_IMAGES) > 0);
    for (size_t i = 0; i < run_ledger_count(run); i++)
        n_modules += run_ledger(run, i)->kind == LEDGER_ACTIVATIONS &&
                     run_ledger(run, i)->scope != RUN_NONE;
    CHECK(n_modules > 0);
}

/* In the last iteration nothing was gained, and no more was live than
 * before. */
static void check_live(const struct run *run)
{
    const struct iteration *last =
        run_iteration(run, run_iterations_kept(run) - 1);
    const struct counter *live = NULL;

    for (uint32_t i = 0; i < run_counters(run); i++) {
        if (strcmp(run_counter(run, i)->name, RUN_LIVE_BYTES) == 0)
            live = run_counter(run, i);
    }
    CHECK(live != NULL);
    CHECK(live->n_points > 100);
    CHECK_INT(live->points[0].time_ns, last->start_ns);
    CHECK(live->points[live->n_points - 1].time_ns <=
          last->start_ns + last->duration_ns);
    CHECK(live->max <= (double)run_memory_of(run)->peak_bytes);
}

/* The model has inputs and outputs, and the first convolution feeds another
 * scope. */
static void check_edges(const struct run *run)
{
    size_t n_inputs = 0, n_outputs = 0, n_from_first = 0;

    for (size_t i = 0; i < run_edge_count(run); i++) {
        const struct run_edge *edge = run_edge(run, i);

        n_inputs += edge->from == RUN_NONE;
        n_outputs += edge->to == RUN_NONE;
        n_from_first += edge->from != RUN_NONE && edge->to != RUN_NONE &&
                        strcmp(run_scope(run, edge->from)->name, "conv1") == 0;
    }
    CHECK(n_inputs > 0);
    CHECK(n_outputs > 0);
    CHECK(n_from_first > 0);
}

TEST(every_byte_at_the_peak_has_an_owner)
{
    for (int is_plain = 0; is_plain < 2; is_plain++) {
        struct profile_options options = small_job(is_plain);
        struct run *run = record(&options);

        check_ledger(run);
        check_live(run);
        check_edges(run);
        run_free(run);
    }
}

/* ---- content and steadiness -------------------------------------------- */

static double value_at(const struct run *run, const char *name, size_t i)
{
    const struct series *series = run_series_find(run, name);

    if (!series)
        fail_msg("no series %s", name);
    CHECK(i < series->n_points);
    CHECK_INT(series->points[i].iteration, i);
    return series->points[i].value;
}

static double sum_of_levels(const struct run *run, const char *prefix)
{
    double sum = 0;
    char name[64];

    for (int level = 0; level < 5; level++) {
        snprintf(name, sizeof name, "%s.%d", prefix, level);
        sum += value_at(run, name, 1);
    }
    return sum;
}

TEST(every_iteration_describes_its_photograph_and_the_machine)
{
    struct profile_options options = small_job(true);
    const struct series *photo;
    struct run *run;

    options.n_images = 3;
    run = record(&options);
    photo = run_series_find(run, "input.photo");
    CHECK(photo != NULL);
    CHECK_INT(photo->n_points, 3);
    CHECK_STR(series_label(photo, &photo->points[2]), "coffee.jpg");
    CHECK(value_at(run, "content.height", 0) >= side - 1);
    CHECK(value_at(run, "content.width", 0) >= side - 1);
    CHECK(value_at(run, "content.proposals", 1) ==
          sum_of_levels(run, "content.proposals"));
    CHECK(value_at(run, "content.proposals", 1) <= 1000);
    CHECK(value_at(run, "content.proposals", 1) > 0);
    CHECK(sum_of_levels(run, "content.proposals_before") >=
          value_at(run, "content.proposals", 1));
    CHECK(value_at(run, "content.detections", 1) <= 100);
    CHECK(value_at(run, "steady.page_faults", 2) >= 0);
    CHECK(value_at(run, "steady.cpu", 2) > 0);
    CHECK(run_fact(run, "runs.stopped") == NULL);
    run_free(run);
}

/* With a limit of no time, only what must be measured is left. */
TEST(a_goal_without_time_measures_the_least_and_says_why_it_stopped)
{
    struct profile_options options = small_job(true);
    struct run *run;

    options.n_images = 2;
    options.precision_goal = 0.02;
    options.time_limit = 1e-9;
    run = record(&options);
    CHECK_INT(run_iteration_count(run), 2);
    CHECK_HAS(run_fact(run, "runs.stopped"), "by the time limit");
    CHECK(run_fact_number(run, "runs.precision_goal") == 0.02);
    CHECK(run_fact(run, "recording.cost_share") == NULL);
    run_free(run);
}

/* Bare iterations are in the cost and nowhere else. */
TEST(bare_iterations_show_what_recording_costs_and_are_not_in_the_run)
{
    struct profile_options options = small_job(true);
    struct run *run;

    options.n_images = 8;
    options.time_limit = 1e6;
    run = record(&options);
    CHECK(run_fact_number(run, "recording.pairs") == 3);
    CHECK(run_fact(run, "recording.cost_share") == NULL);
    run_free(run);

    options.n_images = 17;
    run = record(&options);
    CHECK_INT(run_iteration_count(run), 17);
    CHECK(run_fact_number(run, "recording.pairs") == 6);
    CHECK(run_fact_number(run, "recording.cost_low") <=
          run_fact_number(run, "recording.cost_share"));
    CHECK(run_fact_number(run, "recording.cost_share") <=
          run_fact_number(run, "recording.cost_high"));
    CHECK_INT(run_health_of(run)->lost_spans, 0);
    CHECK_INT(run_health_of(run)->unbalanced_ends, 0);
    check_ledger(run);
    run_free(run);
}
