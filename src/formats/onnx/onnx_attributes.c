/* formats/onnx/onnx_attributes.c - see onnx_frame_internal.h: every attribute
 * of every op, and what becomes of it.
 *
 * An attribute that is silently left out makes wrong results. A mapping asks
 * for the handled ones, in any order; what it must not ask for has a rule of
 * its own below. tests/formats/onnx_attributes_test.c compares the tables with
 * those of the standard. */
#include "formats/onnx/onnx_frame_internal.h"

#include <stdlib.h>
#include <string.h>

/* In the order of the names, with spaces between those of the attributes. */
static const struct handled_attributes {
    const char *op_type, *names;
} handled[] = {
    {"Add", "axis broadcast"},
    {"AffineGrid", "align_corners"},
    {"And", "axis broadcast"},
    {"ArgMax", "axis keepdims select_last_index"},
    {"ArgMin", "axis keepdims select_last_index"},
    {"Attention", "is_causal kv_num_heads left_window_size q_num_heads "
                  "qk_matmul_output_mode right_window_size scale softcap "
                  "softmax_precision"},
    {"AveragePool",
     "auto_pad ceil_mode count_include_pad dilations kernel_shape "
     "pads strides"},
    {"BatchNormalization", "epsilon is_test spatial training_mode"},
    {"Bernoulli", "dtype seed"},
    {"BitCast", "to"},
    {"BitShift", "direction"},
    {"BlackmanWindow", "output_datatype periodic"},
    {"Cast", "saturate to"},
    {"CastLike", "round_mode saturate"},
    {"CausalConvWithState", "activation"},
    {"Celu", "alpha"},
    {"CenterCropPad", "axes"},
    {"Clip", "max min"},
    {"Col2Im", "dilations pads strides"},
    {"Compress", "axis"},
    {"Concat", "axis"},
    {"ConcatFromSequence", "axis new_axis"},
    {"Constant", "sparse_value value value_float value_floats value_int "
                 "value_ints"},
    {"ConstantOfShape", "value"},
    {"Conv", "auto_pad dilations group kernel_shape pads strides"},
    {"ConvInteger", "auto_pad dilations group kernel_shape pads strides"},
    {"ConvTranspose", "auto_pad dilations group kernel_shape output_padding "
                      "output_shape pads strides"},
    {"CumProd", "exclusive reverse"},
    {"CumSum", "exclusive reverse"},
    {"DFT", "axis inverse onesided"},
    {"DeformConv", "dilations group kernel_shape offset_group pads strides"},
    {"DepthToSpace", "blocksize mode"},
    {"DequantizeLinear", "axis block_size output_dtype"},
    {"Div", "axis broadcast"},
    {"Dropout", "ratio"},
    {"Einsum", "equation"},
    {"Elu", "alpha"},
    {"Equal", "axis broadcast"},
    {"EyeLike", "dtype k"},
    {"Flatten", "axis"},
    {"GRU", "activation_alpha activation_beta activations clip direction "
            "hidden_size layout linear_before_reset"},
    {"Gather", "axis"},
    {"GatherElements", "axis"},
    {"GatherND", "batch_dims"},
    {"Gelu", "approximate"},
    {"Gemm", "alpha beta transA transB"},
    {"GlobalLpPool", "p"},
    {"Greater", "axis broadcast"},
    {"GridSample", "align_corners mode padding_mode"},
    {"GroupNormalization", "epsilon num_groups"},
    {"HammingWindow", "output_datatype periodic"},
    {"HannWindow", "output_datatype periodic"},
    {"HardSigmoid", "alpha beta"},
    {"Hardmax", "axis"},
    {"If", "else_branch then_branch"},
    {"InstanceNormalization", "epsilon"},
    {"IsInf", "detect_negative detect_positive"},
    {"LRN", "alpha beta bias size"},
    {"LSTM", "activation_alpha activation_beta activations clip direction "
             "hidden_size input_forget layout"},
    {"LayerNormalization", "axis epsilon"},
    {"LeakyRelu", "alpha"},
    {"Less", "axis broadcast"},
    {"LinearAttention", "kv_num_heads q_num_heads scale update_rule"},
    {"LogSoftmax", "axis"},
    {"Loop", "body"},
    {"LpNormalization", "axis p"},
    {"LpPool", "auto_pad ceil_mode dilations kernel_shape p pads strides"},
    {"MaxPool", "auto_pad ceil_mode dilations kernel_shape pads storage_order "
                "strides"},
    {"MaxUnpool", "kernel_shape pads strides"},
    {"MeanVarianceNormalization", "axes"},
    {"MelWeightMatrix", "output_datatype"},
    {"Mod", "fmod"},
    {"Mul", "axis broadcast"},
    {"Multinomial", "dtype sample_size seed"},
    {"NegativeLogLikelihoodLoss", "ignore_index reduction"},
    {"NonMaxSuppression", "center_point_box"},
    {"OneHot", "axis"},
    {"Or", "axis broadcast"},
    {"Pad", "mode paddings pads value"},
    {"Pow", "axis broadcast"},
    {"QLinearConv", "auto_pad dilations group kernel_shape pads strides"},
    {"QuantizeLinear", "axis block_size output_dtype saturate"},
    {"RMSNormalization", "axis epsilon"},
    {"RNN", "activation_alpha activation_beta activations clip direction "
            "hidden_size layout"},
    {"RandomNormal", "dtype mean scale seed shape"},
    {"RandomNormalLike", "dtype mean scale seed"},
    {"RandomUniform", "dtype high low seed shape"},
    {"RandomUniformLike", "dtype high low seed"},
    {"ReduceL1", "axes keepdims noop_with_empty_axes"},
    {"ReduceL2", "axes keepdims noop_with_empty_axes"},
    {"ReduceLogSum", "axes keepdims noop_with_empty_axes"},
    {"ReduceLogSumExp", "axes keepdims noop_with_empty_axes"},
    {"ReduceMax", "axes keepdims noop_with_empty_axes"},
    {"ReduceMean", "axes keepdims noop_with_empty_axes"},
    {"ReduceMin", "axes keepdims noop_with_empty_axes"},
    {"ReduceProd", "axes keepdims noop_with_empty_axes"},
    {"ReduceSum", "axes keepdims noop_with_empty_axes"},
    {"ReduceSumSquare", "axes keepdims noop_with_empty_axes"},
    {"Reshape", "allowzero shape"},
    {"Resize", "antialias axes coordinate_transformation_mode cubic_coeff_a "
               "exclude_outside extrapolation_value keep_aspect_ratio_policy "
               "mode nearest_mode"},
    {"ReverseSequence", "batch_axis time_axis"},
    {"RoiAlign", "coordinate_transformation_mode mode output_height "
                 "output_width sampling_ratio spatial_scale"},
    {"RotaryEmbedding", "interleaved num_heads rotary_embedding_dim"},
    {"STFT", "onesided"},
    {"Scan", "body num_scan_inputs scan_input_axes "
             "scan_input_directions scan_output_axes "
             "scan_output_directions"},
    {"Scatter", "axis"},
    {"ScatterElements", "axis reduction"},
    {"ScatterND", "reduction"},
    {"Selu", "alpha gamma"},
    {"SequenceMap", "body"},
    {"Shape", "end start"},
    {"Shrink", "bias lambd"},
    {"Slice", "axes ends starts"},
    {"Softmax", "axis"},
    {"SoftmaxCrossEntropyLoss", "ignore_index reduction"},
    {"SpaceToDepth", "blocksize"},
    {"Split", "axis num_outputs split"},
    {"SplitToSequence", "axis keepdims"},
    {"Squeeze", "axes"},
    {"StringNormalizer", "case_change_action is_case_sensitive stopwords"},
    {"Sub", "axis broadcast"},
    {"Swish", "alpha"},
    {"TensorScatter", "axis mode"},
    {"TfIdfVectorizer", "max_gram_length max_skip_count min_gram_length mode "
                        "ngram_counts ngram_indexes pool_int64s weights"},
    {"ThresholdedRelu", "alpha"},
    {"TopK", "axis k largest"},
    {"Transpose", "perm"},
    {"Trilu", "upper"},
    {"Unique", "axis sorted"},
    {"Unsqueeze", "axes"},
    {"Upsample", "mode scales"},
    {"Xor", "axis broadcast"},
};

