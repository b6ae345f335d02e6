/* Weights that convolutions in different numbers of groups share: each packs
 * them in its own way. */
#include "engine/engine.h"
#include "passes/residual_block.h"

#include <math.h>

static struct error err;

enum { out_channels = 64, side = 9 };

static uint32_t convolve(struct network *net, uint32_t x, uint32_t weight,
                         int64_t groups, int64_t padding)
{
    struct conv2d_attrs attrs = conv2d_defaults();
    uint32_t inputs[CONV2D_INPUTS] = {x, weight, GRAPH_NONE, GRAPH_NONE};

    attrs.groups = groups;
    for (int i = 0; i < 2; i++)
        attrs.before[i] = attrs.after[i] = padding;
    return network_add(net, &op_conv2d, &attrs, GRAPH_NONE, inputs,
                       CONV2D_INPUTS);
}

/* One convolution in 2 groups and one in 4, of c channels each and with the
 * same k x k weights; between them one of 1x1 from all outputs of the first to
 * the inputs of the second. */
static struct network sharing_network(int64_t c, int64_t k)
{
    struct network net = network_new();
    struct shape w = shape_of(4, (int64_t)out_channels, c, k, k);
    struct shape between =
        shape_of(4, 4 * c, (int64_t)out_channels, (int64_t)1, (int64_t)1);
    struct shape x =
        shape_of(4, (int64_t)1, 2 * c, (int64_t)side, (int64_t)side);
    uint32_t y, weight;

    graph_free(net.graph);
    tensor_release(&net.x);
    CHECK_INT(graph_new(&net.graph, &err), ASSAY_OK);
    net.x = network_data(&net, &x, -1, 1);
    CHECK_INT(graph_input(net.graph, "x", DTYPE_F32, &y, &err), ASSAY_OK);
    weight = network_parameter(&net, GRAPH_NONE, "weight", &w, -1, 1);
    y = convolve(&net, y, weight, 2, k / 2);
    y = convolve(
        &net, y,
        network_parameter(&net, GRAPH_NONE, "between", &between, -1, 1), 1, 0);
    y = convolve(&net, y, weight, 4, k / 2);
    CHECK_INT(graph_output(net.graph, "y", y, &err), ASSAY_OK);
    return net;
}

static struct tensor run_on(const struct network *net,
                            const struct device *device, const char *algorithm)
{
    struct engine_options options = {
        .device = device,
        .backend_options = {.n_threads = 2, .algorithm = algorithm}};
    struct engine *engine;
    struct tensor y;

    CHECK_STATUS(engine_new(net->graph, net->pool, &options, &engine, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(engine_run(engine, &net->x, &y, &err), ASSAY_OK, &err);
    engine_free(engine);
    return y;
}

static void check_shared(int64_t c, int64_t k, const char *algorithm)
{
    struct network net = sharing_network(c, k);
    struct tensor want = run_on(&net, &device_portable, NULL);
    struct tensor got = run_on(&net, device_cpu(), algorithm);

    for (size_t i = 0; i < tensor_elements(&want); i++) {
        double value = tensor_f32(&want)[i];

        CHECK_NEAR(tensor_f32(&got)[i], value, 1e-3 * (1 + fabs(value)));
    }
    tensor_release(&want);
    tensor_release(&got);
    network_free(&net);
}

TEST(groups_of_1x1_that_share_weights_pack_them_each_for_itself)
{
    check_shared(4, 1, "direct");
}

TEST(groups_of_3x3_that_share_weights_transform_them_each_for_itself)
{
    check_shared(16, 3, "winograd assay_4x3");
}
