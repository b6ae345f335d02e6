/* tests/train/trainer_test.c - train/trainer.h: steps, failures and
 * checkpoints. */
#include "backend/far.h"
#include "base/mem.h"
#include "formats/weights/checkpoint.h"
#include "small_training.h"
#include "test.h"
#include "train/train_checkpoint.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct error err;

static void run_well(struct small_training *training,
                     struct train_report *report)
{
    err = (struct error){0};
    CHECK_STATUS(small_training_run(training, report, &err), ASSAY_OK, &err);
}

/* ---- steps -------------------------------------------------------------- */

/* The sum of the losses of each epoch. */
static void sum_epochs(void *context, const struct train_step *step)
{
    double *sums = context;

    sums[step->epoch - 1] += step->loss;
}

TEST(steps_lower_the_loss)
{
    enum { n_epochs = 20 };
    struct small_training training;
    struct train_report report;
    double sums[n_epochs] = {0};

    small_training_make(&training);
    training.options.n_steps = n_epochs * SMALL_EPOCH;
    training.options.watch =
        (struct train_watch){.stepped = sum_epochs, .context = sums};
    run_well(&training, &report);
    CHECK_INT(report.n_steps, n_epochs * SMALL_EPOCH);
    CHECK_INT(report.last_step, n_epochs * SMALL_EPOCH);
    CHECK(sums[n_epochs - 1] < sums[0] / 2);
    small_training_free(&training);
}

static void note_norm(void *context, const struct train_step *step)
{
    *(double *)context = step->gradient_norm;
}

/* The same in plain C: one step of gradient descent. */
TEST(a_step_changes_the_weights_by_the_gradient)
{
    enum { n_weights = SMALL_CLASSES * SMALL_PIXELS };
    struct small_training training;
    struct train_report report;
    struct batch batch = {0};
    float before[n_weights], want[n_weights];
    const float *x;

    small_training_make(&training);
    training.options.n_steps = 1;
    memcpy(before, small_training_weight(&training), sizeof before);
    memcpy(want, before, sizeof want);
    CHECK_INT(training.options.source.next(&training.source, &batch, NULL),
              ASSAY_OK);
    x = tensor_f32(&batch.images[0]);
    for (int i = 0; i < SMALL_IMAGES; i++) {
        for (int c = 0; c < SMALL_CLASSES; c++) {
            float y = 0.01F * (float)c; /* the bias */

            for (int k = 0; k < SMALL_PIXELS; k++)
                y += before[c * SMALL_PIXELS + k] * x[i * SMALL_PIXELS + k];
            y -= tensor_i64(&batch.labels)[i] == c ? 1.0F : 0.0F;
            for (int k = 0; k < SMALL_PIXELS; k++)
                want[c * SMALL_PIXELS + k] -=
                    0.01F * y * x[i * SMALL_PIXELS + k];
        }
    }
    batch_release(&batch);
    run_well(&training, &report);
    for (int i = 0; i < n_weights; i++)
        CHECK_NEAR(small_training_weight(&training)[i], want[i], 1e-6);
    small_training_free(&training);
}

/* One step from the same weights; the norm that was found. */
static double step_clipped(const struct device *device, double clip_norm,
                           float *weights)
{
    struct small_training training;
    struct train_report report;
    double norm = 0;

    small_training_make(&training);
    training.options.device = device;
    training.options.n_steps = 1;
    training.options.clip_norm = clip_norm;
    training.options.optimizer = optimizer_defaults(OPTIMIZER_SGD);
    training.options.watch =
        (struct train_watch){.stepped = note_norm, .context = &norm};
    run_well(&training, &report);
    memcpy(weights, small_training_weight(&training),
           small_training_weight_bytes(&training));
    small_training_free(&training);
    return norm;
}

/* What a step changes is the gradient: a limit of a quarter of its norm makes
 * that a quarter, and one above it changes nothing. */
TEST(gradients_are_clipped_to_their_norm)
{
    enum { n_weights = SMALL_CLASSES * SMALL_PIXELS };
    struct far_device *far = far_device_new(NULL);
    const struct device *devices[] = {NULL, far_device(far)};
    struct small_training training;
    float before[n_weights], whole[n_weights], part[n_weights];

    small_training_make(&training);
    memcpy(before, small_training_weight(&training), sizeof before);
    small_training_free(&training);
    for (int i = 0; i < 2; i++) {
        double norm = step_clipped(devices[i], 0, whole);

        CHECK(norm > 0);
        CHECK_NEAR(step_clipped(devices[i], norm / 4, part), norm, 0);
        for (int k = 0; k < n_weights; k++)
            CHECK_NEAR(part[k] - before[k], (whole[k] - before[k]) / 4, 1e-6);
        step_clipped(devices[i], norm * 2, part);
        CHECK(memcmp(part, whole, sizeof part) == 0);
    }
    far_device_free(far);
}

