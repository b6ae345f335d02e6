/* examples/metric_sparsity.c - a metric plug-in: how many weights are zero.
 *
 *     cc -shared -fPIC metric_sparsity.c -o libsparsity.so \
 *        $(pkg-config --cflags assay)
 *     assay metrics resnet18 --metric ./libsparsity.so --set threshold=1e-3
 */
#include <assay/metric.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SPARSITY, SPARSEST_LAYER, N_METRICS };
enum { THRESHOLD, N_ARGUMENTS };

static const struct assay_unit percent[] = {{"%", 0.01, 0}, {NULL, 0, 0}};

static const struct assay_metric metrics[N_METRICS] = {
    [SPARSITY] = {"sparsity", "Sparsity",
                  "share of trained numbers at or below the threshold", percent,
                  ASSAY_COMPARE_DIFFERENCE},
    [SPARSEST_LAYER] = {"sparsity_most", "Sparsest Parameter",
                        "the same, for the parameter with the most of them",
                        percent, ASSAY_COMPARE_DIFFERENCE},
};

static const struct assay_argument arguments[N_ARGUMENTS] = {
    [THRESHOLD] = {"threshold", "0", "largest magnitude that counts as zero"},
};

static size_t count_small(const struct assay_tensor *tensor, double threshold)
{
    const float *values = tensor->data;
    size_t n = 0;

    for (size_t i = 0; i < tensor->n_elements; i++)
        n += fabs((double)values[i]) <= threshold;
    return n;
}

static enum assay_status compute(void *context,
                                 const struct assay_metric_input *input,
                                 double *values, struct assay_error *error)
{
    const char *text = input->arguments[THRESHOLD];
    double n = 0, n_small = 0, most = 0;
    char *end;
    double threshold = strtod(text, &end);

    (void)context;
    if (end == text || *end) {
        snprintf(error->text, sizeof error->text,
                 "threshold is '%s', which is not a number", text);
        return ASSAY_BAD_USAGE;
    }
    for (size_t i = 0; i < input->n_parameters; i++) {
        const struct assay_parameter *parameter = &input->parameters[i];
        const struct assay_tensor *tensor = &parameter->tensor;
        double small;

        if (!parameter->is_trained || !tensor->n_elements)
            continue;
        if (tensor->dtype != ASSAY_F32) {
            snprintf(error->text, sizeof error->text, "%s is not float32",
                     parameter->name);
            return ASSAY_UNSUPPORTED;
        }
        small = (double)count_small(tensor, threshold);
        n += (double)tensor->n_elements;
        n_small += small;
        if (small / (double)tensor->n_elements > most)
            most = small / (double)tensor->n_elements;
    }
    values[SPARSITY] = n_small / n;
    values[SPARSEST_LAYER] = most;
    return ASSAY_OK;
}

static const struct assay_metric_function functions[] = {
    {.name = "sparsity",
     .metrics = metrics,
     .n_metrics = N_METRICS,
     .needs = ASSAY_NEEDS_WEIGHTS,
     .arguments = arguments,
     .n_arguments = N_ARGUMENTS,
     .compute = compute},
};

const struct assay_metric_plugin assay_metric_plugin = {
    .api_version = ASSAY_METRIC_API,
    .n_functions = 1,
    .functions = functions,
};
