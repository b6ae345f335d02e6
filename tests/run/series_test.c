/* run/series_test.c - values per iteration, and who owned the memory. */
#include "run/run.h"
#include "test.h"

#include <math.h>
#include <stdio.h>

#define OK(call) CHECK_STATUS(call, ASSAY_OK, &err)

TEST(a_series_is_found_again_by_its_name)
{
    struct error err = {0};
    struct run *run = NULL;
    uint32_t first, second, again;

    OK(run_new(&run, &err));
    OK(run_series_add(run, "content.detections", "", &first, &err));
    OK(run_series_add(run, "steady.page_faults", "", &second, &err));
    OK(run_series_add(run, "content.detections", "", &again, &err));
    CHECK_INT(again, first);
    CHECK(second != first);
    CHECK_INT(run_series_count(run), 2);
    CHECK(run_series_find(run, "steady.page_faults") ==
          run_series(run, second));
    CHECK(run_series_find(run, "steady") == NULL);
    run_free(run);
}

TEST(a_long_series_keeps_the_iterations_that_every_scope_keeps)
{
    struct error err = {0};
    struct run *run = NULL;
    const struct series *series;
    uint32_t id;

    OK(run_new(&run, &err));
    OK(run_series_add(run, "x", "", &id, &err));
    for (uint32_t i = 0; i < 5000; i++)
        OK(run_series_put(run, id, i, i * 2.0, &err));
    series = run_series(run, id);
    CHECK(series->n_points <= RUN_MAX_POINTS);
    CHECK(series->n_points > RUN_MAX_POINTS / 4);
    for (size_t i = 0; i < series->n_points; i++) {
        CHECK(run_is_kept(series->points[i].iteration, series->stride));
        CHECK(series->points[i].value == series->points[i].iteration * 2.0);
    }
    run_free(run);
}

TEST(values_that_make_no_sense_are_refused_with_the_name_of_the_series)
{
    struct error err = {0};
    struct run *run = NULL;
    uint32_t id;

    OK(run_new(&run, &err));
    OK(run_series_add(run, "input.photo", "", &id, &err));
    OK(run_series_label(run, id, "street.jpg", &err));
    OK(run_series_put(run, id, 3, 0, &err));
    CHECK(run_series_put(run, id, 3, 0, &err) == ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "input.photo goes back from iteration 3 to 3");
    CHECK(run_series_put(run, id, 4, 1, &err) == ASSAY_BAD_INPUT);
    CHECK(run_series_put(run, id, 4, 0.5, &err) == ASSAY_BAD_INPUT);
    CHECK(run_series_put(run, id, 4, NAN, &err) == ASSAY_BAD_INPUT);
    CHECK(run_series_put(run, id, RUN_NONE, 0, &err) == ASSAY_BAD_INPUT);
    CHECK_STR(series_label(run_series(run, id), run_series(run, id)->points),
              "street.jpg");
    run_free(run);
}

TEST(the_ledger_refuses_unknown_owners)
{
    struct error err = {0};
    struct run *run = NULL;
    struct ledger_row row = {
        .kind = LEDGER_SCRATCH, .scope = RUN_NONE, .bytes = 96};

    OK(run_new(&run, &err));
    OK(run_ledger_add(run, &row, &err));
    CHECK_STR(run_ledger(run, 0)->what, "");
    CHECK_STR(ledger_kind_text(run_ledger(run, 0)->kind), "scratch");
    row.scope = 7;
    CHECK(run_ledger_add(run, &row, &err) == ASSAY_BAD_INPUT);
    row.scope = RUN_ROOT;
    row.bytes = -1;
    CHECK(run_ledger_add(run, &row, &err) == ASSAY_BAD_INPUT);
    CHECK_INT(run_ledger_count(run), 1);
    run_free(run);
}

/* ---- parts of runs, and merged runs ------------------------------------- */

/* n iterations of photographs "<name> 0", "<name> 1" in turn, and their number
 * plus `base` as detections. */
static struct run *photo_run(const char *name, uint32_t n, double base)
{
    struct error err = {0};
    struct run *run = NULL;
    uint32_t photo, detections, id;
    char label[40];

    OK(run_new(&run, &err));
    OK(run_thread_add(run, "main", THREAD_CPU, &id, &err));
    OK(run_scope_add(run, RUN_ROOT, name, "", &id, &err));
    OK(run_series_add(run, "photo", "", &photo, &err));
    OK(run_series_add(run, "detections", "", &detections, &err));
    for (int i = 0; i < 2; i++) {
        snprintf(label, sizeof label, "%s %d", name, i);
        OK(run_series_label(run, photo, label, &err));
    }
    for (uint32_t i = 0; i < n; i++) {
        struct sample sample = {.iteration = i,
                                .start_ns = 10 * (int64_t)i,
                                .duration_ns = 10,
                                .self_ns = 10,
                                .bytes = RUN_UNKNOWN,
                                .peak_bytes = RUN_UNKNOWN};

        OK(run_count(run, &sample, &err));
        OK(run_series_put(run, photo, i, i % 2, &err));
        OK(run_series_put(run, detections, i, base + i, &err));
    }
    return run;
}

