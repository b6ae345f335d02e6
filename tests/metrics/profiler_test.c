/* Metrics of a model: computed, kept, refused, compared. */
#include "test.h"

#include "base/mem.h"
#include "base/str.h"
#include "small_model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A function that counts its calls and remembers its input. */
struct witness {
    int n_calls, n_samples;
    struct assay_metric_input seen; /* evaluated: until the call returns */
    uint64_t n_evaluated;
    char argument[32];
    double first_score;
};

static enum assay_status compute(void *context,
                                 const struct assay_metric_input *input,
                                 double *values, struct assay_error *error)
{
    struct witness *witness = context;

    (void)error;
    witness->seen = *input;
    if (input->evaluated)
        witness->n_evaluated = input->evaluated->n;
    snprintf(witness->argument, sizeof witness->argument, "%s",
             input->arguments[0] ? input->arguments[0] : "");
    values[0] = ++witness->n_calls;
    values[1] = witness->n_samples;
    return ASSAY_OK;
}

static enum assay_status sample(void *context, const struct assay_sample *seen,
                                struct assay_error *error)
{
    struct witness *witness = context;

    (void)error;
    witness->n_samples++;
    witness->first_score = (double)((const float *)seen->outputs[0].data)[0];
    CHECK_INT(seen->outputs[0].n_elements, 20);
    CHECK_INT(seen->outputs[0].dims[0], 1);
    return ASSAY_OK;
}

static const struct assay_metric metrics[] = {
    {"calls", "Calls", "how often", NULL, ASSAY_COMPARE_DIFFERENCE},
    {"samples", "Samples", "how many", NULL, ASSAY_COMPARE_NONE}};

static struct assay_metric_function watched(struct witness *witness,
                                            unsigned needs)
{
    return (struct assay_metric_function){
        .name = "watched",
        .metrics = metrics,
        .n_metrics = 2,
        .needs = needs,
        .context = witness,
        .sample = sample,
        .compute = compute,
    };
}

static void add(struct assay_profiler *profiler,
                const struct assay_metric_function *function)
{
    struct assay_error error = {0};

    CHECK_STATUS(assay_profiler_register(profiler, function, 0, &error),
                 ASSAY_OK, &error);
}

static const struct assay_result *get(struct assay_profiler *profiler,
                                      const char *key, int recompute)
{
    const struct assay_result *result;
    struct assay_error error = {0};

    CHECK_STATUS(
        assay_profiler_compute(profiler, key, recompute, &result, &error),
        ASSAY_OK, &error);
    return result;
}

TEST(values_are_kept_until_recomputation_is_asked_for)
{
    struct assay_model *model = small_model();
    struct assay_profiler *profiler = small_profiler(model, NULL);
    struct witness witness = {0};
    struct assay_metric_function function = watched(&witness, 0);

    add(profiler, &function);
    CHECK_NEAR(get(profiler, "calls", 0)->value, 1, 0);
    CHECK_NEAR(get(profiler, "calls", 0)->value, 1, 0);
    CHECK_NEAR(get(profiler, "samples", 0)->value, 0, 0);
    CHECK_INT(witness.n_calls, 1);
    CHECK_NEAR(get(profiler, "calls", 1)->value, 2, 0);
    CHECK_STATUS(assay_profiler_compute_all(profiler, 0, NULL), ASSAY_OK,
                 &(struct assay_error){0});
    CHECK_INT(witness.n_calls, 2);
    assay_profiler_free(profiler);
    assay_model_free(model);
}

TEST(a_function_receives_only_what_it_asks_for)
{
    struct assay_model *model = small_model();
    struct assay_profiler_options options = {.iterations = 2};
    struct assay_profiler *profiler = small_profiler(model, &options);
    struct witness witness = {0};
    struct assay_metric_function graph = watched(&witness, 0);
    struct assay_metric_function run = watched(&witness, ASSAY_NEEDS_RUN);

    add(profiler, &graph);
    get(profiler, "calls", 0);
    CHECK(!witness.seen.measured && !witness.seen.evaluated);
    CHECK(isnan(witness.seen.layers[0].mean_ns));
    add(profiler, &run);
    get(profiler, "calls", 0);
    CHECK_INT(witness.seen.measured->images, 10);
    CHECK(witness.seen.measured->median_ns > 0);
    CHECK(witness.seen.layers[0].mean_ns > 0);
    CHECK(!witness.seen.evaluated);
    assay_profiler_free(profiler);
    assay_model_free(model);
}

