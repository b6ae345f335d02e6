/* Models of the public interface: their properties, and what they compute. */
#include "test.h"

#include <assay/profiler.h>
#include <math.h>
#include <string.h>

static struct assay_model *load(const char *name,
                                const struct assay_model_options *options)
{
    struct assay_error error = {0};
    struct assay_model *model;

    CHECK_STATUS(assay_model_load(name, options, &model, &error), ASSAY_OK,
                 &error);
    return model;
}

static double value_of(struct assay_model *model, const char *key,
                       const char *unit)
{
    const struct assay_result *result;
    struct assay_profiler *profiler;
    struct assay_error error = {0};
    double shown;

    CHECK_STATUS(assay_profiler_new(model, NULL, &profiler, &error), ASSAY_OK,
                 &error);
    CHECK_STATUS(assay_profiler_register_standard(profiler, &error), ASSAY_OK,
                 &error);
    CHECK_STATUS(assay_profiler_compute(profiler, key, 0, &result, &error),
                 ASSAY_OK, &error);
    CHECK_STR(result->unit->name, unit);
    shown = result->shown;
    assay_profiler_free(profiler);
    return shown;
}

/* The well-known table: kuangliu's ResNet-18 on CIFAR-100. */
TEST(resnet18_for_cifar100_has_the_known_metrics)
{
    const struct assay_model_options options = {.variant = "cifar100",
                                                .has_no_weights = 1};
    struct assay_model *model = load("resnet18", &options);

    CHECK_NEAR(value_of(model, "total_params", "Millions"), 11.2201, 5e-5);
    CHECK_NEAR(value_of(model, "params_and_buffers", "Millions"), 11.229732,
               5e-7); /* and 2 x 4800 running statistics */
    CHECK_NEAR(value_of(model, "model_size", "MiB"), 42.8014, 5e-5);
    CHECK_NEAR(value_of(model, "complexity", "GigaMACs"), 0.5567, 5e-5);
    CHECK_NEAR(value_of(model, "complexity_products", "GigaMACs"), 0.5555,
               5e-5);
    CHECK_NEAR(value_of(model, "memory_footprint", "MiB"), 48.4389, 5e-5);
    assay_model_free(model);
}

/* Keras says so itself: models.json, of which 1,472 are not trained. */
TEST(a_keras_file_has_the_parameters_that_keras_counts)
{
    const char *path =
        test_shared("models/keras/fer2013_mini_XCEPTION.102-0.66.hdf5");
    const struct assay_model_options options = {.has_no_weights = 1};
    struct assay_model *model;

    if (!path)
        SKIP("../shared/data/models/keras is missing");
    model = load(path, &options);
    CHECK_NEAR(value_of(model, "total_params", "Thousands"), 56.951, 1e-9);
    CHECK_NEAR(value_of(model, "params_and_buffers", "Thousands"), 58.423,
               1e-9);
    assay_model_free(model);
}

/* A batch has more values, but as many multiply-adds per image. */
TEST(a_batch_only_makes_the_footprint_larger)
{
    const struct assay_model_options options = {
        .variant = "cifar100", .batch = 4, .has_no_weights = 1};
    struct assay_model *model = load("resnet18", &options);

    CHECK_NEAR(value_of(model, "model_size", "MiB"), 42.8014, 5e-5);
    CHECK_NEAR(value_of(model, "complexity", "GigaMACs"), 0.5567, 5e-5);
    CHECK_NEAR(value_of(model, "memory_footprint", "MiB"),
               42.80140 + 4 * (48.438889 - 42.80140), 1e-3);
    assay_model_free(model);
}
