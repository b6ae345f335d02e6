/* tests/passes/run_network.h - the outputs of a small network, by the portable
 * kernels.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_PASSES_RUN_NETWORK_H
#define TESTS_PASSES_RUN_NETWORK_H

#include "engine/engine.h"
#include "passes/fuse.h"
#include "passes/residual_block.h"

/* The first output; the others are let go. */
static inline struct tensor run_network(const struct network *net)
{
    struct engine_options options = {.device = &device_portable};
    struct tensor outputs[4];
    struct error err = {0};
    struct engine *engine;

    CHECK(graph_output_count(net->graph) <= sizeof outputs / sizeof *outputs);
    CHECK_STATUS(engine_new(net->graph, net->pool, &options, &engine, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(engine_run(engine, &net->x, outputs, &err), ASSAY_OK, &err);
    for (size_t i = 1; i < graph_output_count(net->graph); i++)
        tensor_release(&outputs[i]);
    engine_free(engine);
    return outputs[0];
}

/* Fuses the graph, which must not change the output. */
static inline void fuse_network(struct network *net)
{
    struct tensor want = run_network(net), got;
    struct error err = {0};

    CHECK_STATUS(fuse_graph(net->graph, net->pool, &err), ASSAY_OK, &err);
    CHECK_STATUS(graph_check(net->graph, &err), ASSAY_OK, &err);
    got = run_network(net);
    CHECK(shape_equal(&got.shape, &want.shape));
    for (size_t i = 0; i < tensor_elements(&want); i++)
        CHECK_NEAR(tensor_f32(&got)[i], tensor_f32(&want)[i], 1e-5);
    tensor_release(&want);
    tensor_release(&got);
}

#endif
