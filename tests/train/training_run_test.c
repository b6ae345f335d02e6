/* tests/train/training_run_test.c - the run file that a training leaves. */
#include "small_training.h"
#include "store/store.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct error err;
static struct train_report report; /* of the last recording */

/* Records 12 steps, 2 of them warm-up. */
static struct run *record(struct small_training *training)
{
    const char *path = test_path("training.assay");
    struct run *run = NULL;

    small_training_make(training);
    training->options.run_path = path;
    training->options.n_steps = 12;
    training->options.n_warm_up = 2;
    CHECK_STATUS(small_training_run(training, &report, &err), ASSAY_OK, &err);
    CHECK_STATUS(store_load(path, &run, &err), ASSAY_OK, &err);
    return run;
}

static uint32_t scope_below(const struct run *run, uint32_t parent,
                            const char *name)
{
    for (uint32_t i = 0; i < run_scope_count(run); i++) {
        if (run_scope(run, i)->parent == parent &&
            strcmp(run_scope(run, i)->name, name) == 0)
            return i;
    }
    print_error("no scope %s\n", name);
    CHECK(false);
    return RUN_NONE;
}

static double mean_ns(const struct run *run, uint32_t scope)
{
    struct scope_stats stats;

    CHECK_STATUS(run_scope_stats(run, scope, RUN_ANY, &stats, &err), ASSAY_OK,
                 &err);
    CHECK_INT(stats.n, 10);
    return stats.mean_ns;
}

TEST(a_step_contains_its_parts)
{
    static const char *const parts[] = {"data", "copy",     "forward",
                                        "loss", "backward", "optimizer"};
    struct small_training training;
    struct run *run = record(&training);
    double whole = mean_ns(run, RUN_ROOT), sum = 0;

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        double part = mean_ns(run, scope_below(run, RUN_ROOT, parts[i]));

        CHECK(part > 0);
        sum += part;
    }
    CHECK(sum <= whole);
    run_free(run);
    small_training_free(&training);
}

TEST(modules_appear_in_all_three_passes)
{
    static const char *const passes[] = {"forward", "backward", "optimizer"};
    struct small_training training;
    struct run *run = record(&training);

    for (size_t i = 0; i < 3; i++) {
        uint32_t pass = scope_below(run, RUN_ROOT, passes[i]);
        uint32_t fc = scope_below(run, pass, "fc");

        CHECK_STR(run_scope(run, fc)->class_name, "Linear");
        CHECK(mean_ns(run, fc) > 0);
    }
    run_free(run);
    small_training_free(&training);
}

TEST(a_loss_has_a_span_of_its_own)
{
    struct small_training training;
    struct run *run = record(&training);
    uint32_t forward = scope_below(run, RUN_ROOT, "forward");
    uint32_t module = scope_below(run, forward, "distance");

    CHECK(mean_ns(run, scope_below(run, module, "Distance")) > 0);
    run_free(run);
    small_training_free(&training);
}

/* A linear layer: n * in * out; the backward pass does that for the weights,
 * and nothing needs the gradient of the images. */
TEST(modules_have_their_arithmetic)
{
    const double macs = SMALL_IMAGES * SMALL_PIXELS * SMALL_CLASSES;
    struct small_training training;
    struct run *run = record(&training);
    uint32_t forward = scope_below(run, RUN_ROOT, "forward");
    uint32_t backward = scope_below(run, RUN_ROOT, "backward");
    uint32_t optimizer = scope_below(run, RUN_ROOT, "optimizer");
    const struct scope_work *work;

    work = run_work(run, scope_below(run, forward, "fc"));
    CHECK(work != NULL);
    CHECK_NEAR(work->macs, macs, 1e-9);
    CHECK_NEAR(work->parameters, (SMALL_PIXELS + 1) * SMALL_CLASSES, 0);
    work = run_work(run, scope_below(run, backward, "fc"));
    CHECK(work != NULL);
    CHECK_NEAR(work->macs, macs, 1e-9);
    work = run_work(run, scope_below(run, optimizer, "fc"));
    CHECK(work != NULL);
    /* Parameter, gradient and momentum are read. */
    CHECK_NEAR(work->read_bytes, 3 * 4 * (SMALL_PIXELS + 1) * SMALL_CLASSES, 0);
    run_free(run);
    small_training_free(&training);
}

static const struct series *series_of(const struct run *run, const char *name,
                                      size_t n, uint32_t first)
{
    const struct series *series = run_series_find(run, name);

    if (!series)
        print_error("no series %s\n", name);
    CHECK(series != NULL);
    CHECK_INT(series->n_points, n);
    CHECK_INT(series->points[0].iteration, first);
    return series;
}

TEST(losses_and_rates_are_series_of_all_steps_warm_up_included)
{
    struct small_training training;
    struct run *run = record(&training);
    const struct series *loss = series_of(run, "train.loss", 12, 0);

    CHECK_NEAR(loss->points[0].value, report.first_loss, 0);
    CHECK_NEAR(loss->points[11].value, report.last_loss, 0);
    CHECK_NEAR(series_of(run, "train.learning_rate", 12, 0)->points[3].value,
               0.01, 1e-12);
    CHECK(series_of(run, "train.gradient_norm", 12, 0)->points[0].value > 0);
    CHECK_INT(run_step_of(run, 0), 3); /* of measured steps */
    run_free(run);
    small_training_free(&training);
}

