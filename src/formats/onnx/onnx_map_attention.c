/* formats/onnx/onnx_map_attention.c - attention and what goes with it, expanded
 * into products and elementwise ops. */
#include "formats/onnx/onnx_steps_internal.h"
#include "ops/convolution/conv_nd.h"
#include "ops/math/softmax.h"
#include "ops/math/unary_math.h"
#include "ops/movement/gather.h"
#include "ops/movement/pad.h"
#include "ops/movement/shape_views.h"
#include "ops/movement/tensor_scatter.h"
#include "ops/ops.h"
#include "ops/product/linear_attention.h"

#include <math.h>
#include <string.h>

/* ---- Attention ----------------------------------------------------------- */

enum {
    ATTN_Q,
    ATTN_K,
    ATTN_V,
    ATTN_MASK,
    ATTN_PAST_K,
    ATTN_PAST_V,
    ATTN_FILLED
};

static const int64_t heads_first[] = {0, 2, 1, 3};

/* What is known while an Attention is expanded. */
struct attention {
    uint32_t q, k, v;          /* [batch, heads, length, size] */
    int64_t n_queries, n_keys; /* -1: unknown */
    int64_t n_past;            /* keys before the first query; -1: unknown */
    bool is_flat;              /* the file has heads side by side */
    bool may_mask_all;         /* a row may have no key at all */
    uint32_t bias;             /* added to the scores; or GRAPH_NONE */
};

/* [batch, length, heads * size] to [batch, heads, length, size] */
static uint32_t attention_split(struct onnx_call *call, uint32_t x,
                                int64_t heads)
{
    int64_t dims[] = {0, 0, heads, -1};

    if (heads < 1)
        onnx_fail(call, ASSAY_BAD_INPUT, "the number of heads is %lld",
                  (long long)heads);
    return onnx_step_transpose(call, onnx_step_reshape(call, x, dims, 4),
                               heads_first, 4);
}

/* Repeats each head for the queries that share it. */
static uint32_t attention_repeat(struct onnx_call *call, uint32_t x,
                                 int64_t heads)
{
    int64_t own = onnx_step_size(call, x, 1), size = onnx_step_size(call, x, 3);
    int64_t times[] = {1, 1, own > 0 ? heads / own : 1, 1, 1};
    int64_t dims[] = {0, heads, -1, size};

    if (own == heads || call->st)
        return x;
    if (own < 1 || heads < 1 || heads % own || size < 1) {
        onnx_fail(call, ASSAY_UNSUPPORTED,
                  "%lld heads of queries and %lld of keys do not fit, or their "
                  "sizes are unknown",
                  (long long)heads, (long long)own);
        return x;
    }
    x = onnx_step_unsqueeze(call, x, 2);
    x = onnx_step_pair(call, &op_expand, x, onnx_new_i64s(call, times, 5));
    return onnx_step_reshape(call, x, dims, 4);
}

static void attention_add_bias(struct onnx_call *call, struct attention *of,
                               uint32_t bias)
{
    of->bias = of->bias == GRAPH_NONE
                   ? bias
                   : onnx_step_pair(call, &op_sum, of->bias, bias);
}

/* 0 where the condition holds, else minus infinity. */
static uint32_t attention_mask(struct onnx_call *call,
                               const struct attention *of, uint32_t allowed)
{
    enum dtype dtype = onnx_step_type(call, of->q);

    return onnx_step_where(call, allowed, onnx_new_scalar(call, dtype, 0),
                           onnx_new_scalar(call, dtype, -INFINITY));
}

/* The input, which may be of bools, and may end before the last key. */
static void attention_add_input(struct onnx_call *call, struct attention *of)
{
    static const int64_t last = -1;
    uint32_t mask = onnx_input(call, ATTN_MASK);
    int64_t missing[] = {0, 0}, n = onnx_step_size(call, mask, -1);
    struct pad_attrs pad = {.mode = PAD_CONSTANT};

    if (mask == GRAPH_NONE)
        return;
    if (onnx_step_type(call, mask) == DTYPE_BOOL)
        mask = attention_mask(call, of, mask);
    of->may_mask_all = true;
    missing[1] = of->n_keys - n;
    if (n > 1 && missing[1] > 0) {
        uint32_t inputs[] = {
            mask, onnx_new_i64s(call, missing, 2),
            onnx_new_scalar(call, onnx_step_type(call, mask), -INFINITY),
            onnx_new_i64s(call, &last, 1)};

        mask = onnx_step(call, &op_pad, &pad, inputs, 4);
    }
    attention_add_bias(call, of, mask);
}

