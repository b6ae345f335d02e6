/* models/mobilenet.c - MobileNet V2 (Sandler et al. 2018), also for the 32x32
 * images of CIFAR: with two strides less at the beginning. */
#include "models/family_internal.h"

#include "ops/ops.h"

static uint32_t conv_norm_relu6(struct builder *builder, int index,
                                const struct conv_layer *layer, uint32_t x)
{
    builder_enter_index(builder, index, "Conv2dNormActivation");
    x = builder_conv(builder, "0", layer, x);
    x = builder_norm(builder, "1", layer->out, x);
    x = builder_relu6(builder, "2", x);
    builder_leave(builder);
    return x;
}

/* Widens, filters each channel separately, narrows. */
static uint32_t mobilenet_inverted_residual(struct builder *builder, int index,
                                            int64_t in, int64_t out,
                                            int64_t expansion, int64_t stride,
                                            uint32_t x)
{
    int64_t hidden = in * expansion;
    struct conv_layer widen = plain_conv(in, hidden, 1, 1);
    struct conv_layer filter = plain_conv(hidden, hidden, 3, stride);
    struct conv_layer narrow = plain_conv(hidden, out, 1, 1);
    uint32_t sum[2] = {x, x};
    int next = 0;

    filter.groups = hidden;
    builder_enter_index(builder, index, "InvertedResidual");
    builder_enter(builder, "conv", "Sequential");
    if (expansion != 1)
        sum[1] = conv_norm_relu6(builder, next++, &widen, sum[1]);
    sum[1] = conv_norm_relu6(builder, next++, &filter, sum[1]);
    sum[1] =
        builder_conv(builder, builder_index(builder, next++), &narrow, sum[1]);
    sum[1] = builder_norm(builder, builder_index(builder, next), out, sum[1]);
    builder_leave(builder);
    if (stride == 1 && in == out)
        sum[1] = builder_op(builder, "add", &op_add, NULL, sum, 2);
    builder_leave(builder);
    return sum[1];
}

static uint32_t mobilenet_build_features(struct builder *builder, bool is_small,
                                         uint32_t x)
{
    static const struct {
        int64_t expansion, out;
        int n;
        int64_t stride;
    } stages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                  {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
    struct conv_layer first = plain_conv(3, 32, 3, is_small ? 1 : 2);
    struct conv_layer last = plain_conv(320, 1280, 1, 1);
    int64_t in = first.out;
    int next = 0;

    builder_enter(builder, "features", "Sequential");
    x = conv_norm_relu6(builder, next++, &first, x);
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        int64_t stride = is_small && i == 1 ? 1 : stages[i].stride;

        for (int k = 0; k < stages[i].n; k++) {
            x = mobilenet_inverted_residual(builder, next++, in, stages[i].out,
                                            stages[i].expansion, k ? 1 : stride,
                                            x);
            in = stages[i].out;
        }
    }
    x = conv_norm_relu6(builder, next, &last, x);
    builder_leave(builder);
    return x;
}

static enum assay_status mobilenet_build(const struct member *member,
                                         const struct model_options *options,
                                         struct graph **out, struct error *err)
{
    struct linear_layer last = {.in = 1280,
                                .out = options->n_classes,
                                .fill = WEIGHT_NORMAL_001,
                                .has_zero_bias = true};
    struct builder builder;
    uint32_t x =
        classifier_start(&builder, member, "MobileNetV2", options, err);

    x = mobilenet_build_features(&builder, options->variant != MODEL_IMAGENET,
                                 x);
    return classifier_finish_mobile(&builder, &last, x, out);
}

const struct family family_mobilenet = {
    .task = TASK_CLASSIFICATION,
    .has_cifar = true,
    .build = mobilenet_build,
};
