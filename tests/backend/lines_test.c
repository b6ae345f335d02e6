/* LayerNorm along lines, by the kernels of the processors. */
#include "backend/device.h"
#include "engine/engine.h"
#include "ops/norm/normalize.h"
#include "passes/residual_block.h"

static struct error err;

enum { n_outputs = 3 };

/* With the means and 1 / deviations, which ONNX's LayerNormalization may make
 * too. */
static struct network norm_with_means(void)
{
    static const struct normalize_attrs last = {.eps = 1e-3F, .axis = -1};
    static const char *const names[n_outputs] = {"y", "means", "deviations"};
    struct network net = network_new();
    struct shape line = shape_of(1, net.x.shape.dims[3]);
    uint32_t inputs[2], made[n_outputs];
    struct node_description description = {.op = &op_layer_norm,
                                           .attrs = &last,
                                           .scope = GRAPH_NONE,
                                           .inputs = inputs,
                                           .n_inputs = 2,
                                           .n_outputs = n_outputs};

    graph_free(net.graph);
    CHECK_INT(graph_new(&net.graph, &err), ASSAY_OK);
    CHECK_INT(graph_input(net.graph, "x", DTYPE_F32, &inputs[0], &err),
              ASSAY_OK);
    inputs[1] = network_parameter(&net, GRAPH_NONE, "scale", &line, 0.5F, 1.5F);
    CHECK_INT(graph_node_add(net.graph, &description, made, &err), ASSAY_OK);
    for (int i = 0; i < n_outputs; i++)
        CHECK_INT(graph_output(net.graph, names[i], made[i], &err), ASSAY_OK);
    return net;
}

static void run_on(const struct network *net, const struct device *device,
                   struct tensor *outputs)
{
    struct engine_options options = {.device = device,
                                     .backend_options = {.n_threads = 2}};
    struct engine *engine;

    CHECK_STATUS(engine_new(net->graph, net->pool, &options, &engine, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(engine_run(engine, &net->x, outputs, &err), ASSAY_OK, &err);
    engine_free(engine);
}

TEST(means_and_deviations_of_a_layer_norm_are_those_of_the_portable_kernel)
{
    struct network net = norm_with_means(), plain = norm_with_means();
    struct tensor got[n_outputs], want[n_outputs];

    run_on(&plain, &device_portable, want);
    run_on(&net, device_cpu(), got);
    for (int i = 0; i < n_outputs; i++) {
        CHECK(got[i].buffer && shape_equal(&got[i].shape, &want[i].shape));
        for (size_t k = 0; k < tensor_elements(&want[i]); k++)
            CHECK_NEAR(tensor_f32(&got[i])[k], tensor_f32(&want[i])[k], 1e-5);
        tensor_release(&got[i]);
        tensor_release(&want[i]);
    }
    network_free(&net);
    network_free(&plain);
}
