/* tests/predict/describe_test.c - networks described from graphs, compared with
 * descriptions that others made of the same networks. */
#include "formats/net/net.h"
#include "models/models.h"
#include "predict/describe_graph.h"
#include "predict/features.h"
#include "test.h"

#include <string.h>

/* A built-in classifier for one image of 224x224. */
static struct description describe_model(const char *name)
{
    struct model_options options = model_options_for(name, MODEL_IMAGENET);
    struct shape input =
        shape_of(4, (int64_t)1, (int64_t)3, (int64_t)224, (int64_t)224);
    struct description description = {0};
    struct survey survey = {0};
    struct graph *graph = NULL;
    struct error err = {0};

    CHECK_STATUS(model_build(name, &options, &graph, &err), ASSAY_OK, &err);
    CHECK_STATUS(survey_graph(&survey, graph, &input, &err), ASSAY_OK, &err);
    CHECK_STATUS(describe_graph(graph, &survey, 1, &description, &err),
                 ASSAY_OK, &err);
    survey_release(&survey);
    graph_free(graph);
    return description;
}

static struct data_set read_tx2(void)
{
    const char *folder = test_shared("tx2");
    struct data_set set = {0};
    struct error err = {0};

    if (!folder)
        SKIP("../shared/data/tx2 is missing");
    CHECK_STATUS(data_set_read(&set, folder, &err), ASSAY_OK, &err);
    return set;
}

static bool same_conv(const struct conv_row *a, const struct conv_row *b)
{
    return a->in == b->in && a->out == b->out && a->groups == b->groups &&
           a->has_bias == b->has_bias &&
           memcmp(a->kernel, b->kernel, sizeof a->kernel) == 0 &&
           memcmp(a->stride, b->stride, sizeof a->stride) == 0 &&
           memcmp(a->pad, b->pad, sizeof a->pad) == 0 &&
           memcmp(a->size, b->size, sizeof a->size) == 0;
}

/* Whether b has a's convolution; removes it from b's list. */
static bool take_conv(const struct conv_row *conv, struct description *from)
{
    for (size_t i = 0; i < from->n_convs; i++) {
        if (!same_conv(conv, &from->convs[i]))
            continue;
        memmove(&from->convs[i], &from->convs[i + 1],
                (--from->n_convs - i) * sizeof *from->convs);
        return true;
    }
    return false;
}

static void check_features(const struct description *ours,
                           const struct description *theirs)
{
    for (int stage = 0; stage < N_STAGES; stage++) {
        for (double batch = 1; batch < 300; batch *= 7) {
            double a[N_FEATURES], b[N_FEATURES];

            features_network(ours, batch, (enum stage)stage, a);
            features_network(theirs, batch, (enum stage)stage, b);
            for (size_t f = 0; f < N_FEATURES; f++)
                test_check_near(a[f], b[f], 1e-9 * b[f], feature_name(f),
                                __FILE__, __LINE__);
        }
    }
}

/* The order differs if a block has a shortcut. */
static void check_convs(const struct description *ours,
                        const struct description *theirs)
{
    struct description left = {0};
    struct error err = {0};

    CHECK_STATUS(description_copy(&left, theirs, &err), ASSAY_OK, &err);
    CHECK_INT(ours->n_convs, theirs->n_convs);
    for (size_t i = 0; i < ours->n_convs; i++)
        CHECK(take_conv(&ours->convs[i], &left));
    CHECK_INT(left.n_convs, 0);
    description_release(&left);
}

static void compare(struct data_set *set, const char *name)
{
    struct description ours = describe_model(network_model(name));
    size_t at = data_set_find(set, name, 0);

    CHECK(at != SIZE_MAX);
    CHECK_STR(ours.network, set->descriptions[at].network);
    check_convs(&ours, &set->descriptions[at]);
    check_features(&ours, &set->descriptions[at]);
    description_release(&ours);
}

TEST(resnets_and_mnasnet_have_the_features_of_their_rows_in_tx2)
{
    struct data_set set = read_tx2();

    compare(&set, "resnet18");
    compare(&set, "resnet50");
    compare(&set, "mnasnet");
    data_set_release(&set);
}

/* The AlexNet in that folder was described, but never measured. */
TEST(alexnet_has_the_features_of_its_row_in_tx2)
{
    struct data_set set = read_tx2();

    compare(&set, "alexnet");
    data_set_release(&set);
}

