/* metrics/standard.c - the built-in metrics of a graph, a run and an
 * evaluation. */
#include "metrics/profiler_internal.h"

static const struct assay_unit megabytes[] = {{"MB", 1048576, 0}, {0}};
static const struct assay_unit multiply_adds[] = {
    {"GigaMACs", 1e9, 1e8}, {"MegaMACs", 1e6, 1e5}, {"KiloMACs", 1e3, 0}, {0}};
static const struct assay_unit counts[] = {
    {"Millions", 1e6, 1e5}, {"Thousands", 1e3, 0}, {0}};
static const struct assay_unit milliseconds[] = {{"ms", 1e6, 0}, {0}};
static const struct assay_unit a_second[] = {{"images/s", 1, 0}, {0}};
static const struct assay_unit layers[] = {{"layers", 1, 0}, {0}};

/* ---- the graph -----------------------------------------------------------
 */

enum {
    GRAPH_SIZE,
    GRAPH_COMPLEXITY,
    GRAPH_PRODUCTS,
    GRAPH_PARAMETERS,
    GRAPH_FOOTPRINT,
    N_GRAPH
};

static const struct assay_metric graph_metrics[N_GRAPH] = {
    [GRAPH_SIZE] = {.key = "model_size",
                    .name = "Model Size",
                    .description = "bytes of the trained parameters; a MB is "
                                   "2^20 bytes",
                    .units = megabytes,
                    .comparison = ASSAY_COMPARE_RECIPROCAL},
    [GRAPH_COMPLEXITY] = {.key = "complexity",
                          .name = "Computational Complexity",
                          .description =
                              "multiply-adds of a forward pass, of one image: "
                              "convolutions and matrix products, and two for "
                              "each element that a batch norm scales and "
                              "shifts",
                          .units = multiply_adds,
                          .comparison = ASSAY_COMPARE_RECIPROCAL},
    [GRAPH_PRODUCTS] = {.key = "complexity_products",
                        .name = "Complexity without Norms",
                        .description =
                            "the same, of convolutions and matrix products "
                            "alone",
                        .units = multiply_adds,
                        .comparison = ASSAY_COMPARE_RECIPROCAL},
    [GRAPH_PARAMETERS] = {.key = "total_params",
                          .name = "Total Parameters",
                          .description = "how many numbers are trained",
                          .units = counts,
                          .comparison = ASSAY_COMPARE_RECIPROCAL},
    [GRAPH_FOOTPRINT] = {.key = "memory_footprint",
                         .name = "Memory Footprint",
                         .description =
                             "estimated from the graph: parameters, inputs, "
                             "and the outputs of every module that holds "
                             "parameters",
                         .units = megabytes,
                         .comparison = ASSAY_COMPARE_RECIPROCAL},
};

static enum assay_status compute_graph(void *context,
                                       const struct assay_metric_input *input,
                                       double *values,
                                       struct assay_error *error)
{
    const struct assay_totals *totals = input->totals;
    double images = (double)totals->images;

    (void)context, (void)error;
    values[GRAPH_SIZE] = (double)totals->parameter_bytes;
    values[GRAPH_COMPLEXITY] =
        (double)(totals->macs + totals->norm_macs) / images;
    values[GRAPH_PRODUCTS] = (double)totals->macs / images;
    values[GRAPH_PARAMETERS] = (double)totals->parameters;
    values[GRAPH_FOOTPRINT] =
        (double)(totals->parameter_bytes + totals->input_bytes +
                 totals->activation_bytes);
    return ASSAY_OK;
}

const struct assay_metric_function metric_graph = {
    .name = "graph",
    .metrics = graph_metrics,
    .n_metrics = N_GRAPH,
    .compute = compute_graph,
};