static void own(struct run *run, uint32_t scope, int64_t bytes, double live)
{
    struct ledger_row row = {
        .kind = LEDGER_ACTIVATIONS, .scope = scope, .bytes = bytes};
    struct error err = {0};
    uint32_t id;

    OK(run_ledger_add(run, &row, &err));
    run_memory(run)->peak_bytes = bytes;
    OK(run_counter_add(run, RUN_LIVE_BYTES, "bytes", &id, &err));
    OK(run_counter_count(run, id, 5, live, &err));
}

TEST(a_part_of_a_run_has_the_values_of_its_iterations_and_the_whole_ledger)
{
    struct run_filter filter = {.first_iteration = 3, .last_iteration = 5};
    struct run *run = photo_run("a", 9, 100), *part = NULL;
    const struct series *photo, *detections;
    struct error err = {0};

    own(run, 1, 64, 64);
    OK(run_seal(run, &err));
    OK(run_subset(run, &filter, &part, &err));
    photo = run_series_find(part, "photo");
    detections = run_series_find(part, "detections");
    CHECK_INT(photo->n_points, 3);
    CHECK_INT(photo->points[0].iteration, 3);
    CHECK_STR(series_label(photo, &photo->points[0]), "a 1");
    CHECK(detections->points[2].value == 105);
    CHECK_INT(run_ledger_count(part), 1);
    CHECK_INT(run_ledger(part, 0)->scope, 1);
    run_free(part);
    run_free(run);
}

TEST(merged_runs_have_the_values_of_both_in_order)
{
    struct run *run = photo_run("a", 3, 100), *other = photo_run("b", 2, 200);
    const struct series *photo, *detections;
    struct error err = {0};

    OK(run_seal(run, &err));
    OK(run_seal(other, &err));
    OK(run_merge(run, other, &err));
    photo = run_series_find(run, "photo");
    detections = run_series_find(run, "detections");
    CHECK_INT(photo->n_points, 5);
    CHECK_INT(photo->n_labels, 4);
    CHECK_STR(series_label(photo, &photo->points[2]), "a 0");
    CHECK_INT(photo->points[4].iteration, 4);
    CHECK_STR(series_label(photo, &photo->points[4]), "b 1");
    CHECK(detections->points[3].value == 200);
    run_free(run);
    run_free(other);
}

/* A run merged with itself has the same photographs. */
TEST(merged_thinned_runs_keep_values_with_their_iterations)
{
    struct run *run = photo_run("a", 5000, 0), *other = photo_run("a", 700, 0);
    const struct series *photo, *detections;
    struct error err = {0};

    OK(run_seal(run, &err));
    OK(run_seal(other, &err));
    OK(run_merge(run, other, &err));
    photo = run_series_find(run, "photo");
    detections = run_series_find(run, "detections");
    CHECK_INT(photo->n_labels, 2);
    CHECK(photo->n_points > 300 && photo->n_points <= RUN_MAX_POINTS);
    CHECK_INT(photo->n_points, detections->n_points);
    for (size_t i = 0; i < photo->n_points; i++) {
        CHECK_INT(photo->points[i].iteration, detections->points[i].iteration);
        CHECK(photo->points[i].value ==
              (double)((uint32_t)detections->points[i].value % 2));
    }
    run_free(run);
    run_free(other);
}

static void check_joined_memory(int64_t first, int64_t second,
                                const char *owner, double live)
{
    struct run *run = photo_run("a", 3, 0), *other = photo_run("b", 3, 0);
    struct error err = {0};

    own(run, 1, first, 1);
    own(other, 1, second, 2);
    OK(run_seal(run, &err));
    OK(run_seal(other, &err));
    OK(run_merge(run, other, &err));
    CHECK_INT(run_ledger_count(run), 1);
    CHECK_STR(run_scope(run, run_ledger(run, 0)->scope)->name, owner);
    CHECK_INT(run_counter(run, 0)->n_points, 1);
    CHECK(run_counter(run, 0)->points[0].value == live);
    CHECK(run_counter(run, 0)->max == live);
    run_free(run);
    run_free(other);
}

TEST(merged_runs_have_the_ledger_of_the_higher_peak)
{
    check_joined_memory(100, 50, "a", 1);
    check_joined_memory(50, 100, "b", 2);
}