TEST(an_output_named_like_a_buffer_replaces_it)
{
    struct small_training training;
    struct train_report report;
    const struct value *mean;

    small_training_make(&training);
    run_well(&training, &report);
    mean = graph_value(training.graph,
                       graph_find_value(training.graph, "fc.running_mean"));
    CHECK(fabsf(tensor_f32(&mean->data)[0]) > 0.01F);
    small_training_free(&training);
}

struct told {
    uint64_t n, warm_up;
    double rates[16];
    double loss, parts;
    uint64_t last_epoch;
};

static void hear(void *context, const struct train_step *step)
{
    struct told *told = context;

    CHECK_INT(step->step, told->n + 1);
    told->rates[told->n++] = step->learning_rate;
    told->warm_up += step->is_warm_up;
    told->loss = step->loss;
    told->parts = 0;
    for (size_t i = 0; i < step->n_parts; i++)
        told->parts += step->parts[i];
    CHECK_STR(step->part_names[0], "loss");
    told->last_epoch = step->epoch;
}

TEST(every_step_is_reported_with_its_rate_and_losses)
{
    struct small_training training;
    struct train_report report;
    struct told told = {0};

    small_training_make(&training);
    training.options.n_steps = 10;
    training.options.n_warm_up = 2;
    training.options.schedule.warmup_steps = 2;
    training.options.schedule.warmup_factor = 0.5;
    training.options.watch =
        (struct train_watch){.stepped = hear, .context = &told};
    run_well(&training, &report);
    CHECK_INT(told.n, 10);
    CHECK_INT(told.warm_up, 2);
    CHECK_NEAR(told.rates[0], 0.005, 1e-12);
    CHECK_NEAR(told.rates[1], 0.0075, 1e-12);
    CHECK_NEAR(told.rates[9], 0.01, 1e-12);
    CHECK_NEAR(told.parts, told.loss, 0);
    CHECK_NEAR(told.loss, report.last_loss, 0);
    CHECK_INT(told.last_epoch, 2);
    small_training_free(&training);
}

TEST(a_training_ends_with_its_last_epoch)
{
    struct small_training training;
    struct train_report report;

    small_training_make(&training);
    training.options.n_steps = 0;
    training.options.n_epochs = 2;
    run_well(&training, &report);
    CHECK_INT(report.n_steps, 2 * SMALL_EPOCH);
    CHECK(!report.is_stopped);
    small_training_free(&training);
}

TEST(a_smaller_batch_is_passed_over)
{
    struct small_training training;
    struct train_report report;

    small_training_make(&training);
    training.source.small_at = 2;
    run_well(&training, &report);
    CHECK_INT(report.n_steps, 6);
    CHECK_INT(report.n_small, 1);
    CHECK_INT(training.source.n, 7);
    small_training_free(&training);
}

TEST(data_that_never_fills_a_batch_is_an_error)
{
    struct small_training training;
    struct train_report report;
    struct error refused = {0};

    small_training_make(&training);
    training.source.is_small = true;
    CHECK_INT(small_training_run(&training, &report, &refused),
              ASSAY_BAD_INPUT);
    CHECK_HAS(refused.text, "smaller batch_size");
    small_training_free(&training);
}

/* ---- stopping ----------------------------------------------------------- */

static volatile sig_atomic_t stop_now;

static void stop_after_two(void *context, const struct train_step *step)
{
    (void)context;
    stop_now = step->step == 2;
}

TEST(a_stop_ends_after_the_step_and_leaves_a_checkpoint)
{
    const char *path = test_path("stopped.safetensors");
    struct small_training training;
    struct train_position position;
    struct train_report report;

    small_training_make(&training);
    training.options.stop = &stop_now;
    training.options.watch.stepped = stop_after_two;
    training.options.checkpoint_path = path;
    run_well(&training, &report);
    CHECK(report.is_stopped && report.has_checkpoint);
    CHECK_INT(report.last_step, 2);
    CHECK_STATUS(train_checkpoint_look(path, &position, &err), ASSAY_OK, &err);
    CHECK_INT(position.step, 2);
    CHECK_INT(position.place.index, 2);
    train_position_release(&position);
    stop_now = 0;
    small_training_free(&training);
}