static const struct assay_metric layer_metrics[] = {
    {.key = "layerwise_summary",
     .name = "Layer-wise Summary",
     .description = "how many layers there are; the table of them follows "
                    "this one",
     .units = layers,
     .comparison = ASSAY_COMPARE_NONE},
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

const struct assay_metric_function metric_layers = {
    .name = "layers",
    .metrics = layer_metrics,
    .n_metrics = 1,
    .compute = compute_layers,
};

/* ---- a run ---------------------------------------------------------------
 */

enum { RUN_PEAK, RUN_TIME, RUN_THROUGHPUT, N_RUN };

static const struct assay_metric run_metrics[N_RUN] = {
    [RUN_PEAK] = {.key = "memory_measured",
                  .name = "Measured Peak Memory",
                  .description =
                      "the most that tensors took at once while it ran: "
                      "weights as kernels want them, values, scratch",
                  .units = megabytes,
                  .comparison = ASSAY_COMPARE_RECIPROCAL},
    [RUN_TIME] = {.key = "execution_time",
                  .name = "Execution Time",
                  .description = "of a forward pass on this machine, median; "
                                 "of a batch, for each image",
                  .units = milliseconds,
                  .comparison = ASSAY_COMPARE_RECIPROCAL},
    [RUN_THROUGHPUT] = {.key = "throughput",
                        .name = "Throughput",
                        .description = "images that go through in a second, "
                                       "from the same median",
                        .units = a_second,
                        .comparison = ASSAY_COMPARE_RATIO},
};

static enum assay_status compute_run(void *context,
                                     const struct assay_metric_input *input,
                                     double *values, struct assay_error *error)
{
    double images = (double)input->measured->images;

    (void)context, (void)error;
    values[RUN_PEAK] = input->measured->peak_bytes;
    values[RUN_TIME] = input->measured->median_ns / images;
    values[RUN_THROUGHPUT] = images * 1e9 / input->measured->median_ns;
    return ASSAY_OK;
}

const struct assay_metric_function metric_run = {
    .name = "run",
    .metrics = run_metrics,
    .n_metrics = N_RUN,
    .needs = ASSAY_NEEDS_RUN,
    .compute = compute_run,
};

/* ---- an evaluation -------------------------------------------------------
 */

static const struct assay_metric inference_metrics[] = {
    {.key = "inference_time",
     .name = "Inference Time",
     .description = "of the evaluation, for each sample: reading it, the "
                    "forward pass, scoring it",
     .units = milliseconds,
     .comparison = ASSAY_COMPARE_RECIPROCAL},
};

static enum assay_status
compute_inference(void *context, const struct assay_metric_input *input,
                  double *values, struct assay_error *error)
{
    (void)context, (void)error;
    values[0] = input->evaluated->total_ns / (double)input->evaluated->n;
    return ASSAY_OK;
}

const struct assay_metric_function metric_inference = {
    .name = "inference",
    .metrics = inference_metrics,
    .n_metrics = 1,
    .needs = ASSAY_NEEDS_DATASET,
    .compute = compute_inference,
};

/* ---- all of them ---------------------------------------------------------
 */

static bool gives_masks(const struct assay_model *model)
{
    return model->options.decode == DECODE_DETECTOR &&
           graph_output_count(model->graph) > SESSION_MASKS;
}

/* How well the model does: on classes, or on objects. */
static enum assay_status register_evaluation(struct assay_profiler *profiler,
                                             struct assay_error *error)
{
    bool finds_objects =
        profiler->feed ? feed_has_objects(profiler->feed)
                       : profiler->model->options.decode == DECODE_DETECTOR;
    enum assay_status st;

    profiler->accuracy_function = metric_accuracy(&profiler->accuracy);
    if (!finds_objects)
        return assay_profiler_register(profiler, &profiler->accuracy_function,
                                       0, error);
    profiler->boxes.feed = profiler->masks.feed = profiler->feed;
    profiler->boxes_function =
        detection_metric_function(&profiler->boxes, COCO_BOXES);
    profiler->masks_function =
        detection_metric_function(&profiler->masks, COCO_MASKS);
    st = assay_profiler_register(profiler, &profiler->boxes_function, 0, error);
    if (!st && gives_masks(profiler->model))
        st = assay_profiler_register(profiler, &profiler->masks_function, 0,
                                     error);
    return st;
}

enum assay_status
assay_profiler_register_standard(struct assay_profiler *profiler,
                                 struct assay_error *error)
{
    static const struct assay_metric_function *const functions[] = {
        &metric_graph, &metric_run, &metric_inference, &metric_layers};
    enum assay_status st = register_evaluation(profiler, error);

    for (size_t i = 0; !st && i < sizeof functions / sizeof *functions; i++)
        st = assay_profiler_register(profiler, functions[i], 0, error);
    return st;
}