/* A table [queries, keys] of which keys a query may read, or, in an external
 * cache, of how many keys must be filled for that. */
static uint32_t attention_table(struct onnx_call *call,
                                const struct attention *of, bool is_count)
{
    int64_t left = onnx_int(call, "left_window_size", -1);
    int64_t right = onnx_int(call, "right_window_size", -1);
    struct shape shape = shape_of(2, of->n_queries, of->n_keys);
    struct tensor table;

    if (onnx_int(call, "is_causal", 0))
        right = 0;
    if (of->n_queries < 0 || of->n_keys < 0 || of->n_past < 0 ||
        (is_count && left >= 0))
        onnx_fail(call, ASSAY_UNSUPPORTED,
                  "a causal mask or a window needs known lengths");
    if (!call->st)
        call->st =
            tensor_new(onnx_pool(call), is_count ? DTYPE_I64 : DTYPE_BOOL,
                       &shape, &table, call->err);
    if (call->st)
        return GRAPH_NONE;
    for (int64_t i = 0; i < of->n_queries * of->n_keys; i++) {
        int64_t at = i / of->n_keys + of->n_past, key = i % of->n_keys;

        if (is_count)
            tensor_i64(&table)[i] = key - at + of->n_queries - right;
        else
            ((uint8_t *)tensor_data(&table))[i] =
                (left < 0 || key >= at - left) &&
                (right < 0 || key <= at + right);
    }
    return onnx_new_constant(call, table);
}

static void attention_add_order(struct onnx_call *call, struct attention *of)
{
    static const int64_t rows[] = {-1, 1, 1, 1};
    uint32_t filled = onnx_input(call, ATTN_FILLED), allowed;
    bool is_ordered = onnx_int(call, "is_causal", 0) ||
                      onnx_int(call, "left_window_size", -1) >= 0 ||
                      onnx_int(call, "right_window_size", -1) >= 0;

    if (filled == GRAPH_NONE) {
        if (is_ordered)
            attention_add_bias(
                call, of,
                attention_mask(call, of, attention_table(call, of, false)));
        return;
    }
    filled = onnx_step_reshape(call, filled, rows, 4);
    of->may_mask_all = true;
    if (of->n_keys > 0) {
        uint32_t keys = GRAPH_NONE;
        struct shape shape = shape_of(1, of->n_keys);
        struct tensor table;

        if (!call->st)
            call->st = tensor_new(onnx_pool(call), DTYPE_I64, &shape, &table,
                                  call->err);
        if (call->st)
            return;
        for (int64_t i = 0; i < of->n_keys; i++)
            tensor_i64(&table)[i] = i;
        keys = onnx_new_constant(call, table);
        allowed = onnx_step_pair(call, &op_less, keys, filled);
        attention_add_bias(call, of, attention_mask(call, of, allowed));
    } else {
        onnx_fail(call, ASSAY_UNSUPPORTED,
                  "nonpad_kv_seqlen needs a known number of keys");
    }
    if (is_ordered) {
        allowed = onnx_step_pair(call, &op_less_or_equal,
                                 attention_table(call, of, true), filled);
        attention_add_bias(call, of, attention_mask(call, of, allowed));
    }
}