/* The MobileNetV2 measured there also expands in its first block, from 32
 * channels to 32; torchvision's, and ours, does not. Without that convolution,
 * its norm and its ReLU the two are the same. */
TEST(mobilenet_v2_has_the_features_of_its_row_in_tx2_but_for_one_layer)
{
    static const struct conv_row more = {.in = 32,
                                         .out = 32,
                                         .kernel = {1, 1},
                                         .stride = {1, 1},
                                         .groups = 1,
                                         .size = {112, 112}};
    static const double elements = 32 * 112 * 112;
    struct data_set set = read_tx2();
    size_t at = data_set_find(&set, "mobilenet_v2", 0);
    struct description *theirs = &set.descriptions[at];

    CHECK(at != SIZE_MAX);
    CHECK(take_conv(&more, theirs));
    theirs->counts.parameters -= 32 * 32 + 64;
    theirs->counts.norm_parameters -= 64;
    theirs->counts.parameter_tensors -= 3;
    theirs->counts.norm_elements -= elements;
    theirs->counts.n_norm--;
    theirs->counts.relu_elements -= elements;
    theirs->counts.n_relu--;
    /* The input of the norm and the output of the ReLU. */
    theirs->counts.saved_bytes -= 4 * 2 * elements;
    compare(&set, "mobilenetv2");
    data_set_release(&set);
}

/* By hand: a 3x3 layer from 8 channels of 6x6 to 16, batch 2. */
TEST(the_features_of_a_layer_follow_the_formulas)
{
    struct conv_row first = {.in = 3,
                             .out = 8,
                             .kernel = {1, 1},
                             .stride = {1, 1},
                             .groups = 1,
                             .size = {6, 6}};
    struct conv_row conv = {.in = 8,
                            .out = 16,
                            .kernel = {3, 3},
                            .stride = {1, 1},
                            .pad = {1, 1},
                            .groups = 1,
                            .size = {6, 6}};
    struct description d = {0};
    double x[N_LAYER_FEATURES];
    struct error err = {0};

    CHECK_STATUS(description_add_conv(&d, &first, &err), ASSAY_OK, &err);
    CHECK_STATUS(description_add_conv(&d, &conv, &err), ASSAY_OK, &err);
    features_layer(&d, 1, 2, STAGE_TRAINING, x);
    CHECK_NEAR(x[LAYER_WEIGHTS], 8 * 16 * 9, 0);
    CHECK_NEAR(x[LAYER_WEIGHT_GRADIENTS], 8 * 16 * 9, 0);
    CHECK_NEAR(x[LAYER_INPUT_MAP], 2 * 8 * 36, 0);
    CHECK_NEAR(x[LAYER_INPUT_GRADIENT], 2 * 8 * 36, 0);
    CHECK_NEAR(x[LAYER_OUTPUT_MAP], 2 * 16 * 36, 0);
    CHECK_NEAR(x[LAYER_IM2COL], 2 * 36 * 8 * 9, 0);
    CHECK_NEAR(x[LAYER_IM2COL + 1], 2 * 36 * 16 * 9, 0);
    CHECK_NEAR(x[LAYER_GEMM], 2 * 36 * 8 * 16 * 9, 0);
    CHECK_NEAR(x[LAYER_GEMM + 1], x[LAYER_GEMM], 0);
    CHECK_NEAR(x[LAYER_GEMM + 2], x[LAYER_GEMM], 0);
    /* Planes of 8x8 become 8x5 complex numbers. */
    CHECK_NEAR(x[LAYER_FFT_SIZE], 2 * 40 * (2 * 24 + 128), 0);
    CHECK_NEAR(x[LAYER_FFT], 2.5 * 64 * 6 * (2 * 24 + 128) + 4 * 40 * 2 * 128,
               0);
    /* Four tiles of 4x4 per image, each with 6x6 numbers. */
    CHECK_NEAR(x[LAYER_WINOGRAD_4X3_SIZE], 36 * (8 * 24 + 128), 0);
    CHECK_NEAR(x[LAYER_WINOGRAD_4X3], 36 * 8 * 128, 0);
    /* Four tiles of 3x3 per image; the kernel is split into four of 2x2. */
    CHECK_NEAR(x[LAYER_WINOGRAD_3X2_SIZE], 16 * (8 * 24 + 4 * 128), 0);
    CHECK_NEAR(x[LAYER_WINOGRAD_3X2], 16 * 8 * 4 * 128, 0);

    features_layer(&d, 1, 2, STAGE_INFERENCE, x);
    CHECK_NEAR(x[LAYER_WEIGHT_GRADIENTS] + x[LAYER_INPUT_GRADIENT] +
                   x[LAYER_GEMM + 1] + x[LAYER_GEMM + 2] + x[LAYER_FFT + 1],
               0, 0);
    /* Nothing needs the gradient of an image. */
    features_layer(&d, 0, 2, STAGE_TRAINING, x);
    CHECK_NEAR(x[LAYER_INPUT_GRADIENT] + x[LAYER_GEMM + 1], 0, 0);
    CHECK_NEAR(x[LAYER_GEMM + 2], 2 * 36 * 3 * 8, 0);
    CHECK_NEAR(x[LAYER_FFT_SIZE] + x[LAYER_WINOGRAD_4X3], 0, 0);
    description_release(&d);
}

