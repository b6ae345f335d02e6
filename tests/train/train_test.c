/* train/train.h and train_internal.h. */
#include "train/train.h"

#include "base/cache.h"
#include "base/mem.h"
#include "formats/weights/published.h"
#include "store/store.h"
#include "test.h"
#include "train/train_internal.h"
#include "views/views.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct error err;

static void set(struct train_config *config, const char *name,
                const char *value)
{
    CHECK_STATUS(train_config_set(config, name, value, &err), ASSAY_OK, &err);
}

/* Four steps of a small classifier on synthetic images. */
static struct train_config small_config(void)
{
    struct train_config config = train_config_defaults();

    err = (struct error){0};
    set(&config, "model.name", "squeezenet1_1");
    set(&config, "model.weights", "random");
    set(&config, "dataset.kind", "synthetic");
    set(&config, "dataset.image_size", "32");
    set(&config, "training.steps", "4");
    set(&config, "training.num_workers", "1");
    set(&config, "training.threads", "1");
    set(&config, "profile.warmup_steps", "1");
    return config;
}

/* What a training reported. */
struct heard {
    int n_plans, n_steps;
    uint64_t planned_steps;
    char weights[256], renewed[64], dataset[64];
    double loss;
};

static void hear_plan(void *context, const struct train_plan *plan)
{
    struct heard *heard = context;

    CHECK_INT(heard->n_steps, 0);
    heard->n_plans++;
    heard->planned_steps = plan->n_steps;
    snprintf(heard->weights, sizeof heard->weights, "%s",
             str_text(&plan->weights));
    snprintf(heard->renewed, sizeof heard->renewed, "%s",
             str_text(&plan->renewed));
    snprintf(heard->dataset, sizeof heard->dataset, "%s",
             str_text(&plan->dataset));
}

static void hear_step(void *context, const struct train_step *step)
{
    struct heard *heard = context;

    heard->n_steps++;
    CHECK_INT(step->step, heard->n_steps);
    CHECK_INT(step->n_images, 2);
    heard->loss = step->loss;
}

static enum assay_status train(const struct train_config *config,
                               const char *export_path, struct heard *heard,
                               struct train_report *report)
{
    static char run[512], checkpoint[512];
    const struct train_job job = {.config = config,
                                  .run_path = run,
                                  .checkpoint_path = checkpoint,
                                  .export_path = export_path,
                                  .n_processors = 1,
                                  .planned = hear_plan,
                                  .stepped = hear_step,
                                  .context = heard};

    snprintf(run, sizeof run, "%s", test_path("run.assay"));
    snprintf(checkpoint, sizeof checkpoint, "%s", test_path("run.safetensors"));
    *heard = (struct heard){0};
    return train_run(&job, report, &err);
}

TEST(a_training_reports_its_plan_and_leaves_a_run_and_weights)
{
    struct train_config config = small_config();
    struct train_report report;
    struct heard heard;
    struct run *run;

    CHECK_STATUS(train(&config, test_path("w.pth"), &heard, &report), ASSAY_OK,
                 &err);
    CHECK_INT(heard.n_plans, 1);
    CHECK_INT(heard.planned_steps, 4);
    CHECK_STR(heard.weights, "random (seed 0)");
    CHECK_STR(heard.dataset, "synthetic");
    CHECK_INT(heard.n_steps, 4);
    CHECK_INT(report.n_steps, 4);
    CHECK_NEAR(report.last_loss, heard.loss, 0);
    CHECK(report.has_checkpoint);
    CHECK_INT(access(test_path("w.pth"), R_OK), 0);

    CHECK_STATUS(store_load(test_path("run.assay"), &run, &err), ASSAY_OK,
                 &err);
    CHECK_INT(run_iteration_count(run), 3);
    CHECK_STR(run_fact(run, "model.weights"), "random (seed 0)");
    CHECK_STR(run_fact(run, "input.note"), "1000 images of synthetic");
    CHECK_STR(run_fact(run, "loader.workers"), "1");
    CHECK_STR(run_fact(run, "config.training.steps"), "4");
    CHECK_STR(run_fact(run, "config.dataset.kind"), "\"synthetic\"");
    CHECK(!run_fact(run, "config.model.num_classes"));
    run_free(run);
    train_config_release(&config);
}