/* Q K^T, scaled. */
static uint32_t attention_scores(struct onnx_call *call,
                                 const struct attention *of, uint32_t k)
{
    static const int64_t turned[] = {0, 1, 3, 2};
    enum dtype dtype = onnx_step_type(call, of->q);
    int64_t size = onnx_step_size(call, of->q, 3);
    double scale = (double)onnx_float(call, "scale", 0);
    uint32_t q = of->q;

    if (!onnx_has(call, "scale")) {
        if (size < 1)
            onnx_fail(call, ASSAY_UNSUPPORTED,
                      "without 'scale', the size of a head must be known");
        scale = 1 / sqrt((double)size);
    }
    /* Numbers of 16 bits might overflow if only one side was scaled. */
    if (dtype != DTYPE_F32) {
        k = onnx_step_scalar(call, &op_mul, k, sqrt(scale));
        scale = sqrt(scale);
    }
    q = onnx_step_scalar(call, &op_mul, q, scale);
    return onnx_step_pair(call, &op_matmul, q,
                          onnx_step_transpose(call, k, turned, 4));
}

/* The weights of the values. Sets the node's fourth output, if it has one. */
static uint32_t attention_weights(struct onnx_call *call,
                                  const struct attention *of, uint32_t scores)
{
    struct softmax_attrs last = {.axis = -1};
    struct unary_attrs negative = {.alpha = 1};
    enum dtype dtype = onnx_step_type(call, of->q);
    enum dtype precision = onnx_has(call, "softmax_precision")
                               ? onnx_type(call, "softmax_precision", 1)
                               : dtype;
    double cap = (double)onnx_float(call, "softcap", 0);
    int64_t mode = onnx_int(call, "qk_matmul_output_mode", 0);
    uint32_t shown[4];

    shown[0] = scores;
    if (cap > 0)
        scores = onnx_step_scalar(
            call, &op_mul,
            onnx_step_one(call, &op_tanh,
                          onnx_step_scalar(call, &op_div, scores, cap)),
            cap);
    shown[1] = scores;
    if (of->bias != GRAPH_NONE)
        scores = onnx_step_pair(call, &op_sum, scores, of->bias);
    shown[2] = scores;
    if (precision != dtype)
        scores = onnx_step_cast(call, scores, precision);
    scores = onnx_step(call, &op_softmax, &last, &scores, 1);
    if (precision != dtype)
        scores = onnx_step_cast(call, scores, dtype);
    if (of->may_mask_all) {
        uint32_t most = onnx_step_reduce(call, &op_reduce_max, of->bias, -1);

        most = onnx_step(call, &op_is_inf, &negative, &most, 1);
        scores = onnx_step_where(call, most, onnx_new_scalar(call, dtype, 0),
                                 scores);
    }
    shown[3] = scores;
    if (mode < 0 || mode > 3)
        onnx_fail(call, ASSAY_BAD_INPUT, "qk_matmul_output_mode is %lld",
                  (long long)mode);
    else if (call->n_outputs > 3)
        call->outputs[3] = shown[mode];
    return scores;
}

static struct attention attention_open(struct onnx_call *call)
{
    const struct tensor *known = onnx_known(call, onnx_input(call, ATTN_Q));
    uint32_t past = onnx_input(call, ATTN_PAST_K);
    struct attention of = {.q = onnx_input(call, ATTN_Q),
                           .k = onnx_input(call, ATTN_K),
                           .v = onnx_input(call, ATTN_V),
                           .bias = GRAPH_NONE};
    int64_t heads = onnx_int(call, "q_num_heads", 0);
    int64_t kv_heads = onnx_int(call, "kv_num_heads", 0);

    of.is_flat = known ? known->shape.rank == 3 : heads > 0;
    if (of.is_flat) {
        of.q = attention_split(call, of.q, heads);
        of.k = attention_split(call, of.k, kv_heads);
        of.v = attention_split(call, of.v, kv_heads);
    }
    if (past != GRAPH_NONE) {
        of.n_past = onnx_step_size(call, past, 2);
        of.k = onnx_step_concat(call, past, of.k, 2);
        of.v = onnx_step_concat(call, onnx_input(call, ATTN_PAST_V), of.v, 2);
    }
    of.n_queries = onnx_step_size(call, of.q, 2);
    of.n_keys = onnx_step_size(call, of.k, 2);
    return of;
}