TEST(weights_have_data_only_for_functions_that_need_them)
{
    const struct assay_model_options options = {.variant = "cifar10"};
    struct assay_error error = {0};
    struct assay_model *model;
    struct assay_profiler *profiler;
    struct witness witness = {0};
    struct assay_metric_function bare = watched(&witness, 0);
    struct assay_metric_function full = watched(&witness, ASSAY_NEEDS_WEIGHTS);

    CHECK_STATUS(assay_model_load("resnet18", &options, &model, &error),
                 ASSAY_OK, &error);
    profiler = small_profiler(model, NULL);
    add(profiler, &full);
    get(profiler, "calls", 0);
    CHECK_STR(witness.seen.parameters[0].name, "conv1.weight");
    CHECK_INT(witness.seen.parameters[0].tensor.n_elements, 64 * 3 * 3 * 3);
    CHECK(witness.seen.parameters[0].tensor.data);
    add(profiler, &bare);
    get(profiler, "calls", 0);
    CHECK(!witness.seen.parameters[0].tensor.data);
    assay_profiler_free(profiler);
    assay_model_free(model);
}

TEST(a_function_whose_needs_are_not_met_is_refused_with_the_reason)
{
    static const struct assay_argument arguments[] = {
        {"teacher", NULL, "a file"}};
    const struct assay_model_options options = {.has_no_weights = 1};
    struct assay_error error = {0};
    const struct assay_result *result;
    struct assay_model *model;
    struct assay_profiler *profiler;
    struct witness witness = {0};
    struct assay_metric_function dataset =
        watched(&witness, ASSAY_NEEDS_DATASET);
    struct assay_metric_function run = watched(&witness, ASSAY_NEEDS_RUN);
    struct assay_metric_function taught = watched(&witness, 0);

    CHECK_STATUS(assay_model_load("alexnet", &options, &model, &error),
                 ASSAY_OK, &error);
    profiler = small_profiler(model, NULL);
    add(profiler, &dataset);
    CHECK_INT(assay_profiler_compute(profiler, "calls", 0, &result, &error),
              ASSAY_BAD_USAGE);
    CHECK_HAS(error.text, "no dataset was given");
    CHECK(isnan(result->value));
    add(profiler, &run);
    CHECK_INT(assay_profiler_compute(profiler, "calls", 0, &result, &error),
              ASSAY_BAD_USAGE);
    CHECK_HAS(error.text, "without weights");
    taught.arguments = arguments;
    taught.n_arguments = 1;
    add(profiler, &taught);
    CHECK_INT(assay_profiler_compute(profiler, "calls", 0, &result, &error),
              ASSAY_BAD_USAGE);
    CHECK_HAS(error.text, "needs the argument 'teacher'");
    CHECK_INT(witness.n_calls, 0);
    CHECK_STATUS(assay_profiler_set(profiler, "teacher", "t.onnx", &error),
                 ASSAY_OK, &error);
    get(profiler, "calls", 0);
    CHECK_STR(witness.argument, "t.onnx");
    assay_profiler_free(profiler);
    assay_model_free(model);
}

TEST(an_unknown_argument_is_refused_with_a_list_of_valid_ones)
{
    static const struct assay_argument arguments[] = {
        {"threshold", "0.5", "a number"}, {"teacher", "", "a model"}};
    struct assay_model *model = small_model();
    struct assay_profiler *profiler = small_profiler(model, NULL);
    struct assay_error error = {0};
    struct witness witness = {0};
    struct assay_metric_function function = watched(&witness, 0);
    struct assay_metric_function other = watched(&witness, 0);

    CHECK_INT(assay_profiler_set(profiler, "bogus", "1", &error),
              ASSAY_BAD_USAGE);
    CHECK_HAS(error.text, "no metric takes 'bogus' or any other argument");
    function.arguments = arguments;
    function.n_arguments = 2;
    add(profiler, &function);
    other.arguments = arguments;
    other.n_arguments = 1;
    add(profiler, &other);
    CHECK_INT(assay_profiler_set(profiler, "bogus", "1", &error),
              ASSAY_BAD_USAGE);
    CHECK_STR(error.text, "no metric takes 'bogus'; valid arguments: "
                          "threshold, teacher");
    CHECK_INT(assay_profiler_set(profiler, "treshold", "1", &error),
              ASSAY_BAD_USAGE);
    CHECK_HAS(error.text, "did you mean 'threshold'?");
    CHECK_STATUS(assay_profiler_set(profiler, "threshold", "1", &error),
                 ASSAY_OK, &error);
    assay_profiler_free(profiler);
    assay_model_free(model);
}