TEST(a_training_that_is_all_warm_up_has_one_measured_step)
{
    struct train_config config = small_config();
    struct train_report report;
    struct heard heard;
    struct run *run;

    set(&config, "training.steps", "2");
    set(&config, "profile.warmup_steps", "100");
    CHECK_STATUS(train(&config, NULL, &heard, &report), ASSAY_OK, &err);
    CHECK_STATUS(store_load(test_path("run.assay"), &run, &err), ASSAY_OK,
                 &err);
    CHECK_INT(run_iteration_count(run), 1);
    run_free(run);
    train_config_release(&config);
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;

    while ((text = strstr(text, part))) {
        text += strlen(part);
        n++;
    }
    return n;
}

static bool is_backward(const struct run *run, uint32_t scope)
{
    while (scope != RUN_ROOT && run_scope(run, scope)->parent != RUN_ROOT)
        scope = run_scope(run, scope)->parent;
    return strcmp(run_scope(run, scope)->name, "backward") == 0;
}

/* Spans in the backward pass of a step, the same in every step. */
static size_t spans_of_step(const struct run *run)
{
    size_t n = 0;

    for (size_t i = 0; i < run_cell_count(run); i++) {
        if (is_backward(run, run_cell(run, i)->scope))
            n += run_cell(run, i)->calls.n;
    }
    return n / run_iteration_count(run);
}

TEST(a_trace_has_as_many_full_steps_as_were_asked_for)
{
    struct train_config config = small_config();
    struct train_report report;
    struct str trace = {0};
    struct sink sink = sink_to_str(&trace);
    size_t in_step[3] = {0};
    struct heard heard;
    struct run *run;

    set(&config, "training.steps", "9");
    set(&config, "profile.full_steps", "3");
    CHECK_STATUS(train(&config, NULL, &heard, &report), ASSAY_OK, &err);
    CHECK_STATUS(store_load(test_path("run.assay"), &run, &err), ASSAY_OK,
                 &err);
    CHECK_INT(run_iteration_count(run), 8);
    for (size_t i = 0; i < run_kept_count(run); i++) {
        const struct sample *sample = run_kept(run, i);

        if (sample->iteration == RUN_NONE)
            continue;
        CHECK(sample->iteration < 3);
        in_step[sample->iteration] += is_backward(run, sample->scope);
    }
    CHECK(spans_of_step(run) > 20);
    for (int i = 0; i < 3; i++)
        CHECK_INT(in_step[i], spans_of_step(run));

    CHECK_STATUS(view_trace(run, &sink, &err), ASSAY_OK, &err);
    CHECK_INT(count(str_text(&trace), "\"name\": \"forward\""), 3);
    CHECK_INT(count(str_text(&trace), "\"name\": \"backward\""), 3);
    str_release(&trace);
    run_free(run);
    train_config_release(&config);
}

TEST(pictures_of_a_detector_are_drawn_and_counted)
{
    struct train_config config = small_config();
    struct train_report report = {0};
    char folder[512], picture[600];
    const struct train_job job = {
        .config = &config, .n_processors = 1, .pictures_folder = folder};

    snprintf(folder, sizeof folder, "%s", test_path("drawn"));
    snprintf(picture, sizeof picture, "%s/synthetic image 3_targets.jpg",
             folder);
    set(&config, "model.name", "fasterrcnn_resnet18_fpn");
    set(&config, "dataset.image_size", "64");
    set(&config, "training.steps", "1");
    CHECK_STATUS(train_run(&job, &report, &err), ASSAY_OK, &err);
    CHECK_INT(report.n_pictures, 4);
    CHECK_INT(access(picture, R_OK), 0);

    set(&config, "model.name", "squeezenet1_1");
    CHECK_STATUS(train_run(&job, &report, &err), ASSAY_OK, &err);
    CHECK_INT(report.n_pictures, 0);
    train_config_release(&config);
}

static void count_picture(void *context, uint64_t step)
{
    (void)step;
    ++*(int *)context;
}

