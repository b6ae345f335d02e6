/* models/vgg.c - VGG (Simonyan and Zisserman 2014), with and without batch
 * norm, also for the 32x32 images of CIFAR: there the last maps are 1x1 and one
 * layer classifies them. */
#include "models/family_internal.h"

enum { n_stages = 5, last_width = 512 };

static uint32_t vgg_build_conv(struct builder *builder, int *next,
                               bool has_norm, int64_t in, int64_t out,
                               uint32_t x)
{
    struct conv_layer layer = plain_conv(in, out, 3, 1);

    layer.has_bias = true;
    x = builder_conv(builder, builder_index(builder, (*next)++), &layer, x);
    if (has_norm)
        x = builder_norm(builder, builder_index(builder, (*next)++), out, x);
    return builder_relu(builder, builder_index(builder, (*next)++), x);
}

/* The number of convolutions of each stage; three layers follow them. */
static void vgg_count_convs(int depth, int counts[n_stages])
{
    bool is_shallow = depth == 11;
    int late = depth == 11 ? 2 : depth == 16 ? 3 : 4;

    counts[0] = counts[1] = is_shallow ? 1 : 2;
    counts[2] = counts[3] = counts[4] = late;
}

static uint32_t vgg_build_features(struct builder *builder,
                                   const struct member *member, uint32_t x)
{
    static const struct pool_layer halving = {.kernel = 2, .stride = 2};
    static const int64_t widths[n_stages] = {64, 128, 256, 512, last_width};
    int64_t in = 3;
    int counts[n_stages], next = 0;

    vgg_count_convs(member->depth, counts);
    builder_enter(builder, "features", "Sequential");
    for (int stage = 0; stage < n_stages; stage++) {
        for (int i = 0; i < counts[stage]; i++) {
            x = vgg_build_conv(builder, &next, member->has_norm, in,
                               widths[stage], x);
            in = widths[stage];
        }
        x = builder_max_pool(builder, builder_index(builder, next++),
                             "MaxPool2d", &halving, x);
    }
    builder_leave(builder);
    return x;
}

static struct linear_layer vgg_dense(int64_t in, int64_t out)
{
    return (struct linear_layer){
        .in = in, .out = out, .fill = WEIGHT_NORMAL_001, .has_zero_bias = true};
}

static uint32_t vgg_build_classifier(struct builder *builder, int64_t n_classes,
                                     uint32_t x)
{
    enum { pooled = 7, hidden = 4096 };
    struct linear_layer wide = vgg_dense(last_width * pooled * pooled, hidden);
    struct linear_layer middle = vgg_dense(hidden, hidden);
    struct linear_layer last = vgg_dense(hidden, n_classes);

    x = builder_adaptive_pool(builder, "avgpool", pooled, x);
    x = builder_flatten(builder, x);
    builder_enter(builder, "classifier", "Sequential");
    x = builder_linear(builder, "0", &wide, x);
    x = builder_relu(builder, "1", x);
    x = builder_dropout(builder, "2", 0.5F, x);
    x = builder_linear(builder, "3", &middle, x);
    x = builder_relu(builder, "4", x);
    x = builder_dropout(builder, "5", 0.5F, x);
    x = builder_linear(builder, "6", &last, x);
    builder_leave(builder);
    return x;
}

static enum assay_status vgg_build(const struct member *member,
                                   const struct model_options *options,
                                   struct graph **out, struct error *err)
{
    struct linear_layer small = vgg_dense(last_width, options->n_classes);
    struct builder builder;
    uint32_t x = classifier_start(&builder, member, "VGG", options, err);

    x = vgg_build_features(&builder, member, x);
    if (options->variant == MODEL_IMAGENET) {
        x = vgg_build_classifier(&builder, options->n_classes, x);
    } else {
        x = builder_flatten(&builder, x);
        x = builder_linear(&builder, "classifier", &small, x);
    }
    return classifier_finish(&builder, x, out);
}

const struct family family_vgg = {
    .task = TASK_CLASSIFICATION,
    .has_cifar = true,
    .build = vgg_build,
};