static void import_attention(struct onnx_call *call)
{
    static const int64_t flat[] = {0, 0, -1};
    struct attention of = attention_open(call);
    int64_t heads = onnx_step_size(call, of.q, 1);
    uint32_t inputs[2], k;

    if (call->n_outputs > 1)
        call->outputs[1] = of.k;
    if (call->n_outputs > 2)
        call->outputs[2] = of.v;
    attention_add_input(call, &of);
    attention_add_order(call, &of);
    k = attention_repeat(call, of.k, heads);
    inputs[0] = attention_weights(call, &of, attention_scores(call, &of, k));
    inputs[1] = attention_repeat(call, of.v, heads);
    if (!of.is_flat) {
        onnx_emit_outputs(call, &op_matmul, NULL, inputs, 2, 1);
        return;
    }
    inputs[0] = onnx_step_pair(call, &op_matmul, inputs[0], inputs[1]);
    inputs[0] = onnx_step_transpose(call, inputs[0], heads_first, 4);
    inputs[1] = onnx_new_i64s(call, flat, 3);
    onnx_emit_outputs(call, &op_reshape, &(struct shape_view_attrs){0}, inputs,
                      2, 1);
}

/* ---- LinearAttention, TensorScatter ---------------------------------------
 */

static void import_linear_attention(struct onnx_call *call)
{
    static const char *const rules[] = {"linear", "gated", "delta",
                                        "gated_delta"};
    int rule = ONNX_CHOOSE(call, "update_rule", "gated_delta", rules);
    struct linear_attention_attrs attrs = {
        .heads = onnx_int(call, "q_num_heads", 0),
        .kv_heads = onnx_int(call, "kv_num_heads", 0),
        .scale = onnx_float(call, "scale", 0),
        .has_decay = rule & 1,
        .is_of_delta = rule & 2};

    onnx_emit(call, &op_linear_attention, &attrs);
}

static void import_tensor_scatter(struct onnx_call *call)
{
    static const char *const modes[] = {"linear", "circular"};
    struct tensor_scatter_attrs attrs = {
        .axis = onnx_int(call, "axis", -2),
        .is_circular = ONNX_CHOOSE(call, "mode", "linear", modes) == 1};

    onnx_emit(call, &op_tensor_scatter, &attrs);
}

/* ---- RotaryEmbedding ------------------------------------------------------
 */

/* The cosines or sines of all positions, with a dimension for the heads. */
static uint32_t rotary_table(struct onnx_call *call, size_t input, bool is_flat)
{
    struct gather_attrs rows = {0};
    uint32_t pair[] = {onnx_input(call, input), onnx_input(call, 3)};
    uint32_t table = pair[0];

    if (pair[1] != GRAPH_NONE)
        table = onnx_step(call, &op_gather, &rows, pair, 2);
    return onnx_step_unsqueeze(call, table, is_flat ? 2 : 1);
}

/* Turns the pairs (x1, x2) by the angles. */
static uint32_t rotary_turn(struct onnx_call *call, uint32_t x1, uint32_t x2,
                            bool is_flat, bool is_interleaved, int64_t size)
{
    uint32_t cosines = rotary_table(call, 1, is_flat);
    uint32_t sines = rotary_table(call, 2, is_flat);
    uint32_t real = onnx_step_pair(call, &op_sub,
                                   onnx_step_pair(call, &op_mul, cosines, x1),
                                   onnx_step_pair(call, &op_mul, sines, x2));
    uint32_t imaginary =
        onnx_step_pair(call, &op_sum, onnx_step_pair(call, &op_mul, sines, x1),
                       onnx_step_pair(call, &op_mul, cosines, x2));
    int64_t dims[] = {0, 0, 0, size};

    if (!is_interleaved)
        return onnx_step_concat(call, real, imaginary, -1);
    real = onnx_step_unsqueeze(call, real, -1);
    imaginary = onnx_step_unsqueeze(call, imaginary, -1);
    return onnx_step_reshape(call, onnx_step_concat(call, real, imaginary, -1),
                             dims, 4);
}