/* The peak of a training, in the middle of which pictures may be drawn. */
static int64_t peak_of(const struct train_config *config, bool draws)
{
    struct train_report report = {0};
    char folder[512], run_path[512], checkpoint[512];
    int n_drawn = 0;
    struct run *run = NULL;
    const struct train_job job = {
        .config = config,
        .n_processors = 1,
        .run_path = run_path,
        .checkpoint_path = checkpoint,
        .pictures_folder = draws ? folder : NULL,
        .pictured = count_picture,
        .context = &n_drawn,
        .run = &run,
    };
    int64_t peak;

    snprintf(folder, sizeof folder, "%s", test_path("drawn"));
    snprintf(run_path, sizeof run_path, "%s", test_path("run.assay"));
    snprintf(checkpoint, sizeof checkpoint, "%s", test_path("c.safetensors"));
    CHECK_STATUS(train_run(&job, &report, &err), ASSAY_OK, &err);
    CHECK_INT(n_drawn, draws ? 2 : 0);
    peak = run_memory(run)->peak_bytes;
    run_free(run);
    return peak;
}

TEST(pictures_are_not_in_the_memory_of_a_training)
{
    /* Kernels may differ from one training to the next; the second copy of the
     * model has more than 100 MB. */
    enum { most_difference = 50000000 };
    struct train_config config = small_config();

    set(&config, "model.name", "fasterrcnn_resnet18_fpn");
    set(&config, "dataset.image_size", "64");
    set(&config, "training.steps", "3");
    set(&config, "training.num_workers", "0");
    set(&config, "training.checkpoint_every", "1");
    CHECK(peak_of(&config, true) < peak_of(&config, false) + most_difference);
    train_config_release(&config);
}

TEST(weights_for_other_classes_are_used_up_to_the_last_layer)
{
    struct train_config config = small_config();
    struct train_report report;
    struct heard heard;
    char weights[512];

    set(&config, "training.steps", "1");
    snprintf(weights, sizeof weights, "%s", test_path("three.pth"));
    CHECK_STATUS(train(&config, weights, &heard, &report), ASSAY_OK, &err);
    set(&config, "model.weights", weights);
    set(&config, "model.num_classes", "5");
    CHECK_STATUS(train(&config, NULL, &heard, &report), ASSAY_OK, &err);
    CHECK_STR(heard.weights, weights);
    CHECK_STR(heard.renewed, "classifier.1");
    train_config_release(&config);
}

/* A network with one convolution, for images of 16x16 and 5 classes. */
static const char small_net[] =
    "assay-net 1\nmodel tiny Net\nmodule conv Conv2d\nmodule bn BatchNorm2d\n"
    "module pool AdaptiveAvgPool2d\nmodule fc Linear\n"
    "input images float32 ?x3x16x16\n"
    "parameter conv.weight float32 4x3x3x3 normal 0.2\n"
    "parameter bn.weight float32 4 one\nparameter bn.bias float32 4 zero\n"
    "buffer bn.running_mean float32 4 zero\n"
    "buffer bn.running_var float32 4 one\n"
    "parameter fc.weight float32 5x4 uniform 0.5\n"
    "parameter fc.bias float32 5 zero\n"
    "%0 = Conv2d(images, conv.weight, -, -) in conv stride=2,2 dilation=1,1 "
    "groups=1\n"
    "%1 = BatchNorm(%0, bn.weight, bn.bias, bn.running_mean, bn.running_var) "
    "in bn eps=1e-05\n"
    "%2 = AdaptiveAvgPool2d(%1) in pool size=1,1\n%3 = Flatten(%2) as flatten\n"
    "%4 = Linear(%3, fc.weight, fc.bias) in fc\noutput logits %4\n";

static struct train_config file_config(const char *text)
{
    struct train_config config = small_config();
    FILE *file = fopen(test_path("small.net"), "w");

    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
    set(&config, "model.name", test_path("small.net"));
    set(&config, "model.weights", "auto");
    config.dataset.image_size = train_config_defaults().dataset.image_size;
    CHECK_STATUS(train_config_check(&config, &err), ASSAY_OK, &err);
    return config;
}