TEST(layers_that_depend_on_detections_are_refused_not_left_out)
{
    struct model_options options =
        model_options_for("fasterrcnn_resnet18_fpn", MODEL_IMAGENET);
    struct shape photograph =
        shape_of(3, (int64_t)3, (int64_t)128, (int64_t)128);
    struct description description = {0};
    struct survey survey = {0};
    struct graph *graph = NULL;
    struct error err = {0};

    CHECK_STATUS(model_build("fasterrcnn_resnet18_fpn", &options, &graph, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(survey_graph(&survey, graph, &photograph, &err), ASSAY_OK,
                 &err);
    CHECK_INT(describe_graph(graph, &survey, 1, &description, &err),
              ASSAY_UNSUPPORTED);
    CHECK_HAS(err.text, "box_head.fc6 (Linear) depend on what the image shows");
    description_release(&description);
    survey_release(&survey);
    graph_free(graph);
}

TEST(layers_that_predictions_cannot_count_are_listed_not_left_out)
{
    static const char text[] =
        "assay-net 1\n"
        "input x float32 2x3x4x4\n"
        "parameter a float32 8x3x1x1 zero\n"
        "parameter b float32 8x5x2x2 zero\n"
        "parameter c float32 5 zero\n"
        "%0 = Conv2d(x, a, -, -) stride=1,1 dilation=1,1 groups=1\n"
        "%1 = Softmax(%0) axis=1\n"
        "%2 = ConvTranspose2d(%1, b, c) stride=2,2\n"
        "%3 = Transpose(%2)\n"
        "%4 = Softmax(%3) axis=1\n"
        "output y %4\n";
    struct description description = {0}, copy = {0};
    struct survey survey = {0};
    struct graph *graph = NULL;
    struct pool *pool = NULL;
    struct error err = {0};

    CHECK_STATUS(pool_new(&pool, &err), ASSAY_OK, &err);
    CHECK_STATUS(net_read(text, strlen(text), pool, &graph, &err), ASSAY_OK,
                 &err);
    CHECK_STATUS(
        survey_graph(&survey, graph, graph_input_shape(graph, 0), &err),
        ASSAY_OK, &err);
    CHECK_STATUS(describe_graph(graph, &survey, 2, &description, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(description_copy(&copy, &description, &err), ASSAY_OK, &err);
    CHECK_INT(copy.n_uncounted, 3);
    CHECK_STR(copy.uncounted[0].op, "Softmax");
    CHECK_INT(copy.uncounted[0].n, 2);
    CHECK_STR(copy.uncounted[1].op, "ConvTranspose2d");
    CHECK_STR(copy.uncounted[2].op, "Transpose");
    CHECK_INT(copy.uncounted[2].n, 1);
    /* For one of the two images: 16 pixels, 8 channels to 5, 2x2. */
    CHECK_NEAR(copy.uncounted_macs, 16 * 8 * 5 * 4, 0);
    description_release(&description);
    description_release(&copy);
    survey_release(&survey);
    graph_free(graph);
    pool_free(pool);
}

TEST(common_names_mean_the_same_network)
{
    CHECK_STR(network_canonical("mobilenet_v2"), "mobilenetv2");
    CHECK_STR(network_canonical("mnasnet1_0"), "mnasnet");
    CHECK_STR(network_canonical("mnasnet"), "mnasnet");
    CHECK_STR(network_model("mobilenetv2"), "mobilenet_v2");
    CHECK_STR(network_model("mnasnet"), "mnasnet1_0");
    CHECK_STR(network_model("resnet50"), "resnet50");
}
