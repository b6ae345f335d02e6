/* verify/verify.h - compares what the engine computes with test vectors.
 *
 * Vectors are folders in the ONNX project's format: input_0.pb ... and
 * output_0.pb ... in the order of the graph's inputs and outputs.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VERIFY_VERIFY_H
#define VERIFY_VERIFY_H

#include "base/arena.h"
#include "engine/engine.h"
#include "formats/onnx/onnx.h"

struct verify_options {
    struct model_file_options file;
    const struct device *device; /* NULL: device_portable */
    int n_threads;
    bool is_plain;     /* fuses nothing */
    bool is_quantised; /* one step of a quantised output is no difference */
    double rtol, atol; /* |got - wanted| <= atol + rtol * |wanted| */
};

/* One output of one set of vectors. */
struct verify_output {
    const char *set;  /* the folder's name */
    const char *name; /* of the output */
    enum dtype dtype; /* computed */
    struct shape shape;
    struct shape wanted_shape;
    enum dtype wanted_dtype;
    bool is_match;
    size_t n_different; /* elements, if type and shape match */
    double largest;     /* difference */
    size_t at;          /* the first element that differs, and its values */
    double got, wanted;
    double step; /* one quantisation step of the output; NaN: it is not
                    quantised, or its steps differ along an axis */
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

/* Runs the model on every set: `data` itself, or the folders test_data_set_* in
 * it. ASSAY_OK also if values differ (report.n_failed). */
enum assay_status verify_model(const char *model, const char *data,
                               const struct verify_options *options,
                               struct verify_report *report, struct error *err);

/* Whether the output differs, but by at most that many quantisation steps. */
bool verify_is_within_steps(const struct verify_output *output, double steps);

/* Compares element by element; NaN matches NaN, an infinity matches itself. */
void verify_compare(const struct tensor *got, const struct tensor *wanted,
                    const struct verify_options *options,
                    struct verify_output *out);

#endif
