/* models/resnet.c - residual networks (He et al. 2015), with the stride in the
 * 3x3 convolution as torchvision has it. */
#include "models/resnet.h"

#include "ops/ops.h"

#include <stdio.h>

enum { expansion = 4 }; /* of a bottleneck's channels */

static struct conv_layer body_conv(int64_t in, int64_t out, int64_t kernel,
                                   int64_t stride)
{
    return (struct conv_layer){.in = in,
                               .out = out,
                               .kernel = kernel,
                               .stride = stride,
                               .padding = kernel / 2,
                               .fill = WEIGHT_KAIMING_NORMAL};
}

static uint32_t conv_norm(struct builder *builder, int number,
                          const struct conv_layer *layer, uint32_t x)
{
    char conv[16], norm[16];

    snprintf(conv, sizeof conv, "conv%d", number);
    snprintf(norm, sizeof norm, "bn%d", number);
    x = builder_conv(builder, conv, layer, x);
    return builder_norm(builder, norm, layer->out, x);
}

static uint32_t downsample(struct builder *builder, int64_t in, int64_t out,
                           int64_t stride, uint32_t x)
{
    struct conv_layer layer = body_conv(in, out, 1, stride);

    builder_enter(builder, "downsample", "Sequential");
    x = builder_conv(builder, "0", &layer, x);
    x = builder_norm(builder, "1", out, x);
    builder_leave(builder);
    return x;
}

static uint32_t bottleneck(struct builder *builder, int index, int64_t in,
                           int64_t width, int64_t stride, uint32_t x)
{
    int64_t out = width * expansion;
    struct conv_layer layers[] = {body_conv(in, width, 1, 1),
                                  body_conv(width, width, 3, stride),
                                  body_conv(width, out, 1, 1)};
    uint32_t sum[2] = {x, x};

    builder_enter_index(builder, index, "Bottleneck");
    for (int i = 0; i < 3; i++) {
        sum[0] = conv_norm(builder, i + 1, &layers[i], sum[0]);
        if (i < 2)
            sum[0] = builder_relu(builder, "relu", sum[0]);
    }
    if (stride != 1 || in != out)
        sum[1] = downsample(builder, in, out, stride, x);
    x = builder_op(builder, "add", &op_add, NULL, sum, 2);
    x = builder_relu(builder, "relu", x);
    builder_leave(builder);
    return x;
}

void resnet50_body(struct builder *builder, uint32_t x,
                   uint32_t levels[RESNET_LEVELS])
{
    static const int blocks[RESNET_LEVELS] = {3, 4, 6, 3};
    struct conv_layer stem = body_conv(3, 64, 7, 2);
    int64_t in = 64, width = 64;

    x = conv_norm(builder, 1, &stem, x);
    x = builder_relu(builder, "relu", x);
    x = builder_max_pool(builder, "maxpool", "MaxPool2d", 3, 2, 1, x);
    for (int level = 0; level < RESNET_LEVELS; level++) {
        char name[16];

        snprintf(name, sizeof name, "layer%d", level + 1);
        builder_enter(builder, name, "Sequential");
        for (int i = 0; i < blocks[level]; i++) {
            int64_t stride = level > 0 && i == 0 ? 2 : 1;

            x = bottleneck(builder, i, in, width, stride, x);
            in = width * expansion;
        }
        builder_leave(builder);
        levels[level] = x;
        width *= 2;
    }
}