TEST(measured_values_start_after_the_warm_up)
{
    struct small_training training;
    struct run *run = record(&training);

    /* The first is by the number of its step, the other by its iteration. */
    CHECK(series_of(run, "train.images_per_s", 10, 2)->points[0].value > 0);
    series_of(run, "data.wait", 10, 0);
    run_free(run);
    small_training_free(&training);
}

TEST(a_resumed_training_continues_the_numbers_of_its_steps)
{
    struct small_training training;
    struct run *run = NULL;
    char checkpoint[512];

    snprintf(checkpoint, sizeof checkpoint, "%s",
             test_path("resumed.safetensors"));
    small_training_make(&training);
    training.options.checkpoint_path = checkpoint;
    training.options.n_steps = 5;
    CHECK_STATUS(small_training_run(&training, &report, &err), ASSAY_OK, &err);
    small_training_free(&training);
    small_training_make(&training);
    training.options.resume = checkpoint;
    training.options.run_path = test_path("resumed.assay");
    training.options.n_steps = 9;
    training.options.n_warm_up = 1;
    CHECK_STATUS(small_training_run(&training, &report, &err), ASSAY_OK, &err);
    CHECK_STATUS(store_load(training.options.run_path, &run, &err), ASSAY_OK,
                 &err);
    series_of(run, "train.loss", 4, 5); /* steps 6 to 9 */
    CHECK_INT(run_step_of(run, 0), 7);
    run_free(run);
    small_training_free(&training);
}

TEST(the_ledger_adds_up_to_the_peak)
{
    struct small_training training;
    struct run *run = record(&training);
    int64_t sum = 0;

    for (int kind = 0; kind < LEDGER_OUTSIDE; kind++)
        sum += run_ledger_sum(run, (enum ledger_kind)kind);
    CHECK_INT(sum, run_memory_of(run)->peak_bytes);
    CHECK_INT(run_ledger_sum(run, LEDGER_OPTIMIZER),
              4 * (SMALL_PIXELS + 1) * SMALL_CLASSES);
    CHECK(run_ledger_sum(run, LEDGER_WEIGHTS) >=
          4 * (SMALL_PIXELS + 1) * SMALL_CLASSES);
    run_free(run);
    small_training_free(&training);
}

static const struct counter *counter_of(const struct run *run, const char *name)
{
    for (uint32_t i = 0; i < run_counters(run); i++) {
        if (strcmp(run_counter(run, i)->name, name) == 0)
            return run_counter(run, i);
    }
    return NULL;
}

TEST(live_bytes_and_the_place_of_their_peak_are_known)
{
    struct small_training training;
    struct run *run = record(&training);
    const struct counter *live = counter_of(run, RUN_LIVE_BYTES);
    uint32_t peak = run_memory_of(run)->peak_scope;

    CHECK(live != NULL);
    CHECK(live->n_points > 4);
    CHECK(live->max <= (double)run_memory_of(run)->peak_bytes);
    CHECK(live->min > 4 * 2 * (SMALL_PIXELS + 1) * SMALL_CLASSES);
    CHECK(peak != RUN_ROOT);
    run_free(run);
    small_training_free(&training);
}

static enum assay_status say_more(void *context, struct run *run,
                                  struct error *error)
{
    return run_fact_set(run, "loader.workers", context, error);
}

TEST(facts_say_what_was_trained)
{
    struct small_training training;
    struct run *run = NULL;
    char four[] = "4";

    small_training_make(&training);
    training.options.run_path = test_path("facts.assay");
    training.options.facts = (struct train_facts){say_more, four};
    CHECK_STATUS(small_training_run(&training, &report, &err), ASSAY_OK, &err);
    CHECK_STATUS(store_load(training.options.run_path, &run, &err), ASSAY_OK,
                 &err);
    CHECK_STR(run_fact(run, "model.name"), "small");
    CHECK_STR(run_fact(run, "settings.mode"), "training");
    CHECK_STR(run_fact(run, "training.batch_images"), "4");
    CHECK_STR(run_fact(run, "training.last_step"), "6");
    CHECK_STR(run_fact(run, "training.optimizer"), "sgd");
    CHECK_STR(run_fact(run, "loader.workers"), "4");
    run_free(run);
    small_training_free(&training);
}

TEST(a_training_that_fails_leaves_what_was_recorded)
{
    struct small_training training;
    struct error told = {0};
    struct run *run = NULL;

    small_training_make(&training);
    training.options.run_path = test_path("failed.assay");
    training.source.bad_at = 5;
    CHECK_INT(small_training_run(&training, &report, &told), ASSAY_BAD_INPUT);
    CHECK_STATUS(store_load(training.options.run_path, &run, &err), ASSAY_OK,
                 &err);
    CHECK_INT(run_series_find(run, "train.loss")->n_points, 4);
    run_free(run);
    small_training_free(&training);
}
