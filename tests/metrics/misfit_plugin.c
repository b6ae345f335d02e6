/* A plug-in whose functions fail, each in its own way, and one that counts
 * samples. PLUGIN_API_VERSION makes it one of another version. */
#include <assay/metric.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef PLUGIN_API_VERSION
#define PLUGIN_API_VERSION ASSAY_METRIC_API
#endif

#define METRIC(key)                                                            \
    (const struct assay_metric[])                                              \
    {                                                                          \
        {                                                                      \
            key, key, "for a test", NULL, ASSAY_COMPARE_RATIO                  \
        }                                                                      \
    }

#define COMPUTE(name)                                                          \
    static enum assay_status name(void *context,                               \
                                  const struct assay_metric_input *input,      \
                                  double *values, struct assay_error *error)

COMPUTE(crash)
{
    volatile int *nowhere = NULL;

    (void)context, (void)input, (void)error;
    values[0] = *nowhere;
    return ASSAY_OK;
}

COMPUTE(leave)
{
    (void)context, (void)input, (void)values, (void)error;
    _exit(7);
}

COMPUTE(hang)
{
    (void)context, (void)input, (void)values, (void)error;
    while (pause())
        continue;
    return ASSAY_OK;
}

COMPUTE(not_a_number)
{
    (void)context, (void)input, (void)error;
    values[0] = NAN;
    return ASSAY_OK;
}

COMPUTE(fail)
{
    (void)context, (void)input, (void)values;
    snprintf(error->text, sizeof error->text, "the moon is full");
    return ASSAY_UNSUPPORTED;
}

static double sum_of_labels, sum_of_widths, sum_of_outputs;

static enum assay_status take(void *context, const struct assay_sample *sample,
                              struct assay_error *error)
{
    const float *scores = sample->outputs[0].data;

    (void)context, (void)error;
    sum_of_labels += (double)sample->target.label;
    for (size_t i = 0; i < sample->target.n_boxes; i++)
        sum_of_widths += sample->target.boxes[i].width;
    for (size_t i = 0; i < sample->outputs[0].n_elements; i++)
        sum_of_outputs += (double)scores[i];
    return ASSAY_OK;
}

static enum assay_status stumble(void *context,
                                 const struct assay_sample *sample,
                                 struct assay_error *error)
{
    (void)context, (void)sample, (void)error;
    abort();
}

COMPUTE(count)
{
    (void)context, (void)error;
    values[0] = (double)input->evaluated->n;
    values[1] = sum_of_labels;
    values[2] = sum_of_widths;
    values[3] = sum_of_outputs;
    return ASSAY_OK;
}

static const struct assay_metric counted[] = {
    {"samples", "Samples", "for a test", NULL, ASSAY_COMPARE_NONE},
    {"labels", "Labels", "for a test", NULL, ASSAY_COMPARE_NONE},
    {"widths", "Widths", "for a test", NULL, ASSAY_COMPARE_NONE},
    {"outputs", "Outputs", "for a test", NULL, ASSAY_COMPARE_NONE},
};

static const struct assay_metric_function functions[] = {
    {.name = "crash",
     .metrics = METRIC("crashes"),
     .n_metrics = 1,
     .compute = crash},
    {.name = "leave",
     .metrics = METRIC("leaves"),
     .n_metrics = 1,
     .compute = leave},
    {.name = "hang",
     .metrics = METRIC("hangs"),
     .n_metrics = 1,
     .compute = hang},
    {.name = "not_a_number",
     .metrics = METRIC("nan"),
     .n_metrics = 1,
     .compute = not_a_number},
    {.name = "fail",
     .metrics = METRIC("fails"),
     .n_metrics = 1,
     .compute = fail},
    {.name = "count",
     .metrics = counted,
     .n_metrics = 4,
     .needs = ASSAY_NEEDS_DATASET,
     .sample = take,
     .compute = count},
    {.name = "stumble",
     .metrics = METRIC("stumbles"),
     .n_metrics = 1,
     .needs = ASSAY_NEEDS_DATASET,
     .sample = stumble,
     .compute = fail},
};

const struct assay_metric_plugin assay_metric_plugin = {
    .api_version = PLUGIN_API_VERSION,
    .n_functions = sizeof functions / sizeof *functions,
    .functions = functions,
};