TEST(a_series_of_numbers_does_not_become_one_of_names)
{
    struct error err = {0};
    struct run *run = NULL;
    uint32_t id;

    OK(run_new(&run, &err));
    OK(run_series_add(run, "x", "", &id, &err));
    OK(run_series_put(run, id, 0, 12, &err));
    CHECK_INT(run_series_label(run, id, "name", &err), ASSAY_BAD_INPUT);
    CHECK_INT(run_series_restore(run, id, 2, &err), ASSAY_BAD_INPUT);
    run_free(run);
}

/* ---- the steps of a training -------------------------------------------- */

/* Losses equal to the number of their step, and a value per iteration. */
static struct run *training_of(uint32_t first, uint32_t n, const char *step)
{
    struct error err = {0};
    struct run *run;
    uint32_t loss, other, thread;

    OK(run_new(&run, &err));
    OK(run_fact_set(run, "training.first_step", step, &err));
    run_health(run)->warm_up = 2;
    OK(run_series_add(run, "train.loss", "", &loss, &err));
    OK(run_series_add(run, "data.wait", "ms", &other, &err));
    for (uint32_t i = 0; i < n; i++)
        OK(run_series_put(run, loss, first + i, first + i + 1, &err));
    OK(run_thread_add(run, "main", THREAD_CPU, &thread, &err));
    for (uint32_t i = 0; i < n - 2; i++) {
        struct sample sample = {.iteration = i,
                                .start_ns = 10 * (int64_t)i,
                                .duration_ns = 10,
                                .self_ns = 10,
                                .bytes = RUN_UNKNOWN,
                                .peak_bytes = RUN_UNKNOWN};

        OK(run_count(run, &sample, &err));
        OK(run_series_put(run, other, i, i, &err));
    }
    return run;
}

TEST(an_iteration_of_a_training_is_a_step_of_it)
{
    struct run *run = training_of(10, 6, "11");
    struct error err = {0};

    CHECK_INT(run_step_of(run, 0), 13);
    CHECK_INT(run_step_of(run, 3), 16);
    OK(run_fact_set(run, "training.first_step", "", &err));
    CHECK_INT(run_step_of(run, 0), 0);
    run_free(run);
}

TEST(a_part_of_a_training_has_the_losses_of_its_steps)
{
    struct run *run = training_of(10, 6, "11"), *part;
    struct run_filter filter = {.first_iteration = 1, .last_iteration = 2};
    const struct series *loss;
    struct error err = {0};

    OK(run_seal(run, &err));
    OK(run_subset(run, &filter, &part, &err));
    loss = run_series_find(part, "train.loss");
    CHECK_INT(loss->n_points, 2);
    CHECK_NEAR(loss->points[0].value, 14, 0); /* iteration 1 is step 14 */
    CHECK_INT(run_series_find(part, "data.wait")->n_points, 2);
    run_free(part);
    filter = (struct run_filter){.last_iteration = UINT64_MAX};
    OK(run_subset(run, &filter, &part, &err));
    CHECK_INT(run_series_find(part, "train.loss")->n_points, 6);
    run_free(part);
    run_free(run);
}

TEST(an_old_run_is_numbered_by_its_steps)
{
    struct error err = {0};
    struct run *run;
    uint32_t loss, step;

    OK(run_new(&run, &err));
    OK(run_series_add(run, "train.step", "", &step, &err));
    OK(run_series_add(run, "train.loss", "", &loss, &err));
    for (uint32_t i = 0; i < 4; i++) {
        OK(run_series_put(run, loss, i, 1, &err));
        OK(run_series_put(run, step, i, 4 + i, &err));
    }
    run_series_number_steps(run);
    CHECK(run_series_find(run, "train.step") == NULL);
    CHECK_INT(run_series_count(run), 1);
    CHECK_INT(run_series(run, 0)->n_points, 4);
    CHECK_INT(run_series(run, 0)->points[0].iteration, 3);
    CHECK_INT(run_series(run, 0)->points[3].iteration, 6);
    run_free(run);
}

TEST(a_training_merged_with_its_continuation_has_each_step_once)
{
    struct run *run = training_of(0, 6, "1"), *more = training_of(4, 6, "5");
    const struct series *loss;
    struct error err = {0};

    OK(run_seal(run, &err));
    OK(run_seal(more, &err));
    OK(run_merge(run, more, &err));
    loss = run_series_find(run, "train.loss");
    CHECK_INT(loss->n_points, 10);
    for (uint32_t i = 0; i < 10; i++) {
        CHECK_INT(loss->points[i].iteration, i);
        CHECK_NEAR(loss->points[i].value, i + 1, 0);
    }
    CHECK_INT(run_series_find(run, "data.wait")->n_points, 8);
    run_free(more);
    run_free(run);
}