static void import_rotary_embedding(struct onnx_call *call)
{
    static const int64_t flat[] = {0, 0, -1};
    const struct tensor *known = onnx_known(call, onnx_input(call, 0));
    bool is_flat = known && known->shape.rank == 3;
    bool is_interleaved = onnx_int(call, "interleaved", 0);
    int64_t heads = onnx_int(call, "num_heads", 0);
    int64_t turned = onnx_int(call, "rotary_embedding_dim", 0), size;
    int64_t split[] = {0, 0, heads, -1};
    uint32_t x = onnx_input(call, 0), x1, x2, last[2];

    if (is_flat)
        x = onnx_step_reshape(call, x, split, 4);
    size = onnx_step_size(call, x, 3);
    turned = turned ? turned : size;
    if (size < 1 || turned < 2 || turned > size || turned % 2) {
        onnx_fail(call, ASSAY_UNSUPPORTED,
                  "heads of %lld numbers of which %lld are turned are not "
                  "supported",
                  (long long)size, (long long)turned);
        return;
    }
    if (is_interleaved) {
        x1 = onnx_step_slice(call, x, -1, 0, turned, 2);
        x2 = onnx_step_slice(call, x, -1, 1, turned, 2);
    } else {
        x1 = onnx_step_slice(call, x, -1, 0, turned / 2, 1);
        x2 = onnx_step_slice(call, x, -1, turned / 2, turned, 1);
    }
    last[0] = rotary_turn(call, x1, x2, is_flat, is_interleaved, turned);
    if (turned < size)
        last[0] = onnx_step_concat(
            call, last[0], onnx_step_slice(call, x, -1, turned, size, 1), -1);
    if (is_flat) {
        last[1] = onnx_new_i64s(call, flat, 3);
        onnx_emit_inputs(call, &op_reshape, &(struct shape_view_attrs){0}, last,
                         2);
    } else {
        call->outputs[0] = last[0];
    }
}

/* ---- CausalConvWithState --------------------------------------------------
 */

/* A convolution of each channel with its own kernel, over what came before and
 * the input; what the next call needs is the second output. */
static void import_causal_conv(struct onnx_call *call)
{
    static const char *const activations[] = {"none", "silu", "swish"};
    int activation = ONNX_CHOOSE(call, "activation", "none", activations);
    int64_t kernel = onnx_step_size(call, onnx_input(call, 1), 2);
    int64_t before[] = {0, 0, kernel - 1, 0, 0, 0};
    uint32_t x = onnx_input(call, 0), past = onnx_input(call, 3);
    struct pad_attrs pad = {.mode = PAD_CONSTANT};
    struct conv_nd_attrs conv = {
        .groups = onnx_step_size(call, onnx_input(call, 1), 0),
        .window = {
            .rank = 1, .kernel = {kernel}, .stride = {1}, .dilation = {1}}};
    uint32_t inputs[3];

    if (kernel < 1 || conv.groups < 1) {
        onnx_fail(call, ASSAY_UNSUPPORTED, "the weight's shape is unknown");
        return;
    }
    if (past != GRAPH_NONE)
        x = onnx_step_concat(call, past, x, 2);
    else
        x = onnx_step(call, &op_pad, &pad,
                      (uint32_t[]){x, onnx_new_i64s(call, before, 6)}, 2);
    if (call->n_outputs > 1)
        call->outputs[1] = onnx_step_slice(
            call, x, 2, kernel > 1 ? 1 - kernel : INT64_MAX, INT64_MAX, 1);
    inputs[0] = x;
    inputs[1] = onnx_input(call, 1);
    inputs[2] = onnx_input(call, 2);
    if (activation == 0) {
        onnx_emit_outputs(call, &op_conv_nd, &conv, inputs, 3, 1);
        return;
    }
    x = onnx_step(call, &op_conv_nd, &conv, inputs, 3);
    onnx_emit_outputs(call, &op_silu, NULL, &x, 1, 1);
}

const struct onnx_op onnx_attention_ops[] = {
    {"Attention", 23, ONNX_NOW, 3, 7, import_attention},
    {"CausalConvWithState", 27, ONNX_NOW, 2, 4, import_causal_conv},
    {"LinearAttention", 27, ONNX_NOW, 3, 6, import_linear_attention},
    {"RotaryEmbedding", 23, ONNX_NOW, 3, 4, import_rotary_embedding},
    {"TensorScatter", 24, ONNX_NOW, 2, 3, import_tensor_scatter},
    {0},
};
