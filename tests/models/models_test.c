/* The built-in models have torchvision's names, shapes and counts. */
#include "models/models.h"
#include "ops/ops.h"
#include "test.h"

#include <math.h>
#include <string.h>

static struct error err;

static struct graph *build(const char *name, const struct model_options *o)
{
    struct graph *graph;

    err = (struct error){0};
    CHECK_STATUS(model_build(name, o, &graph, &err), ASSAY_OK, &err);
    return graph;
}

static uint64_t parameters(const char *name, enum model_norm norm)
{
    struct model_options options = model_defaults();
    struct graph *graph;
    uint64_t n;

    options.norm = norm;
    graph = build(name, &options);
    n = graph_parameter_elements(graph);
    graph_free(graph);
    return n;
}

/* Published with torchvision's weights: weights_meta.csv of ../shared. With
 * BatchNorm2d its scale and shift are trained, too. The small one has no
 * published weights: its count is from torchvision's own classes. */
TEST(the_number_of_parameters_is_as_published)
{
    CHECK_INT(parameters("fasterrcnn_resnet50_fpn", NORM_FROZEN), 41755286);
    CHECK_INT(parameters("faster-rcnn", NORM_BATCH), 41808406);
    CHECK_INT(parameters("maskrcnn_resnet50_fpn", NORM_FROZEN), 44401393);
    CHECK_INT(parameters("fasterrcnn_resnet18_fpn", NORM_FROZEN), 28730006);
    CHECK_INT(parameters("fasterrcnn_resnet18_fpn", NORM_BATCH), 28739606);
}

TEST(a_model_has_two_names)
{
    CHECK_STR(model_full_name("mask-rcnn"), "maskrcnn_resnet50_fpn");
    CHECK_STR(model_full_name("maskrcnn_resnet50_fpn"),
              "maskrcnn_resnet50_fpn");
    CHECK(model_full_name("mask") == NULL);
}

static const struct graph_scope *find_scope(const struct graph *graph,
                                            const char *path)
{
    for (uint32_t i = 0; i < graph_scope_count(graph); i++) {
        if (strcmp(graph_scope(graph, i)->path, path) == 0)
            return graph_scope(graph, i);
    }
    print_error("no module %s\n", path);
    fail();
    return NULL;
}

TEST(modules_have_the_paths_and_classes_of_torchvision)
{
    static const char *const modules[][2] = {
        {"transform", "GeneralizedRCNNTransform"},
        {"backbone.body.layer1.0.conv1", "Conv2d"},
        {"backbone.body.layer4.2.bn3", "FrozenBatchNorm2d"},
        {"backbone.body.layer3.0.downsample", "Sequential"},
        {"backbone.fpn.layer_blocks", "ModuleList"},
        {"backbone.fpn.inner_blocks.3.0", "Conv2d"},
        {"backbone.fpn.extra_blocks", "LastLevelMaxPool"},
        {"rpn.head.conv.0.1", "ReLU"},
        {"rpn.anchor_generator", "AnchorGenerator"},
        {"roi_heads.box_head.fc7", "Linear"},
        {"roi_heads.mask_head.3.0", "Conv2d"},
        {"roi_heads.mask_predictor.conv5_mask", "ConvTranspose2d"},
    };
    struct model_options options = model_defaults();
    struct graph *graph = build("mask-rcnn", &options);

    for (size_t i = 0; i < sizeof modules / sizeof modules[0]; i++)
        CHECK_STR(find_scope(graph, modules[i][0])->class_name, modules[i][1]);
    CHECK(find_scope(graph, "backbone.fpn.layer_blocks")->is_container);
    graph_free(graph);
}

TEST(parameters_have_the_names_of_a_checkpoint)
{
    static const char *const names[] = {
        "backbone.body.conv1.weight",
        "backbone.body.bn1.running_var",
        "backbone.fpn.inner_blocks.0.0.bias",
        "rpn.head.conv.0.0.weight",
        "rpn.head.cls_logits.weight",
        "roi_heads.box_predictor.bbox_pred.bias",
    };
    struct model_options options = model_defaults();
    struct graph *graph = build("faster-rcnn", &options);

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        CHECK(graph_find_value(graph, names[i]) != GRAPH_NONE);
    graph_free(graph);
}

