/* predict/features.c - see features.h. */
#include "predict/features.h"

#include <math.h>
#include <string.h>

enum pass { PASS_FORWARD, PASS_BY_INPUT, PASS_BY_WEIGHTS, N_PASSES };

const char *feature_name(size_t feature)
{
#define PASSES(name)                                                           \
    name "_forward", name "_backward_input", name "_backward_weights"
    static const char *const names[] = {
        "weights",
        "weight_gradients",
        "input_map",
        "input_gradient",
        "output_map",
        "output_gradient",
        PASSES("im2col"),
        PASSES("gemm"),
        PASSES("fft_size"),
        PASSES("fft"),
        PASSES("winograd_4x3_size"),
        PASSES("winograd_4x3"),
        PASSES("winograd_3x2_size"),
        PASSES("winograd_3x2"),
        "batch",
        "largest_im2col",
        "largest_maps",
        "macs_1x1",
        "macs_3x3",
        "macs_other",
        "macs_depthwise",
        "macs_dense",
        "n_conv",
        "n_depthwise",
        "n_dense",
        "n_norm",
        "n_relu",
        "n_add",
        "n_concat",
        "n_max_pool",
        "n_avg_pool",
        "norm_traffic",
        "relu_traffic",
        "add_traffic",
        "concat_traffic",
        "max_pool_traffic",
        "avg_pool_traffic",
        "saved_bytes",
        "parameters",
        "parameter_tensors",
    };
#undef PASSES
    _Static_assert(sizeof names / sizeof names[0] == N_FEATURES,
                   "a name for each feature");

    return names[feature];
}

/* ---- one layer ----------------------------------------------------------- */

/* A layer as the formulas use it; a fully connected one is a 1x1 convolution on
 * a map of one pixel. */
struct layer_sizes {
    double batch, in, out, groups;
    double kernel[2], in_size[2], out_size[2], pad[2];
    bool is_unit_stride, is_first, is_training;
};

static struct layer_sizes sizes_of(const struct description *description,
                                   size_t i, double batch, enum stage stage)
{
    struct layer_sizes s = {
        .batch = batch,
        .groups = 1,
        .kernel = {1, 1},
        .in_size = {1, 1},
        .out_size = {1, 1},
        .is_unit_stride = true,
        .is_first = i == 0,
        .is_training = stage == STAGE_TRAINING,
    };
    const struct conv_row *conv = &description->convs[i];

    if (i >= description->n_convs) {
        const struct dense_row *dense =
            &description->denses[i - description->n_convs];

        s.in = (double)dense->in;
        s.out = (double)dense->out;
        return s;
    }
    s.in = (double)conv->in;
    s.out = (double)conv->out;
    s.groups = (double)conv->groups;
    s.is_unit_stride = conv->stride[0] == 1 && conv->stride[1] == 1;
    for (int k = 0; k < 2; k++) {
        s.kernel[k] = (double)conv->kernel[k];
        s.in_size[k] = (double)conv->size[k];
        s.out_size[k] = (double)conv_out(conv, k);
        s.pad[k] = (double)conv->pad[k];
    }
    return s;
}

static double area(const double sizes[2])
{
    return sizes[0] * sizes[1];
}

/* Which passes exist: the input of the first layer needs no gradient. */
static bool has_pass(const struct layer_sizes *s, enum pass pass)
{
    return pass == PASS_FORWARD ||
           (s->is_training && (pass == PASS_BY_WEIGHTS || !s->is_first));
}

static void add_tensors(const struct layer_sizes *s, double *out)
{
    double training = s->is_training ? 1 : 0;
    double weights = s->in / s->groups * s->out * area(s->kernel);
    double in_map = s->batch * s->in * area(s->in_size);
    double out_map = s->batch * s->out * area(s->out_size);

    out[LAYER_WEIGHTS] = weights;
    out[LAYER_WEIGHT_GRADIENTS] = training * weights;
    out[LAYER_INPUT_MAP] = in_map;
    out[LAYER_INPUT_GRADIENT] = s->is_first ? 0 : training * in_map;
    out[LAYER_OUTPUT_MAP] = out_map;
    out[LAYER_OUTPUT_GRADIENT] = training * out_map;
}

static void add_gemm(const struct layer_sizes *s, enum pass pass, double *out)
{
    double columns = s->batch * area(s->out_size) * s->in * area(s->kernel);

    if (pass == PASS_BY_INPUT)
        columns = s->batch * area(s->in_size) * s->out * area(s->kernel);
    out[LAYER_IM2COL + (int)pass] = columns;
    out[LAYER_GEMM + (int)pass] = s->batch * area(s->out_size) * s->in /
                                  s->groups * s->out * area(s->kernel);
}

/* Transforms of the three tensors of a pass, padded to the same size, and the
 * products of their complex values. */
static void add_fft(const struct layer_sizes *s, enum pass pass, double *out)
{
    double side[2] = {s->in_size[0] + 2 * s->pad[0],
                      s->in_size[1] + 2 * s->pad[1]};
    double plane = side[0] * (floor(side[1] / 2) + 1);
    double planes = s->batch * (s->in + s->out) + s->in * s->out / s->groups;

    out[LAYER_FFT_SIZE + (int)pass] = 2 * plane * planes;
    out[LAYER_FFT + (int)pass] =
        2.5 * area(side) * log2(fmax(area(side), 2)) * planes +
        4 * plane * s->batch * s->in * s->out / s->groups;
}

