/* models/resnet.c - residual networks (He et al. 2015), with the stride in the
 * 3x3 convolution as in torchvision. */
#include "models/resnet_internal.h"

#include "models/family_internal.h"
#include "ops/ops.h"

#include <stdio.h>

struct block {
    int64_t in, width, out, stride;
    bool is_bottleneck;
};

static uint32_t resnet_conv_norm(struct builder *builder, int number,
                                 const struct conv_layer *layer, uint32_t x)
{
    char conv[16], norm[16];

    snprintf(conv, sizeof conv, "conv%d", number);
    snprintf(norm, sizeof norm, "bn%d", number);
    x = builder_conv(builder, conv, layer, x);
    return builder_norm(builder, norm, layer->out, x);
}

static uint32_t resnet_downsample(struct builder *builder,
                                  const struct block *block, uint32_t x)
{
    struct conv_layer layer =
        plain_conv(block->in, block->out, 1, block->stride);

    builder_enter(builder, "downsample", "Sequential");
    x = builder_conv(builder, "0", &layer, x);
    x = builder_norm(builder, "1", block->out, x);
    builder_leave(builder);
    return x;
}

/* Two 3x3 convolutions, or one between two 1x1 ones. */
static int list_convs(const struct block *block, struct conv_layer layers[3])
{
    if (!block->is_bottleneck) {
        layers[0] = plain_conv(block->in, block->width, 3, block->stride);
        layers[1] = plain_conv(block->width, block->out, 3, 1);
        return 2;
    }
    layers[0] = plain_conv(block->in, block->width, 1, 1);
    layers[1] = plain_conv(block->width, block->width, 3, block->stride);
    layers[2] = plain_conv(block->width, block->out, 1, 1);
    return 3;
}

static uint32_t build_block(struct builder *builder, int index,
                            const struct block *block, uint32_t x)
{
    struct conv_layer layers[3];
    int n = list_convs(block, layers);
    uint32_t sum[2] = {x, x};

    builder_enter_index(builder, index,
                        block->is_bottleneck ? "Bottleneck" : "BasicBlock");
    for (int i = 0; i < n; i++) {
        sum[0] = resnet_conv_norm(builder, i + 1, &layers[i], sum[0]);
        if (i < n - 1)
            sum[0] = builder_relu(builder, "relu", sum[0]);
    }
    if (block->stride != 1 || block->in != block->out)
        sum[1] = resnet_downsample(builder, block, x);
    x = builder_op(builder, "add", &op_add, NULL, sum, 2);
    x = builder_relu(builder, "relu", x);
    builder_leave(builder);
    return x;
}

static uint32_t resnet_build_stem(struct builder *builder, bool is_small,
                                  uint32_t x)
{
    static const struct pool_layer halving = {
        .kernel = 3, .stride = 2, .padding = 1};
    struct conv_layer stem =
        is_small ? plain_conv(3, 64, 3, 1) : plain_conv(3, 64, 7, 2);

    x = resnet_conv_norm(builder, 1, &stem, x);
    x = builder_relu(builder, "relu", x);
    if (!is_small)
        x = builder_max_pool(builder, "maxpool", "MaxPool2d", &halving, x);
    return x;
}

/* The number of blocks of each level. */
static const int *resnet_count_blocks(int depth)
{
    static const int shallow[] = {2, 2, 2, 2}, middle[] = {3, 4, 6, 3};
    static const int deep[] = {3, 4, 23, 3};

    return depth == 18 ? shallow : depth == 101 ? deep : middle;
}

static int64_t resnet_expansion(int depth)
{
    return depth >= 50 ? 4 : 1;
}

int64_t resnet_channels(int depth)
{
    return 64 * resnet_expansion(depth);
}

void resnet_body(struct builder *builder, int depth, bool is_small, uint32_t x,
                 uint32_t levels[RESNET_LEVELS])
{
    const int *counts = resnet_count_blocks(depth);
    struct block block = {
        .in = 64, .width = 64, .is_bottleneck = resnet_expansion(depth) > 1};

    x = resnet_build_stem(builder, is_small, x);
    for (int level = 0; level < RESNET_LEVELS; level++) {
        char name[16];

        snprintf(name, sizeof name, "layer%d", level + 1);
        builder_enter(builder, name, "Sequential");
        block.out = block.width * resnet_expansion(depth);
        for (int i = 0; i < counts[level]; i++) {
            block.stride = level > 0 && i == 0 ? 2 : 1;
            x = build_block(builder, i, &block, x);
            block.in = block.out;
        }
        builder_leave(builder);
        levels[level] = x;
        block.width *= 2;
    }
}

static enum assay_status resnet_build(const struct member *member,
                                      const struct model_options *options,
                                      struct graph **out, struct error *err)
{
    struct linear_layer last = {.in = 512 * resnet_expansion(member->depth),
                                .out = options->n_classes};
    uint32_t levels[RESNET_LEVELS];
    struct builder builder;
    uint32_t x = classifier_start(&builder, member, "ResNet", options, err);

    resnet_body(&builder, member->depth, options->variant != MODEL_IMAGENET, x,
                levels);
    x = builder_adaptive_pool(&builder, "avgpool", 1,
                              levels[RESNET_LEVELS - 1]);
    x = builder_flatten(&builder, x);
    x = builder_linear(&builder, "fc", &last, x);
    return classifier_finish(&builder, x, out);
}

const struct family family_resnet = {
    .task = TASK_CLASSIFICATION,
    .has_cifar = true,
    .build = resnet_build,
};