TEST(impossible_batches_and_class_counts_are_refused)
{
    struct model_options options = model_defaults();
    struct graph *graph;

    options.n_images = 0;
    CHECK_INT(model_build("faster-rcnn", &options, &graph, &err),
              ASSAY_BAD_USAGE);
    options = model_defaults();
    options.n_classes = 1;
    CHECK_INT(model_build("faster-rcnn", &options, &graph, &err),
              ASSAY_BAD_USAGE);
    err = (struct error){0};
    CHECK_INT(model_build("slower-rcnn", &options, &graph, &err),
              ASSAY_NOT_FOUND);
    CHECK_STR(err.text, "there is no model 'slower-rcnn'");
}

static void check_fill(const struct graph *graph, const char *name,
                       double deviation)
{
    const struct value *value =
        graph_value(graph, graph_find_value(graph, name));
    size_t n = tensor_elements(&value->data);
    const float *data = tensor_f32(&value->data);
    double sum = 0, squares = 0;

    for (size_t i = 0; i < n; i++) {
        sum += data[i];
        squares += (double)data[i] * data[i];
    }
    CHECK_NEAR(sum / (double)n / deviation, 0, 0.02);
    CHECK_NEAR(sqrt(squares / (double)n) / deviation, 1, 0.02);
}

/* Deviations of torch.nn.init: kaiming_normal_ with fan out sqrt(2 / fan),
 * kaiming_uniform_ with a = 1 sqrt(1 / fan in), Linear's default sqrt(1 / (3
 * fan in)), the RPN's heads 0.01. */
TEST(random_weights_have_the_deviations_of_torchvision)
{
    struct model_options options = model_defaults();
    struct graph *graph = build("faster-rcnn", &options);
    struct pool *pool;

    CHECK_INT(pool_new(&pool, &err), ASSAY_OK);
    CHECK_STATUS(model_fill(graph, pool, 0, &err), ASSAY_OK, &err);
    check_fill(graph, "backbone.body.layer2.0.conv2.weight",
               sqrt(2.0 / (128 * 9)));
    check_fill(graph, "backbone.fpn.layer_blocks.1.0.weight",
               sqrt(1.0 / (256 * 9)));
    check_fill(graph, "roi_heads.box_head.fc7.weight", sqrt(1.0 / (3 * 1024)));
    check_fill(graph, "rpn.head.conv.0.0.weight", 0.01);
    CHECK_NEAR(
        tensor_f32(
            &graph_value(graph, graph_find_value(
                                    graph, "backbone.body.bn1.running_var"))
                 ->data)[5],
        1, 0);
    graph_free(graph);
    pool_free(pool);
}

TEST(random_weights_depend_only_on_the_seed)
{
    struct model_options options = model_defaults();
    struct graph *graphs[3];
    struct pool *pool;
    const float *data[3];

    CHECK_INT(pool_new(&pool, &err), ASSAY_OK);
    for (int i = 0; i < 3; i++) {
        uint32_t value;

        graphs[i] = build(i == 1 ? "mask-rcnn" : "faster-rcnn", &options);
        CHECK_INT(model_fill(graphs[i], pool, i == 2, &err), ASSAY_OK);
        value = graph_find_value(graphs[i], "rpn.head.cls_logits.weight");
        data[i] = tensor_f32(&graph_value(graphs[i], value)->data);
    }
    CHECK(memcmp(data[0], data[1], 768 * sizeof(float)) == 0);
    CHECK(memcmp(data[0], data[2], 768 * sizeof(float)) != 0);
    for (int i = 0; i < 3; i++)
        graph_free(graphs[i]);
    pool_free(pool);
}

TEST(coco_classes_have_their_names)
{
    CHECK_STR(model_coco_class(1), "person");
    CHECK_STR(model_coco_class(18), "dog");
    CHECK_STR(model_coco_class(90), "toothbrush");
    CHECK_STR(model_coco_class(91), "N/A");
    CHECK_STR(model_coco_class(-1), "N/A");
}
