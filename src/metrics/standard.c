/* metrics/standard.c - the built-in metrics of a graph, a run and an
 * evaluation. */
#include "metrics/profiler_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct assay_unit mebibytes[] = {{"MiB", 1048576, 0}, {0}};
static const struct assay_unit multiply_adds[] = {
    {"GigaMACs", 1e9, 1e8}, {"MegaMACs", 1e6, 1e5}, {"KiloMACs", 1e3, 0}, {0}};
static const struct assay_unit counts[] = {
    {"Millions", 1e6, 1e5}, {"Thousands", 1e3, 0}, {0}};
static const struct assay_unit milliseconds[] = {{"ms", 1e6, 0}, {0}};
static const struct assay_unit a_second[] = {{"images/s", 1, 0}, {0}};
static const struct assay_unit layers[] = {{"layers", 1, 0}, {0}};

/* ---- the graph ---------------------------------------------------------- */

enum {
    GRAPH_SIZE,
    GRAPH_COMPLEXITY,
    GRAPH_PRODUCTS,
    GRAPH_PARAMETERS,
    GRAPH_WITH_BUFFERS,
    GRAPH_FOOTPRINT,
    N_GRAPH
};

static const struct assay_metric graph_metrics[N_GRAPH] = {
    [GRAPH_SIZE] = {"model_size", "Model Size",
                    "bytes of the trained parameters", mebibytes,
                    ASSAY_COMPARE_RECIPROCAL},
    [GRAPH_COMPLEXITY] = {"complexity", "Computational Complexity",
                          "multiply-adds of a forward pass per image: "
                          "convolutions and matrix products, and two per "
                          "element that a batch norm scales and shifts",
                          multiply_adds, ASSAY_COMPARE_RECIPROCAL},
    [GRAPH_PRODUCTS] = {"complexity_products", "Complexity without Norms",
                        "the same, for convolutions and matrix products only",
                        multiply_adds, ASSAY_COMPARE_RECIPROCAL},
    [GRAPH_PARAMETERS] = {"total_params", "Trainable Parameters",
                          "the number of parameters that training changes",
                          counts, ASSAY_COMPARE_RECIPROCAL},
    [GRAPH_WITH_BUFFERS] = {"params_and_buffers", "Parameters and Buffers",
                            "the same, and the numbers that are not trained, "
                            "such as running statistics",
                            counts, ASSAY_COMPARE_RECIPROCAL},
    [GRAPH_FOOTPRINT] = {"memory_footprint", "Memory Footprint",
                         "estimated from the graph: parameters, inputs, "
                         "and the outputs of every module with parameters",
                         mebibytes, ASSAY_COMPARE_RECIPROCAL},
};

static const struct assay_argument graph_arguments[] = {
    {"include_weights", "yes",
     "whether the memory footprint counts the parameters: yes or no"},
};

static enum assay_status compute_graph(void *context,
                                       const struct assay_metric_input *input,
                                       double *values,
                                       struct assay_error *error)
{
    const struct assay_totals *totals = input->totals;
    double images = (double)totals->images;
    bool has_weights = strcmp(input->arguments[0], "yes") == 0;

    (void)context;
    if (!has_weights && strcmp(input->arguments[0], "no") != 0) {
        error->status = ASSAY_BAD_USAGE;
        snprintf(error->text, sizeof error->text,
                 "include_weights is '%.40s'; it must be yes or no",
                 input->arguments[0]);
        return ASSAY_BAD_USAGE;
    }
    values[GRAPH_SIZE] = (double)totals->parameter_bytes;
    values[GRAPH_COMPLEXITY] =
        (double)(totals->macs + totals->norm_macs) / images;
    values[GRAPH_PRODUCTS] = (double)totals->macs / images;
    values[GRAPH_PARAMETERS] = (double)totals->parameters;
    values[GRAPH_WITH_BUFFERS] = (double)(totals->parameters + totals->buffers);
    values[GRAPH_FOOTPRINT] =
        (double)(totals->input_bytes + totals->activation_bytes) +
        (has_weights ? (double)totals->parameter_bytes : 0);
    return ASSAY_OK;
}

