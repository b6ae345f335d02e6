/* Plug-ins: loaded, refused, and kept from doing harm. */
#include "test.h"

#include "small_model.h"

#include <math.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MISFIT TEST_BINARY_DIR "/tests/misfit_plugin/libmisfit_plugin.so"
#define OLD    TEST_BINARY_DIR "/tests/old_plugin/libold_plugin.so"

static struct assay_profiler *with_misfit(struct assay_model *model)
{
    const struct assay_profiler_options options = {.plugin_seconds = 0.3};
    struct assay_profiler *profiler = small_profiler(model, &options);
    struct assay_error error = {0};

    CHECK_STATUS(assay_profiler_load_plugin(profiler, MISFIT, 0, &error),
                 ASSAY_OK, &error);
    return profiler;
}

/* There is no value, for that reason; the profiler survives. */
static void check_reason(struct assay_profiler *profiler, const char *key,
                         const char *reason)
{
    const struct assay_result *result;
    struct assay_error error = {0};

    CHECK(assay_profiler_compute(profiler, key, 0, &result, &error) !=
          ASSAY_OK);
    CHECK(isnan(result->value));
    CHECK_STR(result->reason, reason);
    CHECK_STR(error.text, reason);
}

TEST(a_failure_in_a_plugin_costs_only_its_own_value)
{
    struct assay_model *model = small_model();
    struct assay_profiler *profiler = with_misfit(model);

    check_reason(profiler, "leaves",
                 "'leave' ended without a value (exit code 7)");
    check_reason(profiler, "hangs",
                 "'hang' returned no value within 0.3 s and was stopped");
    check_reason(profiler, "nan",
                 "'not_a_number' returned a value that is not a number");
    check_reason(profiler, "fails", "'fail': the moon is full");
    CHECK_INT(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
    assay_profiler_free(profiler);
    assay_model_free(model);
}

TEST(a_crash_is_reported_and_survived)
{
    struct assay_model *model = small_model();
    struct assay_profiler *profiler = with_misfit(model);
    const struct assay_result *result;
    struct assay_error error = {0};

    CHECK(assay_profiler_compute(profiler, "crashes", 0, &result, &error) !=
          ASSAY_OK);
    CHECK_STR(error.text, "'crash' crashed (Segmentation fault)");
    assay_profiler_free(profiler);
    assay_model_free(model);
}

/* Labels and widths are 0 to 12; the scores of a sample add up to 1. */
TEST(samples_reach_a_plugin_in_its_own_process)
{
    struct assay_model *model = small_model();
    struct assay_profiler *profiler = with_misfit(model);
    const struct assay_result *result;
    struct assay_error error = {0};
    static const struct {
        const char *key;
        double value;
    } wanted[] = {
        {"samples", 13}, {"labels", 78}, {"widths", 78}, {"outputs", 13}};

    assay_profiler_set_dataset(profiler, &small_dataset);
    CHECK_STATUS(assay_profiler_compute_all(profiler, 0, &error), ASSAY_OK,
                 &error);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        CHECK_STATUS(
            assay_profiler_compute(profiler, wanted[i].key, 0, &result, &error),
            ASSAY_OK, &error);
        CHECK_NEAR(result->value, wanted[i].value, 1e-5);
    }
    CHECK(assay_profiler_compute(profiler, "stumbles", 0, &result, &error) !=
          ASSAY_OK);
    CHECK_STR(error.text, "'stumble' crashed (Aborted)");
    assay_profiler_free(profiler);
    assay_model_free(model);
}

TEST(plugins_are_found_in_a_folder)
{
    struct assay_model *model = small_model();
    struct assay_profiler *profiler = small_profiler(model, NULL);
    struct assay_error error = {0};

    CHECK_STATUS(
        assay_profiler_load_plugin(
            profiler, TEST_BINARY_DIR "/tests/misfit_plugin", 0, &error),
        ASSAY_OK, &error);
    CHECK_INT(assay_profiler_count(profiler), 10);
    CHECK_INT(assay_profiler_load_plugin(profiler, TEST_SOURCE_DIR "/docs", 0,
                                         &error),
              ASSAY_NOT_FOUND);
    CHECK_HAS(error.text, "no plug-in (.so) in the folder");
    assay_profiler_free(profiler);
    assay_model_free(model);
}

TEST(what_is_not_a_plugin_of_this_api_is_refused_in_one_line)
{
    struct assay_model *model = small_model();
    struct assay_profiler *profiler = small_profiler(model, NULL);
    struct assay_error error = {0};

    CHECK_INT(assay_profiler_load_plugin(profiler, OLD, 0, &error),
              ASSAY_UNSUPPORTED);
    CHECK_HAS(error.text, "api_version 999, but this is 1");
    error = (struct assay_error){0};
    CHECK_INT(assay_profiler_load_plugin(
                  profiler, TEST_BINARY_DIR "/libassay.so", 0, &error),
              ASSAY_BAD_INPUT);
    CHECK_HAS(error.text, "not a metric plug-in");
    error = (struct assay_error){0};
    CHECK_INT(assay_profiler_load_plugin(profiler, TEST_SOURCE_DIR "/README.md",
                                         0, &error),
              ASSAY_BAD_INPUT);
    CHECK_HAS(error.text, "cannot load");
    error = (struct assay_error){0};
    CHECK_INT(assay_profiler_load_plugin(profiler, "nowhere.so", 0, &error),
              ASSAY_NOT_FOUND);
    CHECK_INT(assay_profiler_count(profiler), 0);
    assay_profiler_free(profiler);
    assay_model_free(model);
}

/* resnet18 for CIFAR-10: PyTorch initialises norms with 1 and 0, so that all
 * biases of norms (4800) are zero. */
TEST(the_example_counts_the_weights_that_are_zero)
{
    const struct assay_model_options options = {.variant = "cifar10"};
    const struct assay_result *result;
    struct assay_error error = {0};
    struct assay_model *model;
    struct assay_profiler *profiler;

    CHECK_STATUS(assay_model_load("resnet18", &options, &model, &error),
                 ASSAY_OK, &error);
    profiler = small_profiler(model, NULL);
    CHECK_STATUS(
        assay_profiler_load_plugin(
            profiler, TEST_BINARY_DIR "/examples/libsparsity.so", 0, &error),
        ASSAY_OK, &error);
    CHECK_STATUS(
        assay_profiler_compute(profiler, "sparsity", 0, &result, &error),
        ASSAY_OK, &error);
    CHECK_NEAR(result->value, 4800.0 / 11173962, 1e-9);
    CHECK_STATUS(assay_profiler_set(profiler, "threshold", "1e9", &error),
                 ASSAY_OK, &error);
    CHECK_STATUS(
        assay_profiler_compute(profiler, "sparsity", 0, &result, &error),
        ASSAY_OK, &error);
    CHECK_NEAR(result->shown, 100, 1e-9);
    CHECK_INT(assay_profiler_set(profiler, "threshold", "1e-3x", &error), 0);
    CHECK_INT(assay_profiler_compute(profiler, "sparsity", 1, &result, &error),
              ASSAY_BAD_USAGE);
    CHECK_HAS(result->reason, "'1e-3x'");
    assay_profiler_free(profiler);
    assay_model_free(model);
}