TEST(a_network_from_a_file_is_trained_and_its_weights_reload)
{
    struct train_config config = file_config(small_net);
    struct train_report report;
    struct heard heard;
    char weights[512];

    snprintf(weights, sizeof weights, "%s", test_path("net.pth"));
    CHECK_STATUS(train(&config, weights, &heard, &report), ASSAY_OK, &err);
    CHECK_STR(heard.weights, "random (seed 0)");
    CHECK_INT(heard.n_steps, 4);
    set(&config, "model.weights", weights);
    CHECK_STATUS(train(&config, NULL, &heard, &report), ASSAY_OK, &err);
    CHECK_STR(heard.weights, weights);
    CHECK_STR(heard.renewed, "");
    train_config_release(&config);
}

static void check_untrained(const char *text, const char *name,
                            const char *value, const char *part)
{
    struct train_config config = file_config(text);
    struct train_report report;
    struct heard heard;

    set(&config, name, value);
    CHECK(train(&config, NULL, &heard, &report) != ASSAY_OK);
    CHECK_HAS(err.text, part);
    CHECK_INT(heard.n_plans, 0);
    train_config_release(&config);
}

TEST(a_network_from_a_file_that_cannot_be_trained_says_why)
{
    static const char head[] = "assay-net 1\nmodel tiny Net\n"
                               "input images float32 ?x3x16x16\n"
                               "%0 = ReLU(images) as relu\noutput y %0\n";
    struct train_config config = small_config();

    check_untrained(small_net, "dataset.image_size", "32",
                    "small.net have 16 pixels");
    check_untrained(small_net, "model.num_classes", "6",
                    "small.net has 5 classes, and the dataset has 6");
    check_untrained(head, "training.steps", "1",
                    "its first output is not one score per class");
    err = (struct error){0};
    set(&config, "model.name", "none.onnx");
    CHECK_INT(train_config_check(&config, &err), ASSAY_BAD_USAGE);
    CHECK_HAS(err.text, "there is no such file");
    train_config_release(&config);
}

TEST(a_missing_file_of_weights_is_named)
{
    struct train_config config = small_config();
    struct train_report report;
    struct heard heard;

    set(&config, "model.weights", "none.pth");
    CHECK_INT(train(&config, NULL, &heard, &report), ASSAY_NOT_FOUND);
    CHECK_HAS(err.text, "none.pth");
    CHECK_INT(heard.n_plans, 0);
    train_config_release(&config);
}

TEST(a_missing_dataset_is_reported_with_how_to_get_it)
{
    struct train_config config = train_config_defaults();
    struct train_report report;
    struct heard heard;

    err = (struct error){0};
    set(&config, "model.weights", "random");
    set(&config, "dataset.root", "none");
    CHECK_INT(train(&config, NULL, &heard, &report), ASSAY_NOT_FOUND);
    CHECK_STR(err.text,
              "there is no dataset in none; 'assay data fetch oxford-iiit-pet' "
              "downloads it, --synthetic trains without one");
    train_config_release(&config);
}

TEST(fewer_images_than_a_batch_are_refused)
{
    struct train_config config = small_config();
    struct train_report report;
    struct heard heard;

    set(&config, "model.name", "fasterrcnn_resnet50_fpn");
    set(&config, "dataset.limit", "3");
    set(&config, "training.batch_size", "4");
    CHECK_INT(train(&config, NULL, &heard, &report), ASSAY_BAD_USAGE);
    CHECK_STR(err.text, "3 images do not make one batch of 4");
    train_config_release(&config);
}

TEST(a_wrong_number_of_classes_names_the_setting)
{
    static const char text[] = "[model]\nname = \"resnet18\"\n"
                               "num_classes = 11\n"
                               "[dataset]\nkind = \"cifar10\"\n";
    struct train_config config;
    struct train_report report;
    struct heard heard;
    char root[512];
    FILE *file;

    err = (struct error){0};
    CHECK_STATUS(
        train_config_read_text(text, strlen(text), "c.toml", &config, &err),
        ASSAY_OK, &err);
    for (char i = '1'; i <= '5'; i++) {
        char name[] = "data_batch_N.bin";
        static const char sample[1 + 3 * 32 * 32];

        *strchr(name, 'N') = i;
        file = fopen(test_path(name), "wb");
        CHECK_INT(fwrite(sample, 1, sizeof sample, file), sizeof sample);
        CHECK_INT(fclose(file), 0);
    }
    file = fopen(test_path("batches.meta.txt"), "w");
    CHECK(fputs("a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n", file) >= 0);
    CHECK_INT(fclose(file), 0);
    snprintf(root, sizeof root, "%s", test_path("."));
    set(&config, "dataset.root", root);
    CHECK_INT(train(&config, NULL, &heard, &report), ASSAY_BAD_INPUT);
    CHECK_STR(err.text, "c.toml: line 3: num_classes does not fit: the model "
                        "has 11 classes, and the dataset 10: num_classes = 10 "
                        "would fit");
    train_config_release(&config);
}