static const struct assay_metric layer_metrics[] = {
    {"layerwise_summary", "Layer-wise Summary",
     "the number of layers; the table of them follows", layers,
     ASSAY_COMPARE_NONE},
};

static enum assay_status compute_layers(void *context,
                                        const struct assay_metric_input *input,
                                        double *values,
                                        struct assay_error *error)
{
    (void)context, (void)error;
    values[0] = (double)input->n_layers;
    return ASSAY_OK;
}

/* ---- a run -------------------------------------------------------------- */

enum { RUN_PEAK, RUN_TIME, RUN_THROUGHPUT, N_RUN };

static const struct assay_metric run_metrics[N_RUN] = {
    [RUN_PEAK] = {"memory_measured", "Measured Peak Memory",
                  "peak memory of tensors while it ran: weights "
                  "repacked for the kernels, values, scratch",
                  mebibytes, ASSAY_COMPARE_RECIPROCAL},
    [RUN_TIME] = {"execution_time", "Execution Time",
                  "mean time of a forward pass on this machine, without "
                  "disturbed ones; divided by the images of a batch",
                  milliseconds, ASSAY_COMPARE_RECIPROCAL},
    [RUN_THROUGHPUT] = {"throughput", "Throughput",
                        "images per second, from the same mean", a_second,
                        ASSAY_COMPARE_RATIO},
};

static enum assay_status compute_run(void *context,
                                     const struct assay_metric_input *input,
                                     double *values, struct assay_error *error)
{
    double images = (double)input->measured->images;

    (void)context, (void)error;
    values[RUN_PEAK] = input->measured->peak_bytes;
    values[RUN_TIME] = input->measured->mean_ns / images;
    values[RUN_THROUGHPUT] = images * 1e9 / input->measured->mean_ns;
    return ASSAY_OK;
}

/* ---- an evaluation ------------------------------------------------------ */

static const struct assay_metric inference_metrics[] = {
    {"inference_time", "Inference Time",
     "time of the evaluation per sample: reading it, the "
     "forward pass, scoring it",
     milliseconds, ASSAY_COMPARE_RECIPROCAL},
};

static enum assay_status
compute_inference(void *context, const struct assay_metric_input *input,
                  double *values, struct assay_error *error)
{
    (void)context, (void)error;
    values[0] = input->evaluated->total_ns / (double)input->evaluated->n;
    return ASSAY_OK;
}

enum { ACCURACY_FIRST, ACCURACY_FIVE, ACCURACY_MISSED, N_ACCURACY };

static const struct assay_unit percent[] = {{"%", 0.01, 0}, {0}};

static const struct assay_metric accuracy_metrics[N_ACCURACY] = {
    [ACCURACY_FIRST] = {"eval_metric", "Evaluation Metric (accuracy)",
                        "samples whose most likely class is right", percent,
                        ASSAY_COMPARE_DIFFERENCE},
    [ACCURACY_FIVE] = {"eval_top5", "Top-5 Accuracy",
                       "samples whose class is among the five most likely",
                       percent, ASSAY_COMPARE_DIFFERENCE},
    [ACCURACY_MISSED] = {"eval_missed", "Misclassification",
                         "samples whose most likely class is wrong", percent,
                         ASSAY_COMPARE_DIFFERENCE},
};

static enum assay_status accuracy_begin(void *context,
                                        const struct assay_metric_input *input,
                                        struct assay_error *error)
{
    (void)input, (void)error;
    *(struct accuracy *)context = (struct accuracy){0};
    return ASSAY_OK;
}

static enum assay_status accuracy_refuse(struct assay_error *error,
                                         enum assay_status status,
                                         const char *why)
{
    error->status = status;
    snprintf(error->text, sizeof error->text, "%s", why);
    return status;
}

/* The number of classes that are more likely. A score that is not a number
 * beats any other, and ties go to the lower class, as in argmax. */
static size_t rank_of(const float *scores, size_t n, size_t label)
{
    size_t rank = 0;

    for (size_t i = 0; i < n; i++)
        rank += i != label && (isnan(scores[i]) || isnan(scores[label]) ||
                               scores[i] > scores[label] ||
                               (scores[i] == scores[label] && i < label));
    return rank;
}

