/* models/squeezenet.c - SqueezeNet (Iandola et al. 2016), 1.0 and 1.1. */
#include "models/family_internal.h"

static uint32_t squeezenet_conv(struct builder *builder, const char *name,
                                const char *activation, struct conv_layer layer,
                                uint32_t x)
{
    layer.has_bias = true;
    if (layer.fill == WEIGHT_DEFAULT)
        layer.fill = WEIGHT_KAIMING_UNIFORM_0;
    x = builder_conv(builder, name, &layer, x);
    return builder_relu(builder, activation, x);
}

/* Feeds few channels into two convolutions and concatenates their maps. */
static uint32_t squeezenet_fire(struct builder *builder, int index, int64_t in,
                                int64_t squeezed, int64_t expanded, uint32_t x)
{
    struct conv_layer squeeze = {
        .in = in, .out = squeezed, .kernel = 1, .stride = 1};
    struct conv_layer expand = {
        .in = squeezed, .out = expanded, .kernel = 1, .stride = 1};
    uint32_t maps[2];

    builder_enter_index(builder, index, "Fire");
    x = squeezenet_conv(builder, "squeeze", "squeeze_activation", squeeze, x);
    maps[0] = squeezenet_conv(builder, "expand1x1", "expand1x1_activation",
                              expand, x);
    expand.kernel = 3;
    expand.padding = 1;
    maps[1] = squeezenet_conv(builder, "expand3x3", "expand3x3_activation",
                              expand, x);
    x = builder_concat(builder, maps, 2);
    builder_leave(builder);
    return x;
}

enum { n_entries = 11 }; /* after the stem */

/* The stem, then the squeezed channels of each Fire (each of its two
 * convolutions expands to four times as many); 0 is a pooling. */
struct version {
    int64_t stem_width, stem_kernel;
    int64_t squeezed[n_entries];
};

static const struct version version_1_0 = {
    96, 7, {0, 16, 16, 32, 0, 32, 48, 48, 64, 0, 64}};
static const struct version version_1_1 = {
    64, 3, {0, 16, 16, 0, 32, 32, 0, 48, 48, 64, 64}};

static uint32_t squeezenet_build_features(struct builder *builder,
                                          const struct version *version,
                                          uint32_t x)
{
    enum { first_index = 2 };
    static const struct pool_layer halving = {
        .kernel = 3, .stride = 2, .ceil = true};
    struct conv_layer stem = {.in = 3,
                              .out = version->stem_width,
                              .kernel = version->stem_kernel,
                              .stride = 2};
    int64_t in = stem.out;

    builder_enter(builder, "features", "Sequential");
    x = squeezenet_conv(builder, "0", "1", stem, x);
    for (int i = 0; i < n_entries; i++) {
        int64_t squeezed = version->squeezed[i];
        int index = first_index + i;

        if (squeezed == 0) {
            x = builder_max_pool(builder, builder_index(builder, index),
                                 "MaxPool2d", &halving, x);
            continue;
        }
        x = squeezenet_fire(builder, index, in, squeezed, 4 * squeezed, x);
        in = 8 * squeezed;
    }
    builder_leave(builder);
    return x;
}

static enum assay_status squeezenet_build(const struct member *member,
                                          const struct model_options *options,
                                          struct graph **out, struct error *err)
{
    struct conv_layer last = {.in = 512,
                              .out = options->n_classes,
                              .kernel = 1,
                              .stride = 1,
                              .fill = WEIGHT_NORMAL_001};
    struct builder builder;
    uint32_t x = classifier_start(&builder, member, "SqueezeNet", options, err);

    x = squeezenet_build_features(
        &builder, member->depth == 10 ? &version_1_0 : &version_1_1, x);
    builder_enter(&builder, "classifier", "Sequential");
    x = builder_dropout(&builder, "0", 0.5F, x);
    x = squeezenet_conv(&builder, "1", "2", last, x);
    x = builder_adaptive_pool(&builder, "3", 1, x);
    builder_leave(&builder);
    x = builder_flatten(&builder, x);
    return classifier_finish(&builder, x, out);
}

const struct family family_squeezenet = {
    .task = TASK_CLASSIFICATION,
    .build = squeezenet_build,
};
