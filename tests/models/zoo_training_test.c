/* Every model of the zoo can be trained, all of it. */
#include "models/models.h"
#include "ops/ops.h"
#include "ops/train_pass.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static struct error err;

static size_t count_trained(const struct graph *graph)
{
    size_t n = 0;

    for (uint32_t i = 0; i < graph_value_count(graph); i++) {
        const struct value *value = graph_value(graph, i);

        n += value->kind == VALUE_PARAMETER && !value->is_frozen;
    }
    return n;
}

TEST(gradients_pass_through_every_classifier)
{
    for (const char *const *name = model_names(); *name; name++) {
        struct model_options options = model_options_for(*name, MODEL_IMAGENET);
        struct graph *graph;
        size_t n_trained;

        if (model_task(*name) != TASK_CLASSIFICATION)
            continue;
        CHECK_STATUS(model_build(*name, &options, &graph, &err), ASSAY_OK,
                     &err);
        n_trained = count_trained(graph);
        CHECK_STATUS(graph_make_training(graph, NULL, &err), ASSAY_OK, &err);
        CHECK_STATUS(graph_check(graph, &err), ASSAY_OK, &err);
        CHECK_INT(count_trained(graph), n_trained);
        for (size_t i = 0; i < graph_node_count(graph); i++) {
            CHECK(graph_node(graph, i)->op != &op_batch_norm);
            CHECK(graph_node(graph, i)->op != &op_dropout);
        }
        graph_free(graph);
    }
}
