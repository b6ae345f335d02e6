/* Every model of the zoo can be trained completely. */
#include "base/mem.h"
#include "models/models.h"
#include "ops/ops.h"
#include "passes/train_pass.h"
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

/* ---- detectors ---------------------------------------------------------- */

/* Ops that choose, match and sample: no gradient passes through them. */
static bool is_choice(const struct op_class *op)
{
    static const struct op_class *const choices[] = {
        &op_detection_transform, &op_detection_targets, &op_anchor_grid,
        &op_anchor_match,        &op_anchor_sample,     &op_rpn_decode,
        &op_rpn_top_k,           &op_rpn_nms,           &op_roi_sample,
        &op_roi_positives,       &op_mask_targets};

    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        if (choices[i] == op)
            return true;
    }
    return false;
}

/* Marks the values that gradients of the losses reach. */
static void mark_reached(const struct graph *graph, bool *is_reached)
{
    for (size_t i = 0; i < graph_output_count(graph); i++) {
        const char *name;
        uint32_t value = graph_output_at(graph, i, &name);

        is_reached[value] |= strncmp(name, "loss", 4) == 0;
    }
    for (size_t i = graph_node_count(graph); i-- > 0;) {
        const struct node *node = graph_node(graph, i);
        bool passes = false;

        for (size_t k = 0; k < node->n_outputs; k++)
            passes |= is_reached[node->outputs[k]];
        if (passes && !node->op->backward && !node->op->is_view &&
            !is_choice(node->op))
            printf("%s has no backward\n", node->op->name);
        if (passes)
            CHECK(node->op->backward || node->op->is_view ||
                  is_choice(node->op));
        passes = passes && (node->op->backward || node->op->is_view);
        for (size_t k = 0; passes && k < node->n_inputs; k++) {
            if (node->inputs[k] != GRAPH_NONE)
                is_reached[node->inputs[k]] = true;
        }
    }
}

static void check_detector(const char *name, enum model_norm norm,
                           int64_t layers)
{
    struct model_options options = model_defaults();
    struct graph *graph;
    bool *is_reached;

    options.is_training = true;
    options.norm = norm;
    options.trainable_layers = layers;
    CHECK_STATUS(model_build(name, &options, &graph, &err), ASSAY_OK, &err);
    is_reached = mem_array(graph_value_count(graph), sizeof *is_reached);
    CHECK(is_reached);
    mark_reached(graph, is_reached);
    for (uint32_t i = 0; i < graph_value_count(graph); i++) {
        const struct value *value = graph_value(graph, i);

        if (value->kind == VALUE_PARAMETER && !value->is_frozen &&
            !is_reached[i])
            printf("%s: no gradient reaches %s\n", name, value->name);
        CHECK(value->kind != VALUE_PARAMETER || value->is_frozen ||
              is_reached[i]);
    }
    mem_free(is_reached);
    graph_free(graph);
}

TEST(gradients_reach_everything_that_a_detector_trains)
{
    for (const char *const *name = model_names(); *name; name++) {
        if (model_task(*name) != TASK_DETECTION)
            continue;
        check_detector(*name, NORM_FROZEN, 3);
        check_detector(*name, NORM_BATCH, 5);
    }
}
