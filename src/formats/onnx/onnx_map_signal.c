/* formats/onnx/onnx_map_signal.c - ops for audio and text. */
#include "formats/onnx/onnx_import_internal.h"
#include "ops/ops.h"
#include "ops/sequence/signal.h"
#include "ops/sequence/tf_idf.h"

#include <string.h>

static const struct {
    const char *op_type;
    double a0, a1, a2;
} windows[] = {
    {"HannWindow", 0.5, 0.5, 0},
    {"HammingWindow", 25.0 / 46, 21.0 / 46, 0},
    {"BlackmanWindow", 0.42, 0.5, 0.08},
};

static void import_window(struct onnx_call *call)
{
    struct window_function_attrs attrs = {
        .is_periodic = onnx_int(call, "periodic", 1),
        .dtype = onnx_type(call, "output_datatype", 1)};
    size_t i = 0;

    while (strcmp(windows[i].op_type, call->node->op_type) != 0)
        i++;
    attrs.a0 = windows[i].a0;
    attrs.a1 = windows[i].a1;
    attrs.a2 = windows[i].a2;
    onnx_emit(call, &op_window_function, &attrs);
}

static void import_dft(struct onnx_call *call)
{
    /* Since opset 20 the axis is an input. */
    struct dft_attrs attrs = {
        .axis = call->opset < 20 ? onnx_int(call, "axis", 1) : -2,
        .is_inverse = onnx_int(call, "inverse", 0),
        .is_one_sided = onnx_int(call, "onesided", 0)};

    onnx_emit(call, &op_dft, &attrs);
}

static void import_stft(struct onnx_call *call)
{
    struct dft_attrs attrs = {.is_one_sided = onnx_int(call, "onesided", 1)};

    onnx_emit(call, &op_stft, &attrs);
}

static void import_mel(struct onnx_call *call)
{
    struct mel_weight_attrs attrs = {.dtype =
                                         onnx_type(call, "output_datatype", 1)};

    onnx_emit(call, &op_mel_weight_matrix, &attrs);
}

/* Sequences of numbers are supported, those of text are not. */
static void import_tf_idf(struct onnx_call *call)
{
    static const char *const modes[] = {[TF_IDF_COUNTS] = "TF",
                                        [TF_IDF_WEIGHTS] = "IDF",
                                        [TF_IDF_BOTH] = "TFIDF"};
    struct tf_idf_attrs attrs = {
        .mode = (enum tf_idf_mode)ONNX_CHOOSE(call, "mode", "TF", modes),
        .min_length = onnx_int(call, "min_gram_length", 1),
        .max_length = onnx_int(call, "max_gram_length", 1),
        .max_skip = onnx_int(call, "max_skip_count", 0)};
    const int64_t *pool, *starts, *columns;
    const float *weights;
    size_t n_pool = onnx_ints(call, "pool_int64s", &pool);
    size_t n_starts = onnx_ints(call, "ngram_counts", &starts);
    size_t n_columns = onnx_ints(call, "ngram_indexes", &columns);
    size_t n_weights = onnx_floats(call, "weights", &weights);
    uint32_t inputs[5];

    if (!n_pool || attrs.max_skip < 0 || attrs.max_skip > INT16_MAX)
        onnx_fail(call, ASSAY_UNSUPPORTED,
                  "pool_int64s of %zu numbers with a max_skip_count of %lld "
                  "is not supported",
                  n_pool, (long long)attrs.max_skip);
    inputs[0] = onnx_input(call, 0);
    inputs[1] = onnx_new_i64s(call, pool, n_pool);
    inputs[2] = onnx_new_i64s(call, starts, n_starts);
    inputs[3] = onnx_new_i64s(call, columns, n_columns);
    inputs[4] =
        n_weights ? onnx_new_f32s(call, weights, n_weights) : GRAPH_NONE;
    onnx_emit_inputs(call, &op_tf_idf, &attrs, inputs, 5);
}

const struct onnx_op onnx_signal_ops[] = {
    {"BlackmanWindow", 17, ONNX_NOW, 1, 1, import_window},
    {"DFT", 17, 19, 1, 2, import_dft},
    {"DFT", 20, ONNX_NOW, 1, 3, import_dft},
    {"HammingWindow", 17, ONNX_NOW, 1, 1, import_window},
    {"HannWindow", 17, ONNX_NOW, 1, 1, import_window},
    {"MelWeightMatrix", 17, ONNX_NOW, 5, 5, import_mel},
    {"STFT", 17, ONNX_NOW, 2, 4, import_stft},
    {"TfIdfVectorizer", 9, ONNX_NOW, 1, 1, import_tf_idf},
    {0},
};