enum { n_handled = sizeof handled / sizeof *handled };

static const struct attribute_rule {
    const char *op_type, *name; /* op_type NULL: any */
    enum onnx_attribute_fate fate;
    double only; /* ONNX_ONLY_DEFAULT: this number */
    const char *reason;
} rules[] = {
#define IGNORED(op, attribute, why)                                            \
    {                                                                          \
        op, attribute, ONNX_IGNORED, 0, why                                    \
    }
    IGNORED(NULL, "consumed_inputs", "a hint about memory in opset 1"),
    IGNORED("BatchNormalization", "momentum",
            "says how statistics move in training, where it is handled"),
    IGNORED("Cast", "round_mode",
            "says something for float8e8m0 only, where it is handled"),
    IGNORED("Dropout", "is_test", "opset 6: models are run, not trained"),
    IGNORED("Dropout", "seed", "for training mode, where it is handled"),
    IGNORED("GRU", "output_sequence",
            "opset 6: the outputs that are named are made"),
    IGNORED("Gemm", "broadcast", "opset 6: any shape that fits is broadcast"),
    IGNORED("GroupNormalization", "stash_type",
            "computes in float32, or in the type of x if that is wider"),
    IGNORED("LSTM", "output_sequence",
            "opset 6: the outputs that are named are made"),
    IGNORED("LayerNormalization", "stash_type",
            "computes in float32, or in the type of x if that is wider"),
    IGNORED("LinearAttention", "chunk_size",
            "says how it is computed, not what"),
    IGNORED("Optional", "type", "an optional has the type of its value"),
    IGNORED("QuantizeLinear", "precision",
            "divides in float32, or in the type of x if that is wider"),
    IGNORED("RMSNormalization", "stash_type",
            "computes in float32, or in the type of x if that is wider"),
    IGNORED("RNN", "output_sequence",
            "opset 6: the outputs that are named are made"),
    IGNORED("SequenceEmpty", "dtype", "an empty list has no type here"),
    IGNORED("StringNormalizer", "locale",
            "the case of ASCII is the same in all"),
    IGNORED("TopK", "sorted", "results are sorted always"),
#undef IGNORED
    {"Range", "stash_type", ONNX_ONLY_DEFAULT, 1,
     "computes in the type of its inputs"},
    {"Upsample", "height_scale", ONNX_ONLY_DEFAULT, 1,
     "opset 1 is not supported"},
    {"Upsample", "width_scale", ONNX_ONLY_DEFAULT, 1,
     "opset 1 is not supported"},
    {"Constant", "value_string", ONNX_REFUSED, 0, "strings"},
    {"Constant", "value_strings", ONNX_REFUSED, 0, "strings"},
    {"Scan", "directions", ONNX_REFUSED, 0, "opset 8 is not supported"},
    {"TfIdfVectorizer", "pool_strings", ONNX_REFUSED, 0, "strings"},
};