TEST(an_argument_has_its_default_and_the_profiler_adds_its_own)
{
    static const struct assay_argument arguments[] = {
        {"batch", NULL, "images"},
        {"threshold", "0.5", "a number"},
        {"split", NULL, "of the dataset"}};
    struct assay_model *model = small_model();
    struct assay_profiler *profiler = small_profiler(model, NULL);
    struct witness witness = {0};
    struct assay_metric_function function = watched(&witness, 0);

    function.arguments = &arguments[1];
    function.n_arguments = 1;
    add(profiler, &function);
    get(profiler, "calls", 0);
    CHECK_STR(witness.argument, "0.5");
    function.arguments = arguments;
    get(profiler, "calls", 1);
    CHECK_STR(witness.argument, "10");
    function.arguments = &arguments[2];
    assay_profiler_set_dataset(profiler, &small_dataset);
    get(profiler, "calls", 0);
    CHECK_STR(witness.argument, "test");
    assay_profiler_free(profiler);
    assay_model_free(model);
}

TEST(an_unknown_key_is_not_found)
{
    struct assay_model *model = small_model();
    struct assay_profiler *profiler = small_profiler(model, NULL);
    const struct assay_result *result;
    struct assay_error error = {0};

    CHECK_INT(assay_profiler_compute(profiler, "weight", 0, &result, &error),
              ASSAY_NOT_FOUND);
    CHECK(result == NULL);
    CHECK_STR(error.text, "no metric 'weight'");
    assay_profiler_free(profiler);
    assay_model_free(model);
}

/* 13 samples in batches of 10: the second is not full. */
TEST(an_evaluation_counts_every_sample_once)
{
    struct assay_model *model = small_model();
    struct assay_profiler *profiler = small_profiler(model, NULL);
    struct witness witness = {0};
    struct assay_metric_function function =
        watched(&witness, ASSAY_NEEDS_DATASET);

    CHECK_STATUS(assay_profiler_register_standard(profiler, NULL), ASSAY_OK,
                 &(struct assay_error){0});
    add(profiler, &function);
    assay_profiler_set_dataset(profiler, &small_dataset);
    CHECK_STATUS(assay_profiler_compute_all(profiler, 0, NULL), ASSAY_OK,
                 &(struct assay_error){0});
    CHECK_INT(witness.n_samples, 13);
    CHECK_INT(witness.n_evaluated, 13);
    CHECK_NEAR(get(profiler, "eval_metric", 0)->value, 7.0 / 13, 1e-12);
    CHECK_NEAR(get(profiler, "eval_metric", 0)->shown, 700.0 / 13, 1e-9);
    CHECK_NEAR(get(profiler, "eval_top5", 0)->value, 11.0 / 13, 1e-12);
    CHECK_NEAR(get(profiler, "eval_missed", 0)->value, 6.0 / 13, 1e-12);
    CHECK(get(profiler, "inference_time", 0)->value > 0);
    CHECK_INT(witness.n_samples, 13);
    assay_profiler_free(profiler);
    assay_model_free(model);
}

static enum assay_status cannot_read(void *context, size_t i,
                                     struct assay_tensor *inputs, size_t at,
                                     struct assay_target *target,
                                     struct assay_error *error)
{
    (void)context, (void)i, (void)inputs, (void)at, (void)target;
    snprintf(error->text, sizeof error->text, "3.jpg is cut off");
    return ASSAY_BAD_INPUT;
}

TEST(a_sample_that_cannot_be_read_spares_the_other_metrics)
{
    const struct assay_dataset dataset = {
        .name = "cut", .n = 4, .read = cannot_read};
    struct assay_model *model = small_model();
    struct assay_profiler *profiler = small_profiler(model, NULL);
    const struct assay_result *result;
    struct assay_error error = {0};

    CHECK_STATUS(assay_profiler_register_standard(profiler, &error), ASSAY_OK,
                 &error);
    assay_profiler_set_dataset(profiler, &dataset);
    CHECK_INT(
        assay_profiler_compute(profiler, "eval_metric", 0, &result, &error),
        ASSAY_BAD_INPUT);
    CHECK_STR(error.text, "sample 0 of cut: 3.jpg is cut off");
    CHECK_NEAR(get(profiler, "total_params", 0)->value, 0, 0);
    assay_profiler_free(profiler);
    assay_model_free(model);
}

