/* models/alexnet.c - AlexNet (Krizhevsky 2014). */
#include "models/family_internal.h"

static const struct pool_layer halving = {.kernel = 3, .stride = 2};

static uint32_t alexnet_build_features(struct builder *builder, uint32_t x)
{
    static const struct {
        struct conv_layer conv;
        bool has_pool; /* after it */
    } layers[] = {
        {{.in = 3, .out = 64, .kernel = 11, .stride = 4, .padding = 2}, true},
        {{.in = 64, .out = 192, .kernel = 5, .stride = 1, .padding = 2}, true},
        {{.in = 192, .out = 384, .kernel = 3, .stride = 1, .padding = 1},
         false},
        {{.in = 384, .out = 256, .kernel = 3, .stride = 1, .padding = 1},
         false},
        {{.in = 256, .out = 256, .kernel = 3, .stride = 1, .padding = 1}, true},
    };
    int next = 0;

    builder_enter(builder, "features", "Sequential");
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        struct conv_layer conv = layers[i].conv;

        conv.has_bias = conv.has_default_bias = true;
        x = builder_conv(builder, builder_index(builder, next++), &conv, x);
        x = builder_relu(builder, builder_index(builder, next++), x);
        if (layers[i].has_pool)
            x = builder_max_pool(builder, builder_index(builder, next++),
                                 "MaxPool2d", &halving, x);
    }
    builder_leave(builder);
    return x;
}

static enum assay_status alexnet_build(const struct member *member,
                                       const struct model_options *options,
                                       struct graph **out, struct error *err)
{
    enum { pooled = 6, hidden = 4096 };
    struct linear_layer wide = {.in = 256 * pooled * pooled, .out = hidden};
    struct linear_layer middle = {.in = hidden, .out = hidden};
    struct linear_layer last = {.in = hidden, .out = options->n_classes};
    struct builder builder;
    uint32_t x = classifier_start(&builder, member, "AlexNet", options, err);

    x = alexnet_build_features(&builder, x);
    x = builder_adaptive_pool(&builder, "avgpool", pooled, x);
    x = builder_flatten(&builder, x);
    builder_enter(&builder, "classifier", "Sequential");
    x = builder_dropout(&builder, "0", 0.5F, x);
    x = builder_linear(&builder, "1", &wide, x);
    x = builder_relu(&builder, "2", x);
    x = builder_dropout(&builder, "3", 0.5F, x);
    x = builder_linear(&builder, "4", &middle, x);
    x = builder_relu(&builder, "5", x);
    x = builder_linear(&builder, "6", &last, x);
    builder_leave(&builder);
    return classifier_finish(&builder, x, out);
}

const struct family family_alexnet = {
    .task = TASK_CLASSIFICATION,
    .build = alexnet_build,
};
