/* formats/onnx/onnx_map_recurrent.c - RNN, LSTM, GRU. */
#include "formats/onnx/onnx_import_internal.h"
#include "ops/ops.h"
#include "ops/sequence/recurrent.h"

#include <string.h>
#include <strings.h>

/* Activation functions: how many numbers each takes, and their defaults. */
static const struct {
    const char *name;
    int n;
    float alpha, beta;
} functions[RECURRENT_FUNCTIONS] = {
    [RECURRENT_SIGMOID] = {"Sigmoid", 0, 0, 0},
    [RECURRENT_TANH] = {"Tanh", 0, 0, 0},
    [RECURRENT_RELU] = {"Relu", 0, 0, 0},
    [RECURRENT_AFFINE] = {"Affine", 2, 1, 0},
    [RECURRENT_LEAKY_RELU] = {"LeakyRelu", 1, 0.01F, 0},
    [RECURRENT_THRESHOLDED_RELU] = {"ThresholdedRelu", 1, 1, 0},
    [RECURRENT_SCALED_TANH] = {"ScaledTanh", 2, 1, 1},
    [RECURRENT_HARD_SIGMOID] = {"HardSigmoid", 2, 0.2F, 0.5F},
    [RECURRENT_ELU] = {"Elu", 1, 1, 0},
    [RECURRENT_SOFTSIGN] = {"Softsign", 0, 0, 0},
    [RECURRENT_SOFTPLUS] = {"Softplus", 0, 0, 0},
};

static enum recurrent_function find_function(struct onnx_call *call,
                                             const char *name)
{
    for (int i = 0; i < RECURRENT_FUNCTIONS; i++) {
        if (strcasecmp(functions[i].name, name) == 0)
            return (enum recurrent_function)i;
    }
    onnx_fail(call, ASSAY_UNSUPPORTED, "activation '%s' is not supported",
              name);
    return RECURRENT_TANH;
}

/* The next number of a list; only functions that take numbers have one. */
static float next_number(const float *numbers, size_t n, size_t *used,
                         float fallback)
{
    return *used < n ? numbers[(*used)++] : fallback;
}

/* The functions of each op, if the file names none. */
static const struct {
    const char *op_type;
    size_t n;
    enum recurrent_function functions[3];
} usual_functions[] = {
    {"RNN", 1, {RECURRENT_TANH}},
    {"GRU", 2, {RECURRENT_SIGMOID, RECURRENT_TANH}},
    {"LSTM", 3, {RECURRENT_SIGMOID, RECURRENT_TANH, RECURRENT_TANH}},
};

/* n_each functions per direction: those of the file, or the usual ones. */
static void read_activations(struct onnx_call *call,
                             struct recurrent_attrs *attrs,
                             const enum recurrent_function *usual,
                             size_t n_each)
{
    const char *const *names;
    const float *alphas, *betas;
    size_t n = onnx_texts(call, "activations", &names);
    size_t n_alphas = onnx_floats(call, "activation_alpha", &alphas);
    size_t n_betas = onnx_floats(call, "activation_beta", &betas);
    size_t used_alphas = 0, used_betas = 0;

    if (n && n != n_each * (size_t)attrs->directions)
        onnx_fail(call, ASSAY_BAD_INPUT,
                  "it has %zu activations instead of %zu", n,
                  n_each * (size_t)attrs->directions);
    for (size_t i = 0; !call->st && i < n_each * (size_t)attrs->directions;
         i++) {
        enum recurrent_function function =
            n ? find_function(call, names[i]) : usual[i % n_each];
        struct recurrent_activation made = {.function = function,
                                            .alpha = functions[function].alpha,
                                            .beta = functions[function].beta};

        if (functions[function].n > 0)
            made.alpha =
                next_number(alphas, n_alphas, &used_alphas, made.alpha);
        if (functions[function].n > 1)
            made.beta = next_number(betas, n_betas, &used_betas, made.beta);
        attrs->activations[i / n_each][i % n_each] = made;
    }
}

static struct recurrent_attrs onnx_recurrent_read_attrs(struct onnx_call *call)
{
    const char *direction = onnx_text(call, "direction", "forward");
    const struct tensor *r = onnx_known(call, onnx_input(call, 2));
    struct recurrent_attrs attrs = {
        .hidden = onnx_int(call, "hidden_size",
                           r && r->shape.rank == 3 ? r->shape.dims[2] : 0),
        .directions = strcmp(direction, "bidirectional") == 0 ? 2 : 1,
        .is_reverse = strcmp(direction, "reverse") == 0,
        .is_batch_first = onnx_int(call, "layout", 0),
        .resets_after = onnx_int(call, "linear_before_reset", 0),
        .couples_forget = onnx_int(call, "input_forget", 0),
        .clip = onnx_float(call, "clip", 0)};

    if (attrs.hidden < 1 || attrs.hidden > INT32_MAX)
        onnx_fail(call, ASSAY_BAD_INPUT, "hidden_size is %lld",
                  (long long)attrs.hidden);
    return attrs;
}

static void import_recurrent(struct onnx_call *call)
{
    struct recurrent_attrs attrs = onnx_recurrent_read_attrs(call);
    size_t i = 0;

    while (strcmp(usual_functions[i].op_type, call->node->op_type) != 0)
        i++;
    read_activations(call, &attrs, usual_functions[i].functions,
                     usual_functions[i].n);
    onnx_emit_named(call, &attrs);
}

const struct onnx_op onnx_recurrent_ops[] = {
    {"GRU", 3, ONNX_NOW, 3, 6, import_recurrent},
    {"LSTM", 1, ONNX_NOW, 3, 8, import_recurrent},
    {"RNN", 1, ONNX_NOW, 3, 6, import_recurrent},
    {0},
};