/* ---- checkpoints -------------------------------------------------------- */

/* Checks that all tensors of two files are the same, bit for bit. */
static void check_same_tensors(const char *path, const char *other)
{
    struct checkpoint *a = NULL, *b = NULL;
    struct pool *pool;

    CHECK_INT(pool_new(&pool, NULL), ASSAY_OK);
    CHECK_STATUS(checkpoint_open(path, &a, &err), ASSAY_OK, &err);
    CHECK_STATUS(checkpoint_open(other, &b, &err), ASSAY_OK, &err);
    CHECK(checkpoint_count(a) > 3);
    CHECK_INT(checkpoint_count(a), checkpoint_count(b));
    for (size_t i = 0; i < checkpoint_count(a); i++) {
        struct tensor x, y;
        size_t k = 0;

        CHECK(checkpoint_find(b, checkpoint_tensor(a, i)->name, &k));
        CHECK_INT(checkpoint_load(a, i, pool, &x, &err), ASSAY_OK);
        CHECK_INT(checkpoint_load(b, k, pool, &y, &err), ASSAY_OK);
        CHECK_INT(tensor_bytes(&x), tensor_bytes(&y));
        CHECK(memcmp(tensor_data(&x), tensor_data(&y), tensor_bytes(&x)) == 0);
        tensor_release(&x);
        tensor_release(&y);
    }
    checkpoint_free(a);
    checkpoint_free(b);
    pool_free(pool);
}

static void train_on(const struct device *device, uint64_t n_steps,
                     enum optimizer_kind kind, const char *resume,
                     const char *path)
{
    struct small_training training;
    struct train_report report;

    small_training_make(&training);
    training.options.device = device;
    training.options.n_steps = n_steps;
    training.options.optimizer = optimizer_defaults(kind);
    if (kind == OPTIMIZER_SGD)
        training.options.optimizer.momentum = 0.9;
    training.options.schedule.warmup_steps = 8;
    training.options.schedule.warmup_factor = 0.1;
    training.options.resume = resume;
    training.options.checkpoint_path = path;
    run_well(&training, &report);
    CHECK_INT(report.last_step, n_steps);
    small_training_free(&training);
}

static void train_to(uint64_t n_steps, enum optimizer_kind kind,
                     const char *resume, const char *path)
{
    train_on(NULL, n_steps, kind, resume, path);
}

static void compare_resumed(enum optimizer_kind kind)
{
    char whole[512], half[512], rest[512];

    snprintf(whole, sizeof whole, "%s", test_path("whole.safetensors"));
    snprintf(half, sizeof half, "%s", test_path("half.safetensors"));
    snprintf(rest, sizeof rest, "%s", test_path("rest.safetensors"));
    train_to(11, kind, NULL, whole);
    train_to(5, kind, NULL, half);
    train_to(11, kind, half, rest);
    check_same_tensors(whole, rest);
}

TEST(a_resumed_training_makes_the_same_steps_bit_for_bit)
{
    compare_resumed(OPTIMIZER_SGD);
    compare_resumed(OPTIMIZER_ADAMW);
}

/* Half of the steps on each, in either order. */
static void compare_devices(enum optimizer_kind kind)
{
    struct far_device *far = far_device_new(NULL);
    const struct device *devices[] = {NULL, far_device(far)};
    char whole[512], half[512], rest[512];

    snprintf(whole, sizeof whole, "%s", test_path("here.safetensors"));
    snprintf(half, sizeof half, "%s", test_path("half.safetensors"));
    snprintf(rest, sizeof rest, "%s", test_path("rest.safetensors"));
    train_on(NULL, 10, kind, NULL, whole);
    for (int i = 0; i < 2; i++) {
        train_on(devices[i], 4, kind, NULL, half);
        train_on(devices[1 - i], 10, kind, half, rest);
        check_same_tensors(whole, rest);
    }
    far_device_free(far);
}

TEST(a_checkpoint_of_one_device_continues_on_another_bit_for_bit)
{
    compare_devices(OPTIMIZER_SGD);
    compare_devices(OPTIMIZER_ADAMW);
}

TEST(a_training_can_continue_in_the_file_it_came_from)
{
    char whole[512], parts[512];

    snprintf(whole, sizeof whole, "%s", test_path("one.safetensors"));
    snprintf(parts, sizeof parts, "%s", test_path("two.safetensors"));
    train_to(9, OPTIMIZER_SGD, NULL, whole);
    train_to(4, OPTIMIZER_SGD, NULL, parts);
    train_to(9, OPTIMIZER_SGD, parts, parts);
    check_same_tensors(whole, parts);
}

