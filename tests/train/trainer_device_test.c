/* tests/train/trainer_device_test.c - train/trainer.h on a device with memory
 * of its own. */
#include "backend/far.h"
#include "small_training.h"
#include "tensor/far_space.h"
#include "test.h"
#include "train/train_checkpoint.h"

#include <stdio.h>
#include <string.h>

static struct error err;

static void run_well(struct small_training *training,
                     struct train_report *report)
{
    err = (struct error){0};
    CHECK_STATUS(small_training_run(training, report, &err), ASSAY_OK, &err);
}

TEST(a_training_on_a_device_leaves_what_it_learnt_in_the_graph)
{
    struct far_device *far = far_device_new(NULL);
    struct small_training here, there;
    struct train_report report;

    small_training_make(&here);
    small_training_make(&there);
    there.options.device = far_device(far);
    run_well(&here, &report);
    run_well(&there, &report);
    CHECK(memcmp(small_training_weight(&here), small_training_weight(&there),
                 small_training_weight_bytes(&here)) == 0);
    small_training_free(&here);
    small_training_free(&there);
    far_device_free(far);
}

static bool always(void *context)
{
    (void)context;
    return true;
}

/* Batches that are ready go to the device during the backward pass before:
 * all of them but the first, which the steps have to know first, and none is
 * asked for that no step is made of. */
TEST(batches_are_sent_ahead_and_the_steps_stay_the_same)
{
    struct far_device *far = far_device_new(NULL);
    struct small_training here, there;
    struct train_report report;
    uint64_t n_batches, n_sent;

    small_training_make(&here);
    small_training_make(&there);
    there.options.device = far_device(far);
    there.options.source.is_ready = always;
    there.source.small_at = here.source.small_at = 3;
    run_well(&here, &report);
    n_batches = here.source.n;
    CHECK_INT(far_sent(far_device(far)->space), 0);
    run_well(&there, &report);
    CHECK_INT(there.source.n, n_batches);
    CHECK_INT(report.n_small, 1);
    n_sent = far_sent(far_device(far)->space);
    CHECK(n_sent > 0);
    CHECK_INT(n_sent % (there.options.n_steps - 1), 0);
    CHECK(memcmp(small_training_weight(&here), small_training_weight(&there),
                 small_training_weight_bytes(&here)) == 0);
    small_training_free(&here);
    small_training_free(&there);
    far_device_free(far);
}

/* What was sent for a step that never comes is given back. */
TEST(a_training_that_is_stopped_releases_the_batch_it_sent_ahead)
{
    struct far_device *far = far_device_new(NULL);
    struct small_training training;
    struct train_report report;

    small_training_make(&training);
    training.options.device = far_device(far);
    training.options.source.is_ready = always;
    training.source.bad_at = 4;
    err = (struct error){0};
    CHECK_INT(small_training_run(&training, &report, &err), ASSAY_BAD_INPUT);
    CHECK_INT(report.n_steps, 3);
    small_training_free(&training);
    far_device_free(far);
}

TEST(a_training_keeps_to_its_part_of_a_devices_memory_and_says_how_much_it_took)
{
    struct far_device *far = far_device_new(NULL);
    struct small_training free, limited;
    struct train_report report;
    size_t needed;

    small_training_make(&free);
    free.options.device = far_device(far);
    run_well(&free, &report);
    needed = report.device_peak_bytes;
    CHECK(needed > 0);
    small_training_free(&free);
    small_training_make(&limited);
    limited.options.device = far_device(far);
    limited.options.device_bytes = needed / 2;
    err = (struct error){0};
    CHECK_INT(small_training_run(&limited, &report, &err), ASSAY_NOMEM);
    small_training_free(&limited);
    small_training_make(&limited);
    run_well(&limited, &report); /* on the host it means nothing */
    CHECK_INT(report.device_peak_bytes, 0);
    small_training_free(&limited);
    far_device_free(far);
}

/* Somebody else on the device, who takes all of its memory after a step. */
struct hog {
    struct space *space;
    struct {
        void *at;
        size_t bytes;
    } taken[256];
    size_t n;
};

static void hog_take(void *context, const struct train_step *step)
{
    struct hog *hog = context;
    size_t bytes = (size_t)1 << 30;

    while (step->step == 3 && bytes >= SPACE_ALIGNMENT) {
        void *at = hog->space->take(hog->space, bytes);

        if (at) {
            CHECK(hog->n < sizeof hog->taken / sizeof *hog->taken);
            hog->taken[hog->n].at = at;
            hog->taken[hog->n++].bytes = bytes;
        } else {
            bytes /= 2;
        }
    }
}

static void hog_give(struct hog *hog)
{
    while (hog->n) {
        hog->n--;
        hog->space->give(hog->space, hog->taken[hog->n].at,
                         hog->taken[hog->n].bytes);
    }
}

TEST(a_device_without_memory_in_an_epoch_ends_with_the_step_before)
{
    struct far_device *far = far_device_new(NULL);
    struct hog hog = {.space = far_device(far)->space};
    struct small_training training;
    struct train_position position;
    struct train_report report;
    char path[512];

    snprintf(path, sizeof path, "%s", test_path("full.safetensors"));
    small_training_make(&training);
    training.options.device = far_device(far);
    training.options.checkpoint_path = path;
    training.options.watch =
        (struct train_watch){.stepped = hog_take, .context = &hog};
    err = (struct error){0};
    CHECK_INT(small_training_run(&training, &report, &err), ASSAY_NOMEM);
    CHECK_HAS(err.text, "step 4: distance (Distance): ");
    CHECK_HAS(err.text, "far:0 has 0 of ");
    CHECK_INT(report.shortage.batch, SMALL_IMAGES);
    CHECK(report.shortage.weights_bytes > 0);
    CHECK(report.shortage.activations_bytes > 0);
    CHECK(report.shortage.fitting_batch < SMALL_IMAGES);
    CHECK_INT(report.n_steps, 3);
    CHECK(report.has_checkpoint);
    CHECK_STATUS(train_checkpoint_look(path, &position, &err), ASSAY_OK, &err);
    CHECK_INT(position.step, 3);
    train_position_release(&position);
    hog_give(&hog);
    small_training_free(&training);
    far_device_free(far);
}