/* ---- the plan ---------------------------------------------------------- */

/* An empty cache, then one with a file at the place of the published
 * weights. */
static void use_cache(const char *model, bool has_weights)
{
    struct str path = {0};
    bool is_there;
    FILE *file;

    CHECK_INT(setenv("XDG_CACHE_HOME", test_path("cache"), 1), 0);
    CHECK_STATUS(published_path(published_find(model), &path, &is_there, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(cache_make_folders(path.text, &err), ASSAY_OK, &err);
    if (has_weights) {
        file = fopen(path.text, "wb");
        CHECK(file && fclose(file) == 0);
    } else {
        remove(path.text);
    }
    str_release(&path);
}

static struct train_plan plan_model(const struct train_config *config,
                                    struct str *path)
{
    struct train_plan plan = {.model = model_full_name(config->model.name),
                              .task = model_task(config->model.name)};

    CHECK_STATUS(train_model_plan(config, 38, &plan, path, &err), ASSAY_OK,
                 &err);
    str_release(&plan.weights);
    return plan;
}

TEST(training_starts_from_published_weights_if_they_are_cached)
{
    static const char model[] = "fasterrcnn_resnet50_fpn";
    struct train_config config = train_config_defaults();
    struct train_plan plan;
    struct str path = {0};

    err = (struct error){0};
    use_cache(model, true);
    plan = plan_model(&config, &path);
    CHECK_HAS(str_text(&path), published_find(model)->file);
    CHECK_INT(plan.build.norm, NORM_FROZEN);
    CHECK_INT(plan.build.n_classes, 38);
    CHECK_INT(plan.build.n_images, 2);
    CHECK(plan.build.is_training);
    str_clear(&path);

    set(&config, "model.norm", "batch");
    CHECK_INT(plan_model(&config, &path).build.norm, NORM_BATCH);
    str_clear(&path);
    set(&config, "model.weights", "random");
    plan_model(&config, &path);
    CHECK_STR(str_text(&path), "");
    str_release(&path);
    train_config_release(&config);
}

TEST(otherwise_a_detector_learns_everything_from_random_weights)
{
    struct train_config config = train_config_defaults();
    struct train_plan plan;
    struct str path = {0};

    err = (struct error){0};
    use_cache("fasterrcnn_resnet50_fpn", false);
    plan = plan_model(&config, &path);
    CHECK_STR(str_text(&path), "");
    CHECK_INT(plan.build.norm, NORM_BATCH);
    CHECK_INT(plan.build.min_size, 800);
    set(&config, "dataset.image_size", "128");
    CHECK_INT(plan_model(&config, &path).build.min_size, 128);
    str_release(&path);
    train_config_release(&config);
}

TEST(coco_uses_all_its_numbers_as_classes_and_pets_add_a_background)
{
    struct train_config config = train_config_defaults();
    struct train_plan plan = {.model = "fasterrcnn_resnet50_fpn",
                              .task = TASK_DETECTION};
    struct train_data data = {0};

    err = (struct error){0};
    set(&config, "dataset.kind", "synthetic");
    CHECK_STATUS(train_data_open(&data, &config, &plan, &err), ASSAY_OK, &err);
    CHECK_INT(train_data_classes(&data, &config, &plan), 4);
    plan.model = "resnet18";
    plan.task = TASK_CLASSIFICATION;
    CHECK_INT(train_data_classes(&data, &config, &plan), 3);
    config.dataset.kind = TRAIN_COCO;
    CHECK_INT(train_data_classes(&data, &config, &plan), 91);
    config.model.num_classes = 7;
    CHECK_INT(train_data_classes(&data, &config, &plan), 7);
    train_data_close(&data);
    str_release(&plan.dataset);
    train_config_release(&config);
}
