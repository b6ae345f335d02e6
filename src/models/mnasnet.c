/* models/mnasnet.c - MNASNet B1 (Tan et al. 2018). */
#include "models/family_internal.h"

#include "ops/ops.h"

static struct conv_layer mnasnet_channel_conv(int64_t width, int64_t kernel,
                                              int64_t stride)
{
    struct conv_layer layer = plain_conv(width, width, kernel, stride);

    layer.groups = width;
    return layer;
}

/* A convolution and its norm take two indexes, a ReLU the third. */
static uint32_t mnasnet_conv_norm(struct builder *builder, int *next,
                                  bool has_relu, struct conv_layer layer,
                                  uint32_t x)
{
    x = builder_conv(builder, builder_index(builder, (*next)++), &layer, x);
    x = builder_norm(builder, builder_index(builder, (*next)++), layer.out, x);
    if (has_relu)
        x = builder_relu(builder, builder_index(builder, (*next)++), x);
    return x;
}

static uint32_t mnasnet_inverted_residual(struct builder *builder, int index,
                                          int64_t in, int64_t out,
                                          int64_t kernel, int64_t stride,
                                          int64_t expansion, uint32_t x)
{
    int64_t hidden = in * expansion;
    uint32_t sum[2] = {x, x};
    int next = 0;

    builder_enter_index(builder, index, "_InvertedResidual");
    builder_enter(builder, "layers", "Sequential");
    sum[0] = mnasnet_conv_norm(builder, &next, true,
                               plain_conv(in, hidden, 1, 1), x);
    sum[0] =
        mnasnet_conv_norm(builder, &next, true,
                          mnasnet_channel_conv(hidden, kernel, stride), sum[0]);
    sum[0] = mnasnet_conv_norm(builder, &next, false,
                               plain_conv(hidden, out, 1, 1), sum[0]);
    builder_leave(builder);
    if (in == out && stride == 1)
        sum[0] = builder_op(builder, "add", &op_add, NULL, sum, 2);
    builder_leave(builder);
    return sum[0];
}

static uint32_t mnasnet_build_layers(struct builder *builder, uint32_t x)
{
    static const struct {
        int64_t in, out, kernel, stride, expansion;
        int n;
    } stacks[] = {{16, 24, 3, 2, 3, 3},  {24, 40, 5, 2, 3, 3},
                  {40, 80, 5, 2, 6, 3},  {80, 96, 3, 1, 6, 2},
                  {96, 192, 5, 2, 6, 4}, {192, 320, 3, 1, 6, 1}};
    int next = 0;

    builder_enter(builder, "layers", "Sequential");
    x = mnasnet_conv_norm(builder, &next, true, plain_conv(3, 32, 3, 2), x);
    x = mnasnet_conv_norm(builder, &next, true, mnasnet_channel_conv(32, 3, 1),
                          x);
    x = mnasnet_conv_norm(builder, &next, false, plain_conv(32, 16, 1, 1), x);
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        builder_enter_index(builder, next++, "Sequential");
        for (int k = 0; k < stacks[i].n; k++)
            x = mnasnet_inverted_residual(
                builder, k, k ? stacks[i].out : stacks[i].in, stacks[i].out,
                stacks[i].kernel, k ? 1 : stacks[i].stride, stacks[i].expansion,
                x);
        builder_leave(builder);
    }
    x = mnasnet_conv_norm(builder, &next, true, plain_conv(320, 1280, 1, 1), x);
    builder_leave(builder);
    return x;
}

static enum assay_status mnasnet_build(const struct member *member,
                                       const struct model_options *options,
                                       struct graph **out, struct error *err)
{
    struct linear_layer last = {.in = 1280,
                                .out = options->n_classes,
                                .fill = WEIGHT_UNIFORM_FAN_OUT,
                                .has_zero_bias = true};
    struct builder builder;
    uint32_t x = classifier_start(&builder, member, "MNASNet", options, err);

    builder.norm_momentum = 1 - 0.9997F;
    x = mnasnet_build_layers(&builder, x);
    return classifier_finish_mobile(&builder, &last, x, out);
}

const struct family family_mnasnet = {
    .task = TASK_CLASSIFICATION,
    .build = mnasnet_build,
};