TEST(two_models_are_compared_as_each_metric_says)
{
    const struct assay_model_options options = {.has_no_weights = 1};
    struct assay_model *models[2];
    struct assay_profiler *profilers[2];
    struct assay_enhancement found;
    struct assay_error error = {0};

    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(assay_model_load(i ? "squeezenet1_1" : "alexnet", &options,
                                      &models[i], &error),
                     ASSAY_OK, &error);
        profilers[i] = small_profiler(models[i], NULL);
        CHECK_STATUS(assay_profiler_register_standard(profilers[i], &error),
                     ASSAY_OK, &error);
    }
    /* torchvision: 61 100 840 and 1 235 496 parameters. */
    CHECK_STATUS(assay_profiler_compare(profilers[0], profilers[1],
                                        "total_params", &found, &error),
                 ASSAY_OK, &error);
    CHECK_NEAR(found.value, 61100840.0 / 1235496, 1e-9);
    CHECK_STR(found.unit->name, "Millions");
    CHECK_STATUS(assay_profiler_compare(profilers[0], profilers[1],
                                        "throughput", &found, &error),
                 ASSAY_OK, &error);
    CHECK(isnan(found.value) && isnan(found.first));
    CHECK_STATUS(assay_profiler_compare(profilers[0], profilers[1],
                                        "layerwise_summary", &found, &error),
                 ASSAY_OK, &error);
    CHECK(isnan(found.value) && found.first > 0);
    CHECK_INT(assay_profiler_compare(profilers[0], profilers[1], "beauty",
                                     &found, &error),
              ASSAY_NOT_FOUND);
    for (int i = 0; i < 2; i++) {
        assay_profiler_free(profilers[i]);
        assay_model_free(models[i]);
    }
}

TEST(ratios_and_differences_go_from_the_first_to_the_second)
{
    static const struct assay_unit units[] = {
        {"kilo", 1e3, 500}, {"one", 1, 0}, {0}};
    struct assay_metric metric = {"m", "M", "d", units, ASSAY_COMPARE_RATIO};
    struct assay_result first = {.metric = &metric, .value = 4, .unit = units};
    struct assay_result second = {.metric = &metric, .value = 6};

    CHECK_NEAR(assay_enhance(&first, &second).value, 1.5, 0);
    metric.comparison = ASSAY_COMPARE_RECIPROCAL;
    CHECK_NEAR(assay_enhance(&first, &second).value, 4.0 / 6, 1e-15);
    metric.comparison = ASSAY_COMPARE_DIFFERENCE;
    CHECK_NEAR(assay_enhance(&first, &second).value, 2, 0);
    CHECK(assay_enhance(&first, &second).unit == first.unit);
    metric.comparison = ASSAY_COMPARE_RECIPROCAL;
    second.value = 0;
    CHECK(isnan(assay_enhance(&first, &second).value));
}

/* Adds a line of a report to a text. */
static void collect(void *context, const char *line)
{
    CHECK_INT(str_printf(context, "%s\n", line), ASSAY_OK);
}

static struct assay_profiler *bare_profiler(const char *name,
                                            struct assay_model **model)
{
    const struct assay_model_options options = {.has_no_weights = 1};
    struct assay_error error = {0};
    struct assay_profiler *profiler;

    CHECK_STATUS(assay_model_load(name, &options, model, &error), ASSAY_OK,
                 &error);
    profiler = small_profiler(*model, NULL);
    CHECK_STATUS(assay_profiler_register_standard(profiler, &error), ASSAY_OK,
                 &error);
    return profiler;
}

TEST(a_clone_has_the_functions_and_arguments_for_another_model)
{
    static const struct assay_argument argument = {"threshold", "0.5", ""};
    const struct assay_model_options bare = {.has_no_weights = 1};
    struct assay_model *models[2];
    struct assay_profiler *first = bare_profiler("alexnet", &models[0]), *clone;
    struct witness witness = {0};
    struct assay_metric_function function = watched(&witness, 0);
    struct assay_error error = {0};

    function.arguments = &argument;
    function.n_arguments = 1;
    add(first, &function);
    CHECK_INT(assay_profiler_set(first, "threshold", "0.25", &error), ASSAY_OK);
    CHECK_NEAR(get(first, "calls", 0)->value, 1, 0);
    CHECK_STATUS(assay_model_load("squeezenet1_1", &bare, &models[1], &error),
                 ASSAY_OK, &error);
    CHECK_STATUS(assay_profiler_clone(first, models[1], &clone, &error),
                 ASSAY_OK, &error);
    CHECK_STR(assay_profiler_name(clone), "squeezenet1_1");
    CHECK_INT(assay_profiler_count(clone), assay_profiler_count(first));
    CHECK_NEAR(get(clone, "calls", 0)->value, 2, 0); /* it has no values yet */
    CHECK_STR(witness.argument, "0.25");
    /* torchvision's numbers of parameters */
    CHECK_NEAR(get(clone, "total_params", 0)->value, 1235496, 0);
    CHECK_NEAR(get(first, "total_params", 0)->value, 61100840, 0);
    assay_profiler_free(clone);
    assay_profiler_free(first);
    assay_model_free(models[0]);
    assay_model_free(models[1]);
}