static enum assay_status accuracy_sample(void *context,
                                         const struct assay_sample *seen,
                                         struct assay_error *error)
{
    const struct assay_tensor *scores = &seen->outputs[0];
    struct accuracy *accuracy = context;
    size_t rank;

    if (seen->target.label < 0)
        return accuracy_refuse(
            error, ASSAY_UNSUPPORTED,
            "the dataset does not say which class a sample is");
    if (!seen->n_outputs || scores->dtype != ASSAY_F32 || !scores->n_elements)
        return accuracy_refuse(
            error, ASSAY_UNSUPPORTED,
            "the first output does not hold scores of classes");
    if ((uint64_t)seen->target.label >= scores->n_elements)
        return accuracy_refuse(error, ASSAY_BAD_INPUT,
                               "the dataset has more classes than the model; "
                               "set the number of the model with --classes");
    rank =
        rank_of(scores->data, scores->n_elements, (size_t)seen->target.label);
    accuracy->n++;
    accuracy->n_first += rank == 0;
    accuracy->n_five += rank < 5;
    return ASSAY_OK;
}

static enum assay_status
accuracy_compute(void *context, const struct assay_metric_input *input,
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

static struct assay_metric_function metric_accuracy(struct accuracy *accuracy)
{
    return (struct assay_metric_function){
        .name = "accuracy",
        .metrics = accuracy_metrics,
        .n_metrics = N_ACCURACY,
        .needs = ASSAY_NEEDS_DATASET,
        .context = accuracy,
        .begin = accuracy_begin,
        .sample = accuracy_sample,
        .compute = accuracy_compute,
    };
}

/* ---- all of them -------------------------------------------------------- */

/* How well the model does: on classes or on objects. */
static enum assay_status register_evaluation(struct assay_profiler *profiler,
                                             struct assay_error *error)
{
    bool finds_objects =
        profiler->feed
            ? feed_has_objects(profiler->feed)
            : profiler->model->options.vision.decode == DECODE_DETECTOR;
    enum assay_status st;

    profiler->accuracy_function = metric_accuracy(&profiler->accuracy);
    if (!finds_objects)
        return profiler_add(profiler, &profiler->accuracy_function, error);
    profiler->boxes.feed = profiler->masks.feed = profiler->feed;
    profiler->boxes_function =
        detection_metric_function(&profiler->boxes, COCO_BOXES);
    profiler->masks_function =
        detection_metric_function(&profiler->masks, COCO_MASKS);
    st = profiler_add(profiler, &profiler->boxes_function, error);
    if (!st && profiler->model->options.vision.decode == DECODE_DETECTOR &&
        graph_output_count(profiler->model->graph) > DETECTOR_MASKS)
        st = profiler_add(profiler, &profiler->masks_function, error);
    return st;
}

static const struct assay_metric_function standard_functions[] = {
    {.name = "graph",
     .metrics = graph_metrics,
     .n_metrics = N_GRAPH,
     .arguments = graph_arguments,
     .n_arguments = 1,
     .compute = compute_graph},
    {.name = "run",
     .metrics = run_metrics,
     .n_metrics = N_RUN,
     .needs = ASSAY_NEEDS_RUN,
     .compute = compute_run},
    {.name = "inference",
     .metrics = inference_metrics,
     .n_metrics = 1,
     .needs = ASSAY_NEEDS_DATASET,
     .compute = compute_inference},
    {.name = "layers",
     .metrics = layer_metrics,
     .n_metrics = 1,
     .compute = compute_layers},
};

enum assay_status
assay_profiler_register_standard(struct assay_profiler *profiler,
                                 struct assay_error *error)
{
    enum assay_status st = register_evaluation(profiler, error);

    for (size_t i = 0;
         !st && i < sizeof standard_functions / sizeof *standard_functions; i++)
        st = profiler_add(profiler, &standard_functions[i], error);
    return st ? st : profiler_note(profiler, (struct registration){0}, error);
}
