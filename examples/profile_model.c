/* examples/profile_model.c - compares metrics of two models, and adds its own.
 *
 *     profile_model [MODEL [OTHER]]          (resnet18, squeezenet1_1)
 *
 * A model is a built-in one by its name, or an ONNX file. Build it with
 *
 *     cc profile_model.c $(pkg-config --cflags --libs assay-models)
 */
#include <assay.h>
#include <assay/model.h>
#include <assay/profiler.h>

#include <math.h>
#include <stdio.h>

/* ---- a metric of our own ---------------------------------------------- */

static const struct assay_unit per_parameter[] = {{"MACs", 1, 0}, {NULL, 0, 0}};

static const struct assay_metric reuse_metrics[] = {
    {"reuse", "Reuse", "multiply-adds per image and parameter", per_parameter,
     ASSAY_COMPARE_RATIO},
};

static enum assay_status compute_reuse(void *context,
                                       const struct assay_metric_input *input,
                                       double *values,
                                       struct assay_error *error)
{
    const struct assay_totals *totals = input->totals;

    (void)context;
    if (totals->parameters == 0) {
        snprintf(error->text, sizeof error->text,
                 "the model has no parameters");
        return ASSAY_UNSUPPORTED;
    }
    values[0] = (double)totals->macs / (double)totals->images /
                (double)totals->parameters;
    return ASSAY_OK;
}

static const struct assay_metric_function reuse = {
    .name = "reuse",
    .metrics = reuse_metrics,
    .n_metrics = 1,
    .compute = compute_reuse,
};

/* ---- profilers ---------------------------------------------------------- */

struct subject {
    struct assay_model *model;
    struct assay_profiler *profiler;
};

static enum assay_status open_subject(struct subject *subject, const char *name,
                                      struct assay_error *error)
{
    static const struct assay_profiler_options options = {.iterations = 5};
    enum assay_status st = assay_model_load(name, NULL, &subject->model, error);

    if (!st)
        st = assay_profiler_new(subject->model, &options, &subject->profiler,
                                error);
    if (!st)
        st = assay_profiler_register_standard(subject->profiler, error);
    if (!st)
        st = assay_profiler_register(subject->profiler, &reuse, 0, error);
    return st;
}

static void close_subject(struct subject *subject)
{
    assay_profiler_free(subject->profiler);
    assay_model_free(subject->model);
}

static enum assay_status show_all(const struct subject *subject,
                                  struct assay_error *error)
{
    enum assay_status st =
        assay_profiler_compute_all(subject->profiler, 0, error);

    printf("%s\n", assay_model_name(subject->model));
    for (size_t i = 0; !st && i < assay_profiler_count(subject->profiler);
         i++) {
        const struct assay_result *result =
            assay_profiler_result(subject->profiler, i);

        if (result->status)
            printf("  %-30s %12s  %s\n", result->metric->name, "-",
                   result->reason);
        else
            printf("  %-30s %12.4f %s\n", result->metric->name, result->shown,
                   result->unit ? result->unit->name : "");
    }
    return st;
}

static enum assay_status show_enhancement(const struct subject subjects[2],
                                          struct assay_error *error)
{
    static const char *const keys[] = {"model_size", "complexity",
                                       "execution_time", "reuse"};
    enum assay_status st = ASSAY_OK;

    printf("%s instead of %s\n", assay_model_name(subjects[1].model),
           assay_model_name(subjects[0].model));
    for (size_t i = 0; !st && i < sizeof keys / sizeof *keys; i++) {
        struct assay_enhancement found;

        st = assay_profiler_compare(subjects[0].profiler, subjects[1].profiler,
                                    keys[i], &found, error);
        if (!st && !isnan(found.value))
            printf("  %-30s %11.2fx\n", found.metric->name, found.value);
    }
    return st;
}

int main(int argc, char **argv)
{
    const char *names[2] = {argc > 1 ? argv[1] : "resnet18",
                            argc > 2 ? argv[2] : "squeezenet1_1"};
    struct subject subjects[2] = {{0}};
    struct assay_error error = {0};
    enum assay_status st = ASSAY_OK;

    for (int i = 0; !st && i < 2; i++)
        st = open_subject(&subjects[i], names[i], &error);
    for (int i = 0; !st && i < 2; i++)
        st = show_all(&subjects[i], &error);
    if (!st)
        st = show_enhancement(subjects, &error);
    for (int i = 0; i < 2; i++)
        close_subject(&subjects[i]);
    if (st)
        fprintf(stderr, "profile_model: %s\n", error.text);
    return st ? 3 : 0;
}
