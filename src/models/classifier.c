/* models/classifier.c - the beginning and end of every classifier. */
#include "models/family_internal.h"

#include "passes/train_pass.h"

uint32_t classifier_start(struct builder *builder, const struct member *member,
                          const char *class_name,
                          const struct model_options *options,
                          struct error *err)
{
    builder_start(builder, member->name, class_name, options, err);
    builder->norm = NORM_BATCH;
    builder->norm_eps = 1e-5f;
    if (!builder->st && options->n_classes < 1)
        builder->st = error_set(err, ASSAY_BAD_USAGE,
                                "%lld classes are too few; at least one is "
                                "needed",
                                (long long)options->n_classes);
    return builder_input(builder, "images");
}

enum assay_status classifier_finish(struct builder *builder, uint32_t x,
                                    struct graph **out)
{
    builder_output(builder, "logits", x);
    if (!builder->st && builder->is_training)
        builder->st = graph_make_training(builder->graph, NULL, builder->err);
    return builder_finish(builder, out);
}

enum assay_status classifier_finish_mobile(struct builder *builder,
                                           const struct linear_layer *last,
                                           uint32_t x, struct graph **out)
{
    x = builder_mean(builder, x);
    builder_enter(builder, "classifier", "Sequential");
    x = builder_dropout(builder, "0", 0.2F, x);
    x = builder_linear(builder, "1", last, x);
    builder_leave(builder);
    return classifier_finish(builder, x, out);
}
