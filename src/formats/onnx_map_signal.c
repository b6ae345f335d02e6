/* formats/onnx_map_signal.c - what sounds are taken apart with. */
#include "formats/onnx_ops.h"
#include "ops/ops.h"
#include "ops/signal.h"

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

const struct onnx_op onnx_signal_ops[] = {
    {"BlackmanWindow", 17, 17, 1, 1, import_blackman},
    {"DFT", 17, 17, 1, 2, import_dft},
    {"HammingWindow", 17, 17, 1, 1, import_hamming},
    {"HannWindow", 17, 17, 1, 1, import_hann},
    {"MelWeightMatrix", 17, 17, 5, 5, import_mel},
    {"STFT", 17, 17, 2, 4, import_stft},
    {0},
};
