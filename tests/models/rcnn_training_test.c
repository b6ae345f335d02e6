/* Detectors built for training: inputs, outputs, frozen layers. */
#include "models/models.h"
#include "ops/ops.h"
#include "test.h"

#include <string.h>

static struct error err;

static struct model_options training(enum model_norm norm)
{
    struct model_options options = model_defaults();

    options.is_training = true;
    options.norm = norm;
    options.n_images = 2;
    return options;
}

static struct graph *build(const char *name,
                           const struct model_options *options)
{
    struct graph *graph;

    err = (struct error){0};
    CHECK_STATUS(model_build(name, options, &graph, &err), ASSAY_OK, &err);
    return graph;
}

static void check_inputs(const struct graph *graph, const char *const *names)
{
    size_t n = 0;

    for (; names[n]; n++)
        CHECK_STR(graph_value(graph, graph_input_at(graph, n))->name, names[n]);
    CHECK_INT(graph_input_count(graph), n);
}

TEST(inputs_are_images_then_targets_then_the_seed)
{
    static const char *const faster[] = {
        "image_0", "image_1", "boxes", "labels", "counts", "seed", NULL};
    static const char *const mask[] = {"image_0", "image_1", "boxes",
                                       "labels",  "counts",  "masks_0",
                                       "masks_1", "seed",    NULL};
    struct model_options options = training(NORM_FROZEN);
    struct graph *graph = build("faster-rcnn", &options);

    check_inputs(graph, faster);
    graph_free(graph);
    graph = build("mask-rcnn", &options);
    check_inputs(graph, mask);
    CHECK_INT(graph_value(graph, graph_find_value(graph, "masks_1"))->dtype,
              DTYPE_U8);
    graph_free(graph);
}

static bool has_output(const struct graph *graph, const char *wanted)
{
    for (size_t i = 0; i < graph_output_count(graph); i++) {
        const char *name;

        graph_output_at(graph, i, &name);
        if (strcmp(name, wanted) == 0)
            return true;
    }
    return false;
}

TEST(outputs_are_losses_and_not_detections)
{
    static const char *const losses[] = {"loss_objectness", "loss_rpn_box_reg",
                                         "loss_classifier", "loss_box_reg",
                                         "loss_mask"};
    struct model_options options = training(NORM_FROZEN);
    struct graph *graph = build("mask-rcnn", &options);

    for (int i = 0; i < 5; i++)
        CHECK(has_output(graph, losses[i]));
    CHECK_INT(graph_output_count(graph), 5);
    graph_free(graph);
}

/* ResNet-50 has 53 norms. */
TEST(new_statistics_of_trained_norms_are_outputs_named_after_the_old)
{
    struct model_options options = training(NORM_BATCH);
    struct graph *graph = build("faster-rcnn", &options);

    CHECK(has_output(graph, "backbone.body.bn1.running_mean"));
    CHECK(has_output(graph, "backbone.body.layer4.2.bn3.running_var"));
    CHECK_INT(graph_output_count(graph), 4 + 2 * 53);
    graph_free(graph);
}

/* Elements of the backbone's body that are trained. */
static uint64_t trained(enum model_norm norm, int64_t n_layers)
{
    struct model_options options = training(norm);
    struct graph *graph;
    uint64_t n = 0;

    options.trainable_layers = n_layers;
    graph = build("faster-rcnn", &options);
    for (uint32_t i = 0; i < graph_value_count(graph); i++) {
        const struct value *value = graph_value(graph, i);
        size_t elements;

        if (value->kind == VALUE_PARAMETER && !value->is_frozen &&
            strncmp(value->name, "backbone.body.", 14) == 0 &&
            shape_elements(&value->shape, &elements))
            n += elements;
    }
    graph_free(graph);
    return n;
}

/* From torchvision 0.14: sum(p.numel() for p in
 * model.backbone.body.parameters() if p.requires_grad) of
 * fasterrcnn_resnet50_fpn(weights=None, weights_backbone=...,
 * trainable_backbone_layers=n), with either norm. */
TEST(the_layers_that_torchvision_does_not_train_are_frozen)
{
    static const uint64_t frozen[] = {0,        14942208, 22020096,
                                      23232512, 23445504, 23454912};
    static const uint64_t batch[] = {0,        14964736, 22063104,
                                     23282688, 23498496, 23508032};

    for (int64_t i = 0; i <= MODEL_BACKBONE_LAYERS; i++) {
        CHECK_INT(trained(NORM_FROZEN, i), frozen[i]);
        CHECK_INT(trained(NORM_BATCH, i), batch[i]);
    }
    CHECK_INT(trained(NORM_FROZEN, MODEL_TRAINABLE_DEFAULT), frozen[3]);
    CHECK_INT(trained(NORM_BATCH, MODEL_TRAINABLE_DEFAULT), batch[5]);
}

TEST(impossible_trainings_are_refused)
{
    struct model_options options = training(NORM_FROZEN);
    struct graph *graph;

    options.trainable_layers = 6;
    err = (struct error){0};
    CHECK_INT(model_build("faster-rcnn", &options, &graph, &err),
              ASSAY_BAD_USAGE);
    CHECK_STR(err.text,
              "cannot train 6 layers of the backbone; 0 to 5 are possible");
    options = training(NORM_FROZEN);
    options.sampling.boxes = 0;
    CHECK_INT(model_build("faster-rcnn", &options, &graph, &err),
              ASSAY_BAD_USAGE);
}

TEST(a_classifier_in_training_takes_labels_and_returns_a_loss)
{
    static const char *const inputs[] = {"images", "labels", "seed", NULL};
    struct model_options options =
        model_options_for("mobilenet_v2", MODEL_IMAGENET);
    struct graph *graph;
    bool drops = false;

    options.is_training = true;
    graph = build("mobilenet_v2", &options);
    check_inputs(graph, inputs);
    CHECK(has_output(graph, "loss"));
    CHECK(has_output(graph, "logits"));
    CHECK(has_output(graph, "features.0.1.running_mean"));
    for (size_t i = 0; i < graph_node_count(graph); i++)
        drops |= graph_node(graph, i)->op == &op_dropout_training;
    CHECK(drops);
    graph_free(graph);
}

TEST(weights_can_be_copied_from_training_to_inference)
{
    struct model_options options = training(NORM_BATCH);
    const char *name = "roi_heads.box_predictor.cls_score.bias";
    const struct tensor *learnt, *used;
    struct graph *learns, *uses, *other;
    struct pool *pool;

    CHECK_INT(pool_new(&pool, &err), ASSAY_OK);
    learns = build("fasterrcnn_resnet18_fpn", &options);
    CHECK_STATUS(model_fill(learns, pool, 3, &err), ASSAY_OK, &err);
    options.is_training = false;
    uses = build("fasterrcnn_resnet18_fpn", &options);
    CHECK_STATUS(model_copy_weights(uses, learns, pool, &err), ASSAY_OK, &err);
    learnt = &graph_value(learns, graph_find_value(learns, name))->data;
    used = &graph_value(uses, graph_find_value(uses, name))->data;
    CHECK(memcmp(tensor_data(used), tensor_data(learnt),
                 tensor_bytes(learnt)) == 0);
    tensor_f32(learnt)[0] += 1;
    CHECK(tensor_f32(used)[0] != tensor_f32(learnt)[0]);
    other = build("fasterrcnn_resnet50_fpn", &options);
    CHECK_INT(model_copy_weights(other, learns, pool, &err), ASSAY_BAD_INPUT);
    graph_free(learns);
    graph_free(uses);
    graph_free(other);
    pool_free(pool);
}
