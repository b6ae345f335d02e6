/* models/googlenet.c - GoogLeNet (Szegedy et al. 2014), with 3x3 convolutions
 * instead of the paper's 5x5, as in torchvision. */
#include "models/family_internal.h"

#include "ops/ops.h"

static uint32_t basic_conv(struct builder *builder, const char *name,
                           int64_t in, int64_t out, int64_t kernel,
                           int64_t stride, uint32_t x)
{
    struct conv_layer layer = {.in = in,
                               .out = out,
                               .kernel = kernel,
                               .stride = stride,
                               .padding = kernel / 2,
                               .fill = WEIGHT_NORMAL_001};

    builder_enter(builder, name, "BasicConv2d");
    x = builder_conv(builder, "conv", &layer, x);
    x = builder_norm(builder, "bn", out, x);
    x = builder_op(builder, "relu", &op_relu, NULL, &x, 1);
    builder_leave(builder);
    return x;
}

/* Channels of the four branches, and in the middle of two of them. */
struct widths {
    const char *name;
    int64_t in, first, narrow_second, second, narrow_third, third, fourth;
};

static uint32_t two_convs(struct builder *builder, const char *name, int64_t in,
                          int64_t narrow, int64_t out, uint32_t x)
{
    builder_enter(builder, name, "Sequential");
    x = basic_conv(builder, "0", in, narrow, 1, 1, x);
    x = basic_conv(builder, "1", narrow, out, 3, 1, x);
    builder_leave(builder);
    return x;
}

static uint32_t inception(struct builder *builder, const struct widths *w,
                          uint32_t x)
{
    static const struct pool_layer around = {
        .kernel = 3, .stride = 1, .padding = 1, .ceil = true};
    uint32_t branches[4];

    builder_enter(builder, w->name, "Inception");
    branches[0] = basic_conv(builder, "branch1", w->in, w->first, 1, 1, x);
    branches[1] =
        two_convs(builder, "branch2", w->in, w->narrow_second, w->second, x);
    branches[2] =
        two_convs(builder, "branch3", w->in, w->narrow_third, w->third, x);
    builder_enter(builder, "branch4", "Sequential");
    x = builder_max_pool(builder, "0", "MaxPool2d", &around, x);
    branches[3] = basic_conv(builder, "1", w->in, w->fourth, 1, 1, x);
    builder_leave(builder);
    x = builder_concat(builder, branches, 4);
    builder_leave(builder);
    return x;
}

static uint32_t googlenet_shrink(struct builder *builder, const char *name,
                                 int64_t kernel, uint32_t x)
{
    struct pool_layer layer = {.kernel = kernel, .stride = 2, .ceil = true};

    return builder_max_pool(builder, name, "MaxPool2d", &layer, x);
}

static uint32_t googlenet_build_stem(struct builder *builder, uint32_t x)
{
    x = basic_conv(builder, "conv1", 3, 64, 7, 2, x);
    x = googlenet_shrink(builder, "maxpool1", 3, x);
    x = basic_conv(builder, "conv2", 64, 64, 1, 1, x);
    x = basic_conv(builder, "conv3", 64, 192, 3, 1, x);
    return googlenet_shrink(builder, "maxpool2", 3, x);
}

/* With a pooling after the last of each number. */
static uint32_t googlenet_build_inceptions(struct builder *builder, uint32_t x)
{
    static const struct widths blocks[] = {
        {"inception3a", 192, 64, 96, 128, 16, 32, 32},
        {"inception3b", 256, 128, 128, 192, 32, 96, 64},
        {"inception4a", 480, 192, 96, 208, 16, 48, 64},
        {"inception4b", 512, 160, 112, 224, 24, 64, 64},
        {"inception4c", 512, 128, 128, 256, 24, 64, 64},
        {"inception4d", 512, 112, 144, 288, 32, 64, 64},
        {"inception4e", 528, 256, 160, 320, 32, 128, 128},
        {"inception5a", 832, 256, 160, 320, 32, 128, 128},
        {"inception5b", 832, 384, 192, 384, 48, 128, 128},
    };
    enum { last_of_3 = 1, last_of_4 = 6 };

    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        x = inception(builder, &blocks[i], x);
        if (i == last_of_3)
            x = googlenet_shrink(builder, "maxpool3", 3, x);
        else if (i == last_of_4)
            x = googlenet_shrink(builder, "maxpool4", 2, x);
    }
    return x;
}

static struct linear_layer googlenet_dense(int64_t in, int64_t out)
{
    return (struct linear_layer){
        .in = in, .out = out, .fill = WEIGHT_NORMAL_001};
}

/* Heads that help in training; inference does not run them. */
static void googlenet_build_auxiliary(struct builder *builder, const char *name,
                                      int64_t in, int64_t n_classes)
{
    struct linear_layer fc1 = googlenet_dense(2048, 1024),
                        fc2 = googlenet_dense(1024, n_classes);

    builder->is_unused = true;
    builder_enter(builder, name, "InceptionAux");
    basic_conv(builder, "conv", in, 128, 1, 1, GRAPH_NONE);
    builder_linear(builder, "fc1", &fc1, GRAPH_NONE);
    builder_linear(builder, "fc2", &fc2, GRAPH_NONE);
    builder_leave(builder);
    builder->is_unused = false;
}

static enum assay_status googlenet_build(const struct member *member,
                                         const struct model_options *options,
                                         struct graph **out, struct error *err)
{
    struct linear_layer last = googlenet_dense(1024, options->n_classes);
    struct builder builder;
    uint32_t x = classifier_start(&builder, member, "GoogLeNet", options, err);

    builder.norm_eps = 1e-3f;
    x = googlenet_build_stem(&builder, x);
    x = googlenet_build_inceptions(&builder, x);
    if (options->has_auxiliary) {
        googlenet_build_auxiliary(&builder, "aux1", 512, options->n_classes);
        googlenet_build_auxiliary(&builder, "aux2", 528, options->n_classes);
    }
    x = builder_adaptive_pool(&builder, "avgpool", 1, x);
    x = builder_flatten(&builder, x);
    x = builder_dropout(&builder, "dropout", 0.2F, x);
    x = builder_linear(&builder, "fc", &last, x);
    return classifier_finish(&builder, x, out);
}

const struct family family_googlenet = {
    .task = TASK_CLASSIFICATION,
    .build = googlenet_build,
};
