/* metrics/accuracy.c - how often a classifier is right. */
#include "metrics/profiler_internal.h"

#include <math.h>
#include <stdio.h>

enum { ACCURACY_FIRST, ACCURACY_FIVE, ACCURACY_MISSED, N_ACCURACY };

static const struct assay_unit percent[] = {{"%", 0.01, 0}, {0}};

static const struct assay_metric metrics[N_ACCURACY] = {
    [ACCURACY_FIRST] = {.key = "eval_metric",
                        .name = "Evaluation Metric (accuracy)",
                        .description = "samples whose likeliest class is the "
                                       "right one",
                        .units = percent,
                        .comparison = ASSAY_COMPARE_DIFFERENCE},
    [ACCURACY_FIVE] = {.key = "eval_top5",
                       .name = "Top-5 Accuracy",
                       .description = "samples whose class is among the five "
                                      "likeliest",
                       .units = percent,
                       .comparison = ASSAY_COMPARE_DIFFERENCE},
    [ACCURACY_MISSED] = {.key = "eval_missed",
                         .name = "Misclassification",
                         .description = "samples whose likeliest class is a "
                                        "wrong one",
                         .units = percent,
                         .comparison = ASSAY_COMPARE_DIFFERENCE},
};

static enum assay_status begin(void *context,
                               const struct assay_metric_input *input,
                               struct assay_error *error)
{
    (void)input, (void)error;
    *(struct accuracy *)context = (struct accuracy){0};
    return ASSAY_OK;
}

static enum assay_status refuse(struct assay_error *error,
                                enum assay_status status, const char *why)
{
    error->status = status;
    snprintf(error->text, sizeof error->text, "%s", why);
    return status;
}

/* How many classes are likelier. A score that is not a number is likelier
 * than any, and ties go to the lower class, as argmax has it. */
static size_t rank_of(const float *scores, size_t n, size_t label)
{
    size_t rank = 0;

    for (size_t i = 0; i < n; i++)
        rank += i != label && (isnan(scores[i]) || isnan(scores[label]) ||
                               scores[i] > scores[label] ||
                               (scores[i] == scores[label] && i < label));
    return rank;
}

static enum assay_status sample(void *context, const struct assay_sample *seen,
                                struct assay_error *error)
{
    const struct assay_tensor *scores = &seen->outputs[0];
    struct accuracy *accuracy = context;
    size_t rank;

    if (seen->target.label < 0)
        return refuse(error, ASSAY_UNSUPPORTED,
                      "the dataset does not say which class a sample is");
    if (!seen->n_outputs || scores->dtype != ASSAY_F32 || !scores->n_elements)
        return refuse(error, ASSAY_UNSUPPORTED,
                      "the first output holds no scores of classes");
    if ((uint64_t)seen->target.label >= scores->n_elements)
        return refuse(error, ASSAY_BAD_INPUT,
                      "the dataset has more classes than the model; "
                      "--classes says how many");
    rank =
        rank_of(scores->data, scores->n_elements, (size_t)seen->target.label);
    accuracy->n++;
    accuracy->n_first += rank == 0;
    accuracy->n_five += rank < 5;
    return ASSAY_OK;
}

static enum assay_status compute(void *context,
                                 const struct assay_metric_input *input,
                                 double *values, struct assay_error *error)
{
    const struct accuracy *accuracy = context;
    double n = (double)accuracy->n;

    (void)input, (void)error;
    values[ACCURACY_FIRST] = (double)accuracy->n_first / n;
    values[ACCURACY_FIVE] = (double)accuracy->n_five / n;
    values[ACCURACY_MISSED] = (n - (double)accuracy->n_first) / n;
    return ASSAY_OK;
}

struct assay_metric_function metric_accuracy(struct accuracy *accuracy)
{
    return (struct assay_metric_function){
        .name = "accuracy",
        .metrics = metrics,
        .n_metrics = N_ACCURACY,
        .needs = ASSAY_NEEDS_DATASET,
        .context = accuracy,
        .begin = begin,
        .sample = sample,
        .compute = compute,
    };
}