/* F(m x m, r x r): kernels larger than r are split into pieces of r. */
static void add_winograd(const struct layer_sizes *s, enum pass pass, double m,
                         double r, size_t size, double *out)
{
    const double *map = pass == PASS_BY_INPUT ? s->in_size : s->out_size;
    double tile = (m + r - 1) * (m + r - 1);
    double tiles = s->batch * ceil(map[0] / m) * ceil(map[1] / m);
    double pieces = ceil(s->kernel[0] / r) * ceil(s->kernel[1] / r);
    double pairs = pieces * s->in * s->out / s->groups;

    out[size + pass] = tile * (tiles * (s->in + s->out) + pairs);
    out[size + N_PASSES + pass] = tile * tiles * pairs;
}

void features_layer(const struct description *description, size_t i,
                    double batch, enum stage stage,
                    double out[N_LAYER_FEATURES])
{
    struct layer_sizes s = sizes_of(description, i, batch, stage);
    bool is_fast = s.is_unit_stride && s.groups <= 1 && area(s.kernel) > 1;

    memset(out, 0, N_LAYER_FEATURES * sizeof *out);
    add_tensors(&s, out);
    for (int p = 0; p < N_PASSES; p++) {
        enum pass pass = (enum pass)p;

        if (!has_pass(&s, pass))
            continue;
        add_gemm(&s, pass, out);
        if (!is_fast)
            continue;
        add_fft(&s, pass, out);
        add_winograd(&s, pass, 4, 3, LAYER_WINOGRAD_4X3_SIZE, out);
        add_winograd(&s, pass, 3, 2, LAYER_WINOGRAD_3X2_SIZE, out);
    }
}

/* ---- the network --------------------------------------------------------- */

static enum network_feature macs_feature(const struct description *description,
                                         size_t i)
{
    const struct conv_row *conv = &description->convs[i];

    if (i >= description->n_convs)
        return FEATURE_MACS_DENSE;
    if (conv_is_depthwise(conv))
        return FEATURE_MACS_DEPTHWISE;
    if (conv->kernel[0] == 1 && conv->kernel[1] == 1)
        return FEATURE_MACS_1X1;
    return conv->kernel[0] == 3 && conv->kernel[1] == 3 ? FEATURE_MACS_3X3
                                                        : FEATURE_MACS_OTHER;
}

static void add_layers(const struct description *description, double batch,
                       enum stage stage, double *out)
{
    for (size_t i = 0; i < description->n_convs + description->n_denses; i++) {
        enum network_feature kind = macs_feature(description, i);
        double layer[N_LAYER_FEATURES];

        features_layer(description, i, batch, stage, layer);
        for (size_t k = 0; k < N_LAYER_FEATURES; k++)
            out[k] += layer[k];
        out[kind] += layer[LAYER_GEMM];
        out[FEATURE_LARGEST_IM2COL] =
            fmax(out[FEATURE_LARGEST_IM2COL], layer[LAYER_IM2COL]);
        out[FEATURE_LARGEST_MAPS] =
            fmax(out[FEATURE_LARGEST_MAPS],
                 layer[LAYER_INPUT_MAP] + layer[LAYER_OUTPUT_MAP]);
        out[FEATURE_N_CONV] += kind != FEATURE_MACS_DENSE;
        out[FEATURE_N_DEPTHWISE] += kind == FEATURE_MACS_DEPTHWISE;
        out[FEATURE_N_DENSE] += kind == FEATURE_MACS_DENSE;
    }
}

void features_network(const struct description *description, double batch,
                      enum stage stage, double out[N_FEATURES])
{
    const struct image_counts *counts = &description->counts;

    memset(out, 0, N_FEATURES * sizeof *out);
    add_layers(description, batch, stage, out);
    out[FEATURE_BATCH] = batch;
    out[FEATURE_N_NORM] = counts->n_norm;
    out[FEATURE_N_RELU] = counts->n_relu;
    out[FEATURE_N_ADD] = counts->n_add;
    out[FEATURE_N_CONCAT] = counts->n_concat;
    out[FEATURE_N_MAX_POOL] = counts->n_max_pool;
    out[FEATURE_N_AVG_POOL] = counts->n_avg_pool;
    out[FEATURE_NORM_TRAFFIC] = batch * counts->norm_elements;
    out[FEATURE_RELU_TRAFFIC] = batch * counts->relu_elements;
    out[FEATURE_ADD_TRAFFIC] = batch * counts->add_elements;
    out[FEATURE_CONCAT_TRAFFIC] = batch * counts->concat_elements;
    out[FEATURE_MAX_POOL_TRAFFIC] =
        batch * (counts->max_pool_taps + counts->max_pool_outputs);
    out[FEATURE_AVG_POOL_TRAFFIC] = batch * counts->avg_pool_inputs;
    out[FEATURE_SAVED_BYTES] =
        stage == STAGE_TRAINING ? batch * counts->saved_bytes : 0;
    out[FEATURE_PARAMETERS] = counts->parameters;
    out[FEATURE_PARAMETER_TENSORS] = counts->parameter_tensors;
}
