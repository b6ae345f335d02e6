/* formats/onnx/onnx_map_signal.c - what sounds and texts are taken apart
 * with. */
#include "formats/onnx/onnx_ops_internal.h"
#include "ops/ops.h"
#include "ops/sequence/signal.h"
#include "ops/sequence/tf_idf.h"

#include <string.h>

static enum dtype read_dtype(struct onnx_call *call)
{
    enum dtype dtype = DTYPE_F32;
    int64_t wanted = onnx_int(call, "output_datatype", 1);

    if (!onnx_dtype(wanted, &dtype))
        onnx_fail(call, ASSAY_UNSUPPORTED, "type %lld is not supported",
                  (long long)wanted);
    return dtype;
}

static void emit_window(struct onnx_call *call, double a0, double a1, double a2)
{
    struct window_function_attrs attrs = {.a0 = a0,
                                          .a1 = a1,
                                          .a2 = a2,
                                          .is_periodic =
                                              onnx_int(call, "periodic", 1),
                                          .dtype = read_dtype(call)};

    onnx_emit(call, &op_window_function, &attrs);
}

static void import_hann(struct onnx_call *call)
{
    emit_window(call, 0.5, 0.5, 0);
}

static void import_hamming(struct onnx_call *call)
{
    emit_window(call, 25.0 / 46, 21.0 / 46, 0);
}

static void import_blackman(struct onnx_call *call)
{
    emit_window(call, 0.42, 0.5, 0.08);
}

static void import_dft(struct onnx_call *call)
{
    struct dft_attrs attrs = {.axis = onnx_int(call, "axis", 1),
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
    struct mel_weight_attrs attrs = {.dtype = read_dtype(call)};

    onnx_emit(call, &op_mel_weight_matrix, &attrs);
}

/* Sequences of texts are texts; those of numbers are supported. */
static void import_tf_idf(struct onnx_call *call)
{
    static const char *const modes[] = {[TF_IDF_COUNTS] = "TF",
                                        [TF_IDF_WEIGHTS] = "IDF",
                                        [TF_IDF_BOTH] = "TFIDF"};
    const char *mode = onnx_text(call, "mode", "TF");
    struct tf_idf_attrs attrs = {
        .min_length = onnx_int(call, "min_gram_length", 1),
        .max_length = onnx_int(call, "max_gram_length", 1),
        .max_skip = onnx_int(call, "max_skip_count", 0)};
    const int64_t *pool, *starts, *columns;
    const float *weights;
    size_t n_pool = onnx_ints(call, "pool_int64s", &pool);
    size_t n_starts = onnx_ints(call, "ngram_counts", &starts);
    size_t n_columns = onnx_ints(call, "ngram_indexes", &columns);
    size_t n_weights = onnx_floats(call, "weights", &weights), i = 0;
    uint32_t inputs[5];

    while (i < 3 && strcmp(modes[i], mode) != 0)
        i++;
    if (i == 3 || !n_pool || attrs.max_skip < 0 || attrs.max_skip > INT16_MAX)
        onnx_fail(call, ASSAY_UNSUPPORTED,
                  "mode '%s' of %zu numbers with %lld skipped", mode, n_pool,
                  (long long)attrs.max_skip);
    attrs.mode = (enum tf_idf_mode)i;
    inputs[0] = onnx_input(call, 0);
    inputs[1] = onnx_new_i64s(call, pool, n_pool);
    inputs[2] = onnx_new_i64s(call, starts, n_starts);
    inputs[3] = onnx_new_i64s(call, columns, n_columns);
    inputs[4] =
        n_weights ? onnx_new_f32s(call, weights, n_weights) : GRAPH_NONE;
    onnx_emit_inputs(call, &op_tf_idf, &attrs, inputs, 5);
}

const struct onnx_op onnx_signal_ops[] = {
    {"BlackmanWindow", 17, 17, 1, 1, import_blackman},
    {"DFT", 17, 17, 1, 2, import_dft},
    {"HammingWindow", 17, 17, 1, 1, import_hamming},
    {"HannWindow", 17, 17, 1, 1, import_hann},
    {"MelWeightMatrix", 17, 17, 5, 5, import_mel},
    {"STFT", 17, 17, 2, 4, import_stft},
    {"TfIdfVectorizer", 9, 17, 1, 1, import_tf_idf},
    {0},
};