static void refuse_resume(const char *path, const char *words,
                          void (*change)(struct trainer_options *options))
{
    struct small_training training;
    struct error refused = {0};

    small_training_make(&training);
    training.options.resume = path;
    change(&training.options);
    CHECK(trainer_new(&training.options, &training.trainer, &refused) != 0);
    CHECK_HAS(refused.text, words);
    small_training_free(&training);
}

static void other_threads(struct trainer_options *options)
{
    options->n_threads = 2;
}

static void other_seed(struct trainer_options *options)
{
    options->seed = 4;
}

static void other_optimizer(struct trainer_options *options)
{
    options->optimizer = optimizer_defaults(OPTIMIZER_ADAMW);
}

static void other_model(struct trainer_options *options)
{
    CHECK_INT(graph_set_name(options->graph, "other", "Other", NULL), ASSAY_OK);
}

TEST(a_checkpoint_of_another_training_is_refused)
{
    char path[512];

    snprintf(path, sizeof path, "%s", test_path("mine.safetensors"));
    train_to(2, OPTIMIZER_SGD, NULL, path);
    refuse_resume(path, "made with 1 threads, not with 2", other_threads);
    refuse_resume(path, "made with seed 3", other_seed);
    refuse_resume(path, "trained with sgd, not with adamw", other_optimizer);
    refuse_resume(path, "checkpoint of small, not of other", other_model);
}

static void nothing(struct trainer_options *options)
{
    (void)options;
}

TEST(weights_that_are_not_a_training_checkpoint_are_refused)
{
    struct small_training training;
    struct train_report report;
    char path[512];

    snprintf(path, sizeof path, "%s", test_path("exported.pth"));
    small_training_make(&training);
    run_well(&training, &report);
    CHECK_STATUS(trainer_export(training.trainer, path, &err), ASSAY_OK, &err);
    small_training_free(&training);
    refuse_resume(path, "not the state of a training", nothing);
}

TEST(exported_weights_have_the_names_of_the_model)
{
    const char *path = test_path("weights.pth");
    struct small_training training;
    struct checkpoint *read = NULL;
    struct train_report report;
    struct tensor weight;
    size_t i = 0;

    small_training_make(&training);
    run_well(&training, &report);
    CHECK_STATUS(trainer_export(training.trainer, path, &err), ASSAY_OK, &err);
    CHECK_STATUS(checkpoint_open(path, &read, &err), ASSAY_OK, &err);
    CHECK_INT(checkpoint_count(read), 3);
    CHECK(checkpoint_find(read, "fc.running_mean", &i));
    CHECK(checkpoint_find(read, "fc.weight", &i));
    CHECK_INT(checkpoint_load(read, i, training.pool, &weight, &err), ASSAY_OK);
    CHECK(memcmp(tensor_data(&weight), small_training_weight(&training),
                 small_training_weight_bytes(&training)) == 0);
    tensor_release(&weight);
    checkpoint_free(read);
    small_training_free(&training);
}

/* ---- failures ----------------------------------------------------------- */

TEST(a_loss_that_is_not_finite_ends_with_the_step_before)
{
    char good[512], bad[512];
    struct small_training training;
    struct train_report report;
    struct error told = {0};

    snprintf(good, sizeof good, "%s", test_path("good.safetensors"));
    snprintf(bad, sizeof bad, "%s", test_path("bad.safetensors"));
    small_training_make(&training);
    training.options.checkpoint_path = good;
    training.options.n_steps = 3;
    run_well(&training, &report);
    small_training_free(&training);

    small_training_make(&training);
    training.options.checkpoint_path = bad;
    training.source.bad_at = 4;
    CHECK_INT(small_training_run(&training, &report, &told), ASSAY_BAD_INPUT);
    CHECK_HAS(told.text,
              "step 4: the loss is not finite, first in distance (Distance)");
    CHECK(report.has_checkpoint);
    CHECK_INT(report.last_step, 3);
    check_same_tensors(good, bad);
    small_training_free(&training);
}

