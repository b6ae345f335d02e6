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

/* In the order of the op types. An attribute is followed by the types that it
 * may have: see type_letters. */
static const struct handled_attributes {
    const char *op_type, *names;
} handled[] = {
    {"Add", "axis:i broadcast:i"},
    {"AffineGrid", "align_corners:i"},
    {"And", "axis:i broadcast:i"},
    {"ArgMax", "axis:i keepdims:i select_last_index:i"},
    {"ArgMin", "axis:i keepdims:i select_last_index:i"},
    {"Attention", "is_causal:i kv_num_heads:i left_window_size:i q_num_heads:i "
                  "qk_matmul_output_mode:i right_window_size:i scale:f "
                  "softcap:f softmax_precision:i"},
    {"AveragePool", "auto_pad:s ceil_mode:i count_include_pad:i dilations:I "
                    "kernel_shape:I pads:I strides:I"},
    {"BatchNormalization", "epsilon:f is_test:i spatial:i training_mode:i"},
    {"Bernoulli", "dtype:i seed:f"},
    {"BitCast", "to:i"},
    {"BitShift", "direction:s"},
    {"BlackmanWindow", "output_datatype:i periodic:i"},
    {"Cast", "saturate:i to:is"},
    {"CastLike", "round_mode:s saturate:i"},
    {"CausalConvWithState", "activation:s"},
    {"Celu", "alpha:f"},
    {"CenterCropPad", "axes:I"},
    {"Clip", "max:f min:f"},
    {"Col2Im", "dilations:I pads:I strides:I"},
    {"Compress", "axis:i"},
    {"Concat", "axis:i"},
    {"ConcatFromSequence", "axis:i new_axis:i"},
    {"Constant", "sparse_value:p value:t value_float:f value_floats:F "
                 "value_int:i value_ints:I"},
    {"ConstantOfShape", "value:t"},
    {"Conv", "auto_pad:s dilations:I group:i kernel_shape:I pads:I strides:I"},
    {"ConvInteger", "auto_pad:s dilations:I group:i kernel_shape:I pads:I "
                    "strides:I"},
    {"ConvTranspose", "auto_pad:s dilations:I group:i kernel_shape:I "
                      "output_padding:I output_shape:I pads:I strides:I"},
    {"CumProd", "exclusive:i reverse:i"},
    {"CumSum", "exclusive:i reverse:i"},
    {"DFT", "axis:i inverse:i onesided:i"},
    {"DeformConv", "dilations:I group:i kernel_shape:I offset_group:i pads:I "
                   "strides:I"},
    {"DepthToSpace", "blocksize:i mode:s"},
    {"DequantizeLinear", "axis:i block_size:i output_dtype:i"},
    {"Div", "axis:i broadcast:i"},
    {"Dropout", "ratio:f"},
    {"Einsum", "equation:s"},
    {"Elu", "alpha:f"},
    {"Equal", "axis:i broadcast:i"},
    {"EyeLike", "dtype:i k:i"},
    {"Flatten", "axis:i"},
    {"GRU", "activation_alpha:F activation_beta:F activations:S clip:f "
            "direction:s hidden_size:i layout:i linear_before_reset:i"},
    {"Gather", "axis:i"},
    {"GatherElements", "axis:i"},
    {"GatherND", "batch_dims:i"},
    {"Gelu", "approximate:s"},
    {"Gemm", "alpha:f beta:f transA:i transB:i"},
    {"GlobalLpPool", "p:fi"},
    {"Greater", "axis:i broadcast:i"},
    {"GridSample", "align_corners:i mode:s padding_mode:s"},
    {"GroupNormalization", "epsilon:f num_groups:i"},
    {"HammingWindow", "output_datatype:i periodic:i"},
    {"HannWindow", "output_datatype:i periodic:i"},
    {"HardSigmoid", "alpha:f beta:f"},
    {"Hardmax", "axis:i"},
    {"If", "else_branch:g then_branch:g"},
    {"InstanceNormalization", "epsilon:f"},
    {"IsInf", "detect_negative:i detect_positive:i"},
    {"LRN", "alpha:f beta:f bias:f size:i"},
    {"LSTM", "activation_alpha:F activation_beta:F activations:S clip:f "
             "direction:s hidden_size:i input_forget:i layout:i"},
    {"LayerNormalization", "axis:i epsilon:f"},
    {"LeakyRelu", "alpha:f"},
    {"Less", "axis:i broadcast:i"},
    {"LinearAttention", "kv_num_heads:i q_num_heads:i scale:f update_rule:s"},
    {"LogSoftmax", "axis:i"},
    {"Loop", "body:g"},
    {"LpNormalization", "axis:i p:i"},
    {"LpPool", "auto_pad:s ceil_mode:i dilations:I kernel_shape:I p:fi "
               "pads:I strides:I"},
    {"MaxPool", "auto_pad:s ceil_mode:i dilations:I kernel_shape:I pads:I "
                "storage_order:i strides:I"},
    {"MaxUnpool", "kernel_shape:I pads:I strides:I"},
    {"MeanVarianceNormalization", "axes:I"},
    {"MelWeightMatrix", "output_datatype:i"},
    {"Mod", "fmod:i"},
    {"Mul", "axis:i broadcast:i"},
    {"Multinomial", "dtype:i sample_size:i seed:f"},
    {"NegativeLogLikelihoodLoss", "ignore_index:i reduction:s"},
    {"NonMaxSuppression", "center_point_box:i"},
    {"OneHot", "axis:i"},
    {"Or", "axis:i broadcast:i"},
    {"Pad", "mode:s paddings:I pads:I value:f"},
    {"Pow", "axis:i broadcast:i"},
    {"QGemm", "alpha:f transA:i transB:i"},
    {"QLinearConcat", "axis:i"},
    {"QLinearConv", "auto_pad:s dilations:I group:i kernel_shape:I pads:I "
                    "strides:I"},
    {"QLinearGlobalAveragePool", "channels_last:i"},
    {"QLinearLeakyRelu", "alpha:f"},
    {"QuantizeLinear", "axis:i block_size:i output_dtype:i saturate:i"},
    {"RMSNormalization", "axis:i epsilon:f"},
    {"RNN", "activation_alpha:F activation_beta:F activations:S clip:f "
            "direction:s hidden_size:i layout:i"},
    {"RandomNormal", "dtype:i mean:f scale:f seed:f shape:I"},
    {"RandomNormalLike", "dtype:i mean:f scale:f seed:f"},
    {"RandomUniform", "dtype:i high:f low:f seed:f shape:I"},
    {"RandomUniformLike", "dtype:i high:f low:f seed:f"},
    {"ReduceL1", "axes:I keepdims:i noop_with_empty_axes:i"},
    {"ReduceL2", "axes:I keepdims:i noop_with_empty_axes:i"},
    {"ReduceLogSum", "axes:I keepdims:i noop_with_empty_axes:i"},
    {"ReduceLogSumExp", "axes:I keepdims:i noop_with_empty_axes:i"},
    {"ReduceMax", "axes:I keepdims:i noop_with_empty_axes:i"},
    {"ReduceMean", "axes:I keepdims:i noop_with_empty_axes:i"},
    {"ReduceMin", "axes:I keepdims:i noop_with_empty_axes:i"},
    {"ReduceProd", "axes:I keepdims:i noop_with_empty_axes:i"},
    {"ReduceSum", "axes:I keepdims:i noop_with_empty_axes:i"},
    {"ReduceSumSquare", "axes:I keepdims:i noop_with_empty_axes:i"},
    {"Reshape", "allowzero:i shape:I"},
    {"Resize", "antialias:i axes:I coordinate_transformation_mode:s "
               "cubic_coeff_a:f exclude_outside:i extrapolation_value:f "
               "keep_aspect_ratio_policy:s mode:s nearest_mode:s"},
    {"ReverseSequence", "batch_axis:i time_axis:i"},
    {"RoiAlign", "coordinate_transformation_mode:s mode:s output_height:i "
                 "output_width:i sampling_ratio:i spatial_scale:f"},
    {"RotaryEmbedding", "interleaved:i num_heads:i rotary_embedding_dim:i"},
    {"STFT", "onesided:i"},
    {"Scan", "body:g num_scan_inputs:i scan_input_axes:I "
             "scan_input_directions:I scan_output_axes:I "
             "scan_output_directions:I"},
    {"Scatter", "axis:i"},
    {"ScatterElements", "axis:i reduction:s"},
    {"ScatterND", "reduction:s"},
    {"Selu", "alpha:f gamma:f"},
    {"SequenceMap", "body:g"},
    {"Shape", "end:i start:i"},
    {"Shrink", "bias:f lambd:f"},
    {"Slice", "axes:I ends:I starts:I"},
    {"Softmax", "axis:i"},
    {"SoftmaxCrossEntropyLoss", "ignore_index:i reduction:s"},
    {"SpaceToDepth", "blocksize:i"},
    {"Split", "axis:i num_outputs:i split:I"},
    {"SplitToSequence", "axis:i keepdims:i"},
    {"Squeeze", "axes:I"},
    {"StringNormalizer",
     "case_change_action:s is_case_sensitive:i stopwords:S"},
    {"Sub", "axis:i broadcast:i"},
    {"Swish", "alpha:f"},
    {"TensorScatter", "axis:i mode:s"},
    {"TfIdfVectorizer",
     "max_gram_length:i max_skip_count:i min_gram_length:i mode:s "
     "ngram_counts:I ngram_indexes:I pool_int64s:I weights:F"},
    {"ThresholdedRelu", "alpha:f"},
    {"TopK", "axis:i k:i largest:i"},
    {"Transpose", "perm:I"},
    {"Trilu", "upper:i"},
    {"Unique", "axis:i sorted:i"},
    {"Unsqueeze", "axes:I"},
    {"Upsample", "mode:s scales:F"},
    {"Xor", "axis:i broadcast:i"},
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

/* By ONNX's numbers: float, int, string, tensor, graph, lists of the first
 * three, then sparse tensors and types. */
static const char type_letters[] = " fistgFIS  p y";

/* The letters of an attribute's types in a list of attributes; NULL if it is
 * not there. */
static const char *handled_find(const char *names, const char *name)
{
    size_t length = strlen(name);

    while (*names) {
        size_t n = strcspn(names, ":");

        if (n == length && memcmp(names, name, n) == 0)
            return names + n + 1;
        names += n;
        names += strcspn(names, " ");
        names += *names == ' ';
    }
    return NULL;
}

/* The same for an op; NULL if it is not handled. */
static const char *handled_types(const char *op_type, const char *name)
{
    const struct handled_attributes *row =
        bsearch(op_type, handled, n_handled, sizeof *handled, handled_compare);

    return row ? handled_find(row->names, name) : NULL;
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
    const struct attribute_rule *rule = rule_find(op_type, name);

    if (handled_types(op_type, name))
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

/* Reading a number where there is a list, or the other way round, would find
 * nothing and take the default. Old files do not name the types. */
static void onnx_attributes_check_type(struct onnx_call *call,
                                       const struct onnx_attribute *found)
{
    const char *types = handled_types(call->node->op_type, found->name);
    size_t n = strcspn(types, " ");
    bool is_known =
        found->type > 0 && (uint64_t)found->type < sizeof type_letters - 1;

    if (found->type != 0 &&
        (!is_known || !memchr(types, type_letters[found->type], n)))
        onnx_fail(call, ASSAY_BAD_INPUT,
                  "its attribute '%.60s' has type %lld, which the standard "
                  "does not allow there",
                  found->name, (long long)found->type);
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
            onnx_attributes_check_type(call, found);
            break;
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
