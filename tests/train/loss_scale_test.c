/* tests/train/loss_scale_test.c - train/loss_scale.h, alone and in a
 * training. */
#include "backend/far.h"
#include "small_training.h"
#include "test.h"
#include "train/train_checkpoint.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct error err;

TEST(a_scale_is_halved_by_what_is_not_finite_and_ends_below_one)
{
    struct loss_scale scale = {.factor = 4, .good_steps = 7};

    CHECK(loss_scale_learn(&scale, false));
    CHECK_NEAR(scale.factor, 2, 0);
    CHECK_INT(scale.good_steps, 0);
    CHECK(loss_scale_learn(&scale, false));
    CHECK_NEAR(scale.factor, 1, 0);
    CHECK(!loss_scale_learn(&scale, false));
    CHECK_INT(scale.n_skipped, 3);
}

TEST(a_scale_is_doubled_after_many_good_steps_up_to_a_limit)
{
    struct loss_scale scale = {.factor = LOSS_SCALE_MOST / 2};

    for (int i = 1; i < LOSS_SCALE_PATIENCE; i++)
        CHECK(loss_scale_learn(&scale, true));
    CHECK_NEAR(scale.factor, LOSS_SCALE_MOST / 2, 0);
    for (int i = 0; i < 2 * LOSS_SCALE_PATIENCE; i++)
        CHECK(loss_scale_learn(&scale, true));
    CHECK_NEAR(scale.factor, LOSS_SCALE_MOST, 0);
}

TEST(without_a_scale_nothing_is_tried_again)
{
    struct loss_scale off = {0};

    CHECK_NEAR(loss_scale_factor(&off), 1, 0);
    CHECK(loss_scale_learn(&off, true));
    CHECK(!loss_scale_learn(&off, false));
    CHECK_NEAR(off.factor, 0, 0);
}

/* ---- in a training ------------------------------------------------------- */

/* The weights after some steps, which `bad_at` is one of; 0: none. */
static void learn(const struct device *device, enum optimizer_kind kind,
                  double scale, uint64_t bad_at, struct train_report *report,
                  float *weights)
{
    struct small_training training;

    err = (struct error){0};
    small_training_make(&training);
    training.options.device = device;
    training.options.optimizer = optimizer_defaults(kind);
    training.options.loss_scale = scale;
    training.source.bad_at = bad_at;
    CHECK_STATUS(small_training_run(&training, report, &err), ASSAY_OK, &err);
    memcpy(weights, small_training_weight(&training),
           small_training_weight_bytes(&training));
    small_training_free(&training);
}

enum { n_weights = SMALL_CLASSES * SMALL_PIXELS };

/* A power of two changes no bit but those of the exponent. */
TEST(scaled_losses_train_the_same_weights_bit_for_bit)
{
    struct far_device *far = far_device_new(NULL);
    const struct device *devices[] = {NULL, far_device(far)};

    for (int i = 0; i < 4; i++) {
        enum optimizer_kind kind = i / 2 ? OPTIMIZER_ADAMW : OPTIMIZER_SGD;
        struct train_report report;
        float plain[n_weights], scaled[n_weights];

        learn(devices[i % 2], kind, 0, 0, &report, plain);
        learn(devices[i % 2], kind, 1024, 0, &report, scaled);
        CHECK(memcmp(plain, scaled, sizeof plain) == 0);
        CHECK_INT(report.n_unscaled, 0);
    }
    far_device_free(far);
}

struct heard {
    uint64_t n_skipped, skipped_at;
};

static void hear_skipped(void *context, const struct train_step *step)
{
    struct heard *heard = context;

    heard->n_skipped += step->is_skipped;
    if (step->is_skipped)
        heard->skipped_at = step->step;
}

TEST(a_step_that_is_not_finite_is_skipped_and_the_scale_halved)
{
    char path[512];
    struct small_training training;
    struct train_report report;
    struct train_position position;
    struct heard heard = {0};

    snprintf(path, sizeof path, "%s", test_path("skipped.safetensors"));
    err = (struct error){0};
    small_training_make(&training);
    training.options.loss_scale = 1024;
    training.options.checkpoint_path = path;
    training.options.watch =
        (struct train_watch){.stepped = hear_skipped, .context = &heard};
    training.source.bad_at = 4;
    CHECK_STATUS(small_training_run(&training, &report, &err), ASSAY_OK, &err);
    CHECK_INT(heard.n_skipped, 1);
    CHECK_INT(heard.skipped_at, 4);
    CHECK_INT(report.n_unscaled, 1);
    CHECK(isfinite(report.last_loss));
    CHECK_STATUS(train_checkpoint_look(path, &position, &err), ASSAY_OK, &err);
    CHECK_NEAR(position.scale.factor, 512, 0);
    CHECK_INT(position.scale.good_steps, 2);
    train_position_release(&position);
    small_training_free(&training);
}

/* The next process goes on with the scale of the one before. */
TEST(a_resumed_training_has_the_scale_of_its_checkpoint)
{
    char path[512], next[512];
    struct small_training training;
    struct train_report report;
    struct train_position position;

    snprintf(path, sizeof path, "%s", test_path("scaled.safetensors"));
    snprintf(next, sizeof next, "%s", test_path("resumed.safetensors"));
    for (int i = 0; i < 2; i++) {
        err = (struct error){0};
        small_training_make(&training);
        training.options.loss_scale = i ? 64 : 1024;
        training.options.n_steps = i ? 6 : 3;
        training.options.resume = i ? path : NULL;
        training.options.checkpoint_path = i ? next : path;
        CHECK_STATUS(small_training_run(&training, &report, &err), ASSAY_OK,
                     &err);
        small_training_free(&training);
    }
    CHECK_STATUS(train_checkpoint_look(next, &position, &err), ASSAY_OK, &err);
    CHECK_NEAR(position.scale.factor, 1024, 0);
    CHECK_INT(position.scale.good_steps, 6);
    train_position_release(&position);
}

TEST(what_is_never_finite_stops_once_the_scale_is_spent)
{
    struct small_training training;
    struct train_report report;
    struct error told = {0};

    small_training_make(&training);
    training.options.loss_scale = 1;
    training.source.bad_at = 4;
    CHECK_INT(small_training_run(&training, &report, &told), ASSAY_BAD_INPUT);
    CHECK_HAS(told.text, "step 4: the loss is not finite");
    small_training_free(&training);
}