/* A limit on the size of files stands in for a full disk. */
TEST(a_full_disk_leaves_the_previous_checkpoint)
{
    char path[512], want[512];
    struct small_training training;
    struct rlimit before, little;
    struct train_report report;
    struct error full = {0};

    snprintf(path, sizeof path, "%s", test_path("full.safetensors"));
    snprintf(want, sizeof want, "%s", test_path("want.safetensors"));
    train_to(2, OPTIMIZER_SGD, NULL, path);
    train_to(2, OPTIMIZER_SGD, NULL, want);
    CHECK_INT(getrlimit(RLIMIT_FSIZE, &before), 0);
    little = before;
    little.rlim_cur = 500;
    signal(SIGXFSZ, SIG_IGN);
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &little), 0);
    small_training_make(&training);
    training.options.checkpoint_path = path;
    training.options.checkpoint_every = 2;
    CHECK_INT(small_training_run(&training, &report, &full), ASSAY_IO);
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &before), 0);
    CHECK_HAS(full.text, "writing the checkpoint");
    CHECK_HAS(full.text, "full.safetensors");
    CHECK(!report.has_checkpoint);
    check_same_tensors(path, want);
    small_training_free(&training);
}

/* When a file was written; 0: it is not there. */
static int64_t written_ns(const char *path)
{
    struct stat info;

    return stat(path, &info) ? 0
                             : (int64_t)info.st_mtim.tv_sec * 1000000000 +
                                   info.st_mtim.tv_nsec;
}

/* Killed in the middle of writing, over and over: each one so long after its
 * first checkpoint. */
TEST(a_killed_training_leaves_a_complete_checkpoint)
{
    enum { times = 12 };
    char path[512];
    uint64_t most = 0;

    snprintf(path, sizeof path, "%s", test_path("killed.safetensors"));
    for (int i = 0; i < times; i++) {
        int64_t before_ns = written_ns(path);
        struct train_position position;
        pid_t child = fork();

        if (child == 0) {
            struct small_training training;
            struct train_report report;

            small_training_make(&training);
            training.options.checkpoint_path = path;
            training.options.checkpoint_every = 1;
            training.options.n_steps = 1000000;
            training.options.resume = access(path, R_OK) ? NULL : path;
            _exit(small_training_run(&training, &report, &err) ? 3 : 0);
        }
        CHECK(child > 0);
        while (written_ns(path) == before_ns) {
            CHECK_INT(waitpid(child, NULL, WNOHANG), 0); /* it goes on */
            usleep(1000);
        }
        usleep((useconds_t)(3571 * i));
        CHECK_INT(kill(child, SIGKILL), 0);
        CHECK_INT(waitpid(child, NULL, 0), child);
        CHECK_STATUS(train_checkpoint_look(path, &position, &err), ASSAY_OK,
                     &err);
        CHECK(position.step >= most);
        most = position.step;
        train_position_release(&position);
    }
    CHECK(most > 0);
    train_to(most + 3, OPTIMIZER_SGD, path, test_path("after.safetensors"));
}

TEST(nothing_leaks_whichever_allocation_fails)
{
    const char *path = test_path("leak.safetensors");
    enum assay_status st;
    long nth = 0;

    do {
        struct small_training training;
        long before = mem_live();

        small_training_make(&training);
        training.options.n_steps = 2;
        training.options.checkpoint_path = path;
        mem_fail_at(nth++);
        st = trainer_new(&training.options, &training.trainer, NULL);
        mem_fail_at(-1);
        small_training_free(&training);
        CHECK_INT(mem_live(), before);
    } while (st == ASSAY_NOMEM);
    CHECK_INT(st, ASSAY_OK);
    CHECK(nth > 10);
}

TEST(a_step_without_memory_leaves_the_steps_before_it)
{
    char path[512];

    snprintf(path, sizeof path, "%s", test_path("nomem.safetensors"));
    for (long nth = 0; nth < 400; nth += 7) {
        struct small_training training;
        struct train_position position;
        struct train_report report;
        struct error told = {0};
        enum assay_status st;

        unlink(path);
        small_training_make(&training);
        training.options.n_steps = 2;
        training.options.checkpoint_path = path;
        CHECK_STATUS(trainer_new(&training.options, &training.trainer, &told),
                     ASSAY_OK, &told);
        mem_fail_once_at(nth);
        st = trainer_run(training.trainer, &report, &told);
        mem_fail_at(-1);
        CHECK(st == ASSAY_OK || st == ASSAY_NOMEM);
        if (report.has_checkpoint) {
            CHECK_STATUS(train_checkpoint_look(path, &position, &err), ASSAY_OK,
                         &err);
            CHECK_INT(position.step, report.last_step);
            train_position_release(&position);
        }
        small_training_free(&training);
    }
}
