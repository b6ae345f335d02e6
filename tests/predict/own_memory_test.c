/* tests/predict/own_memory_test.c - what this program takes of a GPU's memory,
 * found by running its engine on a device without any: against what its pool
 * held at most on an H200, in campaigns. */
#include "predict/own_memory.h"

#include "models/models.h"
#include "test.h"

static struct graph *build(const char *name)
{
    struct model_options options = model_options_for(name, MODEL_IMAGENET);
    struct graph *graph = NULL;
    struct error err = {0};

    CHECK_STATUS(model_build(name, &options, &graph, &err), ASSAY_OK, &err);
    return graph;
}

static void walk(const struct graph *graph, bool is_training,
                 double mb[OWN_MEMORY_BATCHES])
{
    struct shape image =
        shape_of(4, (int64_t)1, (int64_t)3, (int64_t)224, (int64_t)224);
    struct error err = {0};

    CHECK_STATUS(own_memory_of(graph, &image, is_training, mb, &err), ASSAY_OK,
                 &err);
}

/* At batches of 1, 8 and 128. */
static void check_memory(const char *name, bool is_training, double percent,
                         double of_1, double of_8, double of_128)
{
    double share = percent / 100;
    struct graph *graph = build(name);
    double mb[OWN_MEMORY_BATCHES];

    walk(graph, is_training, mb);
    test_check_near(mb[0], of_1, share * of_1, name, __FILE__, __LINE__);
    test_check_near(mb[3], of_8, share * of_8, name, __FILE__, __LINE__);
    test_check_near(mb[7], of_128, share * of_128, name, __FILE__, __LINE__);
    graph_free(graph);
}

/* Which outputs of residual blocks are kept changes with the engine, which
 * these numbers are older or newer than. */
TEST(the_pool_takes_what_it_took_on_a_gpu_in_training)
{
    check_memory("squeezenet1_0", true, 2, 39.7, 231.1, 3456.7);
    check_memory("mobilenet_v2", true, 3, 64.1, 250.5, 3473.1);
    check_memory("resnet18", true, 7, 187.6, 268.2, 1755.5);
    check_memory("resnet50", true, 10, 373.5, 710.0, 7100.1);
}

TEST(the_pool_takes_what_it_took_on_a_gpu_in_inference)
{
    check_memory("resnet18", false, 2, 92.8, 131.2, 815.2);
    check_memory("squeezenet1_0", false, 2, 13.8, 60.9, 886.9);
}

TEST(the_network_stays_as_it_is)
{
    struct graph *graph = build("resnet18");
    size_t n_nodes = graph_node_count(graph);
    size_t n_values = graph_value_count(graph);
    double mb[OWN_MEMORY_BATCHES];

    walk(graph, true, mb);
    walk(graph, false, mb);
    CHECK_INT(graph_node_count(graph), n_nodes);
    CHECK_INT(graph_value_count(graph), n_values);
    CHECK(!graph_has_data(graph));
    graph_free(graph);
}

TEST(networks_whose_shapes_depend_on_data_are_not_walked)
{
    struct graph *graph = build("fasterrcnn_resnet50_fpn");
    double mb[OWN_MEMORY_BATCHES] = {1};

    walk(graph, false, mb);
    CHECK_NEAR(mb[0], 0, 0);
    CHECK_NEAR(mb[7], 0, 0);
    graph_free(graph);
}