TEST(a_report_has_the_names_and_values_of_one_or_two)
{
    struct assay_model *models[2];
    struct assay_profiler *first = bare_profiler("alexnet", &models[0]);
    struct assay_profiler *second = bare_profiler("squeezenet1_1", &models[1]);
    struct assay_error error = {0};
    struct str text = {0};

    CHECK_STR(assay_profiler_name(first), "alexnet");
    CHECK_INT(assay_profiler_set_name(first, "Original Model", &error), 0);
    CHECK_INT(assay_profiler_set_name(second, "Student", &error), 0);
    CHECK_STATUS(assay_profiler_report(first, NULL, collect, &text, &error),
                 ASSAY_OK, &error);
    CHECK_HAS(str_text(&text), "Param Name (Original Model)");
    CHECK_HAS(str_text(&text),
              "Trainable Parameters (Millions) |      61.1008 |");
    str_clear(&text);
    CHECK_STATUS(assay_profiler_report(first, second, collect, &text, &error),
                 ASSAY_OK, &error);
    CHECK_HAS(str_text(&text), "Value (Original Model)");
    CHECK_HAS(str_text(&text), "Value (Student)");
    CHECK_HAS(str_text(&text), "49.4545x"); /* 61 100 840 / 1 235 496 */
    str_release(&text);
    assay_profiler_free(first);
    assay_profiler_free(second);
    assay_model_free(models[0]);
    assay_model_free(models[1]);
}

TEST(the_footprint_can_leave_out_the_weights)
{
    struct assay_model *model;
    struct assay_profiler *profiler = bare_profiler("alexnet", &model);
    struct assay_error error = {0};
    const struct assay_result *result;
    double whole = get(profiler, "memory_footprint", 0)->value;

    CHECK_INT(assay_profiler_set(profiler, "include_weights", "no", &error), 0);
    CHECK_NEAR(get(profiler, "memory_footprint", 0)->value,
               whole - 4.0 * 61100840, 0);
    CHECK_NEAR(get(profiler, "model_size", 0)->value, 4.0 * 61100840, 0);
    CHECK_INT(assay_profiler_set(profiler, "include_weights", "maybe", &error),
              0);
    CHECK_INT(assay_profiler_compute(profiler, "memory_footprint", 0, &result,
                                     &error),
              ASSAY_BAD_USAGE);
    CHECK_HAS(error.text, "it must be yes or no");
    assay_profiler_free(profiler);
    assay_model_free(model);
}

static void ignore(void *context, const char *line)
{
    (void)context, (void)line;
}

TEST(computing_leaks_nothing_whichever_allocation_fails)
{
    long nth = 0, before = mem_live();
    struct assay_model *model = small_model();
    enum assay_status st;

    do {
        struct assay_profiler *profiler = NULL, *clone = NULL;

        mem_fail_at(nth++);
        st = assay_profiler_new(model, NULL, &profiler, NULL);
        if (!st)
            st = assay_profiler_register_standard(profiler, NULL);
        if (!st) {
            assay_profiler_set_dataset(profiler, &small_dataset);
            st = assay_profiler_compute_all(profiler, 0, NULL);
        }
        if (!st)
            st = assay_profiler_set_name(profiler, "small", NULL);
        if (!st)
            st = assay_profiler_clone(profiler, model, &clone, NULL);
        if (!st)
            st = assay_profiler_report(profiler, NULL, ignore, NULL, NULL);
        mem_fail_at(-1);
        assay_profiler_free(clone);
        assay_profiler_free(profiler);
    } while (st == ASSAY_NOMEM && nth < 1000);
    CHECK_INT(st, ASSAY_OK);
    assay_model_free(model);
    CHECK_INT(mem_live(), before);
}
