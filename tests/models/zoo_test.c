/* The classifiers have the parameters and multiply-adds that torchvision
 * publishes. */
#include "base/file.h"
#include "graph/survey.h"
#include "models/models.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct error err;

struct count {
    uint64_t parameters;
    double gmacs;
};

static struct count count_of(const char *name,
                             const struct model_options *options)
{
    struct shape input = shape_of(4, (int64_t)1, (int64_t)3,
                                  options->image_size, options->image_size);
    struct survey survey = {0};
    struct count count = {0};
    struct graph *graph;
    uint64_t macs = 0;

    err = (struct error){0};
    CHECK_STATUS(model_build(name, options, &graph, &err), ASSAY_OK, &err);
    CHECK_STATUS(survey_graph(&survey, graph, &input, &err), ASSAY_OK, &err);
    CHECK_INT(survey.n_unknown, 0);
    for (size_t i = 0; i < graph_node_count(graph); i++)
        macs += survey.costs[i].macs;
    count.parameters = graph_parameter_elements(graph);
    count.gmacs = (double)macs / 1e9;
    survey_release(&survey);
    graph_free(graph);
    return count;
}

/* A model's row of weights_meta.csv: its enum there. */
static const struct {
    const char *name, *published;
} rows[] = {
    {"alexnet", "AlexNet_Weights"},
    {"googlenet", "GoogLeNet_Weights"},
    {"mnasnet1_0", "MNASNet1_0_Weights"},
    {"mobilenet_v2", "MobileNet_V2_Weights"},
    {"resnet18", "ResNet18_Weights"},
    {"resnet34", "ResNet34_Weights"},
    {"resnet50", "ResNet50_Weights"},
    {"resnet101", "ResNet101_Weights"},
    {"squeezenet1_0", "SqueezeNet1_0_Weights"},
    {"squeezenet1_1", "SqueezeNet1_1_Weights"},
    {"vgg11", "VGG11_Weights"},
    {"vgg11_bn", "VGG11_BN_Weights"},
    {"vgg16", "VGG16_Weights"},
    {"vgg16_bn", "VGG16_BN_Weights"},
    {"vgg19", "VGG19_Weights"},
    {"vgg19_bn", "VGG19_BN_Weights"},
};

/* Columns 3 and 4 of the last row with the enum in column 1 and both values; ""
 * if the file leaves one out. */
static bool find_row(const char *csv, const char *published, char *parameters,
                     char *gflops)
{
    char file[64], found[64], weight[64];

    for (const char *line = csv; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        parameters[0] = gflops[0] = '\0';
        if (sscanf(line, "%63[^,],%63[^,],%63[^,],", file, found, weight) ==
                3 &&
            strcmp(found, published) == 0) {
            line = strstr(line, weight) + strlen(weight) + 1;
            if (*line != ',')
                sscanf(line, "%31[0-9]", parameters);
            sscanf(strchr(line, ',') + 1, "%31[0-9.]", gflops);
            return true;
        }
    }
    return false;
}

TEST(parameters_and_multiply_adds_are_as_published)
{
    const char *path = test_shared("torchvision/weights_meta.csv");
    struct str csv = {0};

    if (!path)
        SKIP("../shared/data/torchvision/weights_meta.csv is missing");
    CHECK_STATUS(file_read(path, 1 << 20, &csv, &err), ASSAY_OK, &err);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct model_options options =
            model_options_for(rows[i].name, MODEL_IMAGENET);
        struct count count = count_of(rows[i].name, &options);
        char parameters[32], gflops[32];

        CHECK(find_row(csv.text, rows[i].published, parameters, gflops));
        if (parameters[0])
            CHECK_INT(count.parameters, strtoll(parameters, NULL, 10));
        CHECK_NEAR(count.gmacs, strtod(gflops, NULL), 5e-4);
    }
    str_release(&csv);
}

/* The file leaves these out; they are from torchvision's sources (num_params).
 */
TEST(the_mobile_networks_have_the_parameters_of_torchvision)
{
    struct model_options mobile =
        model_options_for("mobilenet_v2", MODEL_IMAGENET);

    CHECK_INT(count_of("mobilenet_v2", &mobile).parameters, 3504872);
    CHECK_INT(count_of("mnasnet1_0", &mobile).parameters, 4383312);
}

TEST(the_auxiliary_heads_of_googlenet_are_only_parameters)
{
    struct model_options options =
        model_options_for("googlenet", MODEL_IMAGENET);
    struct count plain = count_of("googlenet", &options), full;

    options.has_auxiliary = true;
    full = count_of("googlenet", &options);
    CHECK_INT(plain.parameters, 6624904);
    CHECK_INT(full.parameters, 13004888);
    CHECK_NEAR(full.gmacs, plain.gmacs, 0);
}

/* Known figures: 11.2201 million parameters and 0.5555 GMACs for a 3x3 stem,
 * 100 classes and images of 32x32. */
TEST(resnet18_for_cifar100_has_the_known_counts)
{
    struct model_options options =
        model_options_for("resnet18", MODEL_CIFAR100);
    struct count count = count_of("resnet18", &options);

    CHECK_INT(count.parameters, 11220132);
    CHECK_NEAR(count.gmacs, 0.5555, 5e-5);
}

TEST(a_model_without_a_variant_for_cifar_says_so)
{
    struct model_options options = model_options_for("alexnet", MODEL_CIFAR10);
    struct graph *graph;

    err = (struct error){0};
    CHECK_INT(model_build("alexnet", &options, &graph, &err),
              ASSAY_UNSUPPORTED);
    CHECK_STR(err.text, "alexnet has no variant for CIFAR; the resnets, vggs "
                        "and mobilenet_v2 have one");
}

TEST(an_image_that_is_too_small_is_refused_and_names_the_layer)
{
    struct model_options options = model_options_for("vgg11", MODEL_IMAGENET);
    struct shape input =
        shape_of(4, (int64_t)1, (int64_t)3, (int64_t)8, (int64_t)8);
    struct survey survey = {0};
    struct graph *graph;

    err = (struct error){0};
    CHECK_INT(model_build("vgg11", &options, &graph, &err), ASSAY_OK);
    CHECK_INT(survey_graph(&survey, graph, &input, &err), ASSAY_BAD_INPUT);
    CHECK_STR(err.text, "features.15 (MaxPool2d): a window of 2 does not fit "
                        "into 1");
    graph_free(graph);
}
