/* assay/metric.h - metrics of models: what one is, and how to add your own.
 *
 * A metric is a number with a key, a name and a unit. A metric function says
 * which keys it computes, what it needs for that and which arguments it takes;
 * it gets that and nothing more. Register one with a profiler
 * (assay/profiler.h), or put it into a shared object that exports
 *
 *     const struct assay_metric_plugin assay_metric_plugin = {
 *         .api_version = ASSAY_METRIC_API,
 *         .functions = functions,
 *         .n_functions = 1,
 *     };
 *
 * and is loaded with `assay metrics MODEL --metric ./libmine.so`. A plug-in
 * needs only this header and no library; its functions run in a process of
 * their own.
 *
 * SPDX-License-Identifier: MIT */
#ifndef ASSAY_METRIC_H
#define ASSAY_METRIC_H

#include <assay/status.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Goes up when anything below changes; plug-ins built for another version are
 * refused. */
#define ASSAY_METRIC_API 1

enum { ASSAY_MAX_RANK = 8 };

enum assay_dtype {
    ASSAY_F32,
    ASSAY_F64,
    ASSAY_F16,
    ASSAY_BF16,
    ASSAY_I8,
    ASSAY_U8,
    ASSAY_I16,
    ASSAY_U16,
    ASSAY_I32,
    ASSAY_U32,
    ASSAY_I64,
    ASSAY_U64,
    ASSAY_BOOL
};

/* An array in row-major order: the last dimension varies fastest. */
struct assay_tensor {
    enum assay_dtype dtype;
    int rank;
    int64_t dims[ASSAY_MAX_RANK];
    size_t n_elements, n_bytes;
    void *data; /* NULL: the tensor is only described */
};

/* ---- what a metric is ------------------------------------------------- */

/* How the values of two models are compared. */
enum assay_comparison {
    ASSAY_COMPARE_NONE,
    ASSAY_COMPARE_DIFFERENCE, /* second - first: accuracy */
    ASSAY_COMPARE_RATIO,      /* second / first: if more is better */
    ASSAY_COMPARE_RECIPROCAL  /* first / second: if less is better */
};

/* A unit for showing values. Lists go from large units to small; the first one
 * whose `from` does not exceed the value is used, otherwise the last. */
struct assay_unit {
    const char *name; /* "GigaMACs"; NULL ends a list */
    double scale;     /* the size of one unit: 1e9 */
    double from;      /* the smallest value shown in this unit: 1e8 */
};

struct assay_metric {
    const char *key;                /* "model_size": a-z, 0-9 and _ */
    const char *name;               /* "Model Size" */
    const char *description;        /* one sentence */
    const struct assay_unit *units; /* NULL: no unit */
    enum assay_comparison comparison;
};

/* ---- what a function gets --------------------------------------------- */

/* What a function needs besides the graph. */
enum assay_needs {
    ASSAY_NEEDS_WEIGHTS = 1, /* the parameters' data */
    ASSAY_NEEDS_RUN = 2,     /* a measured run of the model */
    ASSAY_NEEDS_DATASET = 4  /* each sample's outputs and target */
};

struct assay_parameter {
    const char *name;           /* "layer1.0.conv1.weight" */
    int is_trained;             /* 0: a buffer, such as a running mean */
    struct assay_tensor tensor; /* data: only with ASSAY_NEEDS_WEIGHTS */
};

struct assay_layer {
    const char *path; /* "layer1.0.conv1" */
    const char *class_name;
    uint64_t calls;
    int is_known; /* 0: output, its bytes and the arithmetic depend on input */
    int rank;     /* of the output of the last call */
    int64_t dims[ASSAY_MAX_RANK];
    uint64_t output_bytes; /* over all calls */
    uint64_t parameters;   /* trained ones; the bytes include the others */
    uint64_t parameter_bytes;
    uint64_t macs;  /* multiply-adds of convolutions and products */
    uint64_t flops; /* other arithmetic */
    double mean_ns; /* only with ASSAY_NEEDS_RUN; NaN if unknown */
};

/* Sums over the graph, for the whole batch. */
struct assay_totals {
    uint64_t images; /* in the batch */
    uint64_t parameters, parameter_bytes, buffer_bytes;
    uint64_t macs;      /* of convolutions and products */
    uint64_t norm_macs; /* two per element that a batch norm writes */
    uint64_t input_bytes;
    uint64_t activation_bytes; /* by the rule of docs/metrics.md */
    uint64_t n_unknown;        /* layers missing from the sums */
    uint64_t buffers; /* numbers that are not trained: running statistics */
};

/* Measurements of the forward pass, one batch at a time. */
struct assay_measured {
    uint64_t n;      /* passes */
    uint64_t images; /* per batch */
    int threads;
    double median_ns, low_ns, high_ns; /* with its 95 % interval */
    double mean_ns, p95_ns, min_ns, max_ns;
    double peak_bytes; /* most that tensors took at once; NaN: unknown */
    /* The mean leaves out disturbed passes (docs/statistics.md); its 95 %
     * interval is NaN if there are too few. */
    double mean_low_ns, mean_high_ns;
};

/* Figures of the evaluation on a dataset. */
struct assay_evaluated {
    uint64_t n;                  /* samples */
    double total_ns, forward_ns; /* with reading etc.; the model alone */
};

struct assay_metric_input {
    const char *model, *class_name;
    const struct assay_totals *totals;
    const struct assay_parameter *parameters;
    size_t n_parameters;
    const struct assay_layer *layers;
    size_t n_layers;
    const struct assay_measured *measured;   /* NULL: not needed */
    const struct assay_evaluated *evaluated; /* NULL: not needed */
    const char *const *arguments; /* values, in the function's order */
};

/* ---- datasets --------------------------------------------------------- */

struct assay_box {
    double x, y, width, height; /* in pixels */
    int64_t label;
    int is_crowd;
};

struct assay_target {
    int64_t image; /* its index in the dataset */
    int64_t label; /* for classification; -1: none */
    const struct assay_box *boxes;
    size_t n_boxes;
};

/* A sample after it went through the model. */
struct assay_sample {
    const struct assay_tensor *outputs; /* of this sample alone */
    size_t n_outputs;
    struct assay_target target;
};

/* ---- the function ----------------------------------------------------- */

struct assay_argument {
    const char *name;  /* "threshold"; "split", "batch" and "dataset" are set
                          by the profiler */
    const char *value; /* default; NULL: must be set */
    const char *help;
};

struct assay_metric_function {
    const char *name; /* for messages */
    const struct assay_metric *metrics;
    size_t n_metrics;
    unsigned needs; /* of enum assay_needs */
    const struct assay_argument *arguments;
    size_t n_arguments;
    void *context; /* passed to the functions below */

    /* begin is called first; sample for each sample, with ASSAY_NEEDS_DATASET.
     * Either may be NULL. */
    enum assay_status (*begin)(void *context,
                               const struct assay_metric_input *input,
                               struct assay_error *error);
    enum assay_status (*sample)(void *context,
                                const struct assay_sample *sample,
                                struct assay_error *error);

    /* Fills in one value for each of `metrics`. NaN is refused. */
    enum assay_status (*compute)(void *context,
                                 const struct assay_metric_input *input,
                                 double *values, struct assay_error *error);
};

struct assay_metric_plugin {
    uint32_t api_version; /* ASSAY_METRIC_API */
    uint32_t n_functions;
    const struct assay_metric_function *functions;
};

/* What a plug-in exports. */
ASSAY_API extern const struct assay_metric_plugin assay_metric_plugin;

#ifdef __cplusplus
}
#endif
#endif
