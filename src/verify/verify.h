/* verify/verify.h - does the engine compute what a model's vectors say?
 *
 * A folder of vectors is one as the ONNX project keeps them: input_0.pb ...
 * and output_0.pb ... in the order of the graph's inputs and outputs. Stands on
 * engine and formats.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VERIFY_VERIFY_H
#define VERIFY_VERIFY_H

#include "base/arena.h"
#include "engine/engine.h"
#include "formats/onnx/onnx.h"

struct verify_options {
    struct onnx_options onnx;
    const struct backend_class *backend; /* NULL: the portable one */
    int n_threads;
    bool is_plain;     /* nothing fused */
    double rtol, atol; /* |got - wanted| <= atol + rtol * |wanted| */
};

/* One output of one set of vectors. */
struct verify_output {
    const char *set;  /* the folder's name */
    const char *name; /* of the output */
    enum dtype dtype; /* that was computed */
    struct shape shape;
    struct shape wanted_shape;
    enum dtype wanted_dtype;
    bool is_match;
    size_t n_different; /* elements, where type and shape are as wanted */
    double largest;     /* of the differences */
    size_t at;          /* the first element that differs, and its values */
    double got, wanted;
};

struct verify_report {
    struct arena memory;
    struct verify_output *outputs;
    size_t n_outputs, outputs_capacity;
    size_t n_sets, n_failed; /* sets; outputs that differ */
    size_t n_nodes;          /* of the model, as it ran */
    uint64_t parameters;     /* elements of its initializers */
};

void verify_report_release(struct verify_report *report); /* start from {0} */

/* Runs the model on every set: `data` itself, or the folders test_data_set_*
 * in it. ASSAY_OK also where values differ (report.n_failed). */
enum assay_status verify_model(const char *model, const char *data,
                               const struct verify_options *options,
                               struct verify_report *report, struct error *err);

/* Compares element by element; NaN matches NaN, an infinity itself. */
void verify_compare(const struct tensor *got, const struct tensor *wanted,
                    const struct verify_options *options,
                    struct verify_output *out);

#endif