enum { n_rules = sizeof rules / sizeof *rules };

static int handled_compare(const void *key, const void *item)
{
    return strcmp(key, ((const struct handled_attributes *)item)->op_type);
}

/* Whether a word is in a list of words. */
static bool handled_has(const char *names, const char *name)
{
    size_t length = strlen(name);

    while (*names) {
        size_t n = strcspn(names, " ");

        if (n == length && memcmp(names, name, n) == 0)
            return true;
        names += n + (names[n] == ' ');
    }
    return false;
}

static const struct attribute_rule *rule_find(const char *op_type,
                                              const char *name)
{
    for (size_t i = 0; i < n_rules; i++) {
        if ((!rules[i].op_type || strcmp(rules[i].op_type, op_type) == 0) &&
            strcmp(rules[i].name, name) == 0)
            return &rules[i];
    }
    return NULL;
}

enum onnx_attribute_fate onnx_attribute_fate(const char *op_type,
                                             const char *name)
{
    const struct handled_attributes *row =
        bsearch(op_type, handled, n_handled, sizeof *handled, handled_compare);
    const struct attribute_rule *rule = rule_find(op_type, name);

    if (row && handled_has(row->names, name))
        return ONNX_HANDLED;
    return rule ? rule->fate : ONNX_UNKNOWN;
}

bool onnx_attribute_rule(size_t i, struct onnx_attribute_rule *out)
{
    if (i >= n_rules)
        return false;
    *out = (struct onnx_attribute_rule){.op_type = rules[i].op_type,
                                        .name = rules[i].name,
                                        .fate = rules[i].fate,
                                        .reason = rules[i].reason};
    return true;
}

bool onnx_attribute_handled(size_t i, const char **op_type, const char **names)
{
    if (i >= n_handled)
        return false;
    *op_type = handled[i].op_type;
    *names = handled[i].names;
    return true;
}

/* ---- nodes --------------------------------------------------------------- */

static void onnx_attributes_check_default(struct onnx_call *call,
                                          const struct onnx_attribute *found)
{
    const struct attribute_rule *rule =
        rule_find(call->node->op_type, found->name);
    double given = found->n_f ? (double)found->f : (double)found->i;

    if (given != rule->only)
        onnx_fail(call, ASSAY_UNSUPPORTED,
                  "its attribute '%.60s' is %g; only %g is supported (%s)",
                  found->name, given, rule->only, rule->reason);
}

void onnx_attributes_check(struct onnx_call *call)
{
    const struct onnx_node *node = call->node;

    for (size_t i = 0; i < node->n_attributes; i++) {
        const struct onnx_attribute *found = &node->attributes[i];

        switch (onnx_attribute_fate(node->op_type, found->name)) {
        case ONNX_UNKNOWN:
            onnx_fail(call, ASSAY_UNSUPPORTED,
                      "its attribute '%.60s' is not known", found->name);
            break;
        case ONNX_ONLY_DEFAULT:
            onnx_attributes_check_default(call, found);
            break;
        case ONNX_REFUSED:
            onnx_fail(call, ASSAY_UNSUPPORTED,
                      "its attribute '%.60s' is not supported (%s)",
                      found->name,
                      rule_find(node->op_type, found->name)->reason);
            break;
        case ONNX_HANDLED:
        case ONNX_IGNORED:
            break;
        }
    }
}

void onnx_attributes_check_asked(struct onnx_call *call)
{
    const struct onnx_node *node = call->node;

    for (size_t i = 0; i < node->n_attributes; i++) {
        const struct onnx_attribute *found = &node->attributes[i];

        if ((i >= 64 || !(*call->asked >> i & 1)) &&
            onnx_attribute_fate(node->op_type, found->name) == ONNX_HANDLED)
            onnx_fail(call, ASSAY_UNSUPPORTED,
                      "its attribute '%.60s' means nothing in opset %lld",
                      found->name, (long long)call->opset);
    }
}
