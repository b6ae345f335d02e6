/* tests/session/ours.c - see ours.h. */
#include "ours.h"

#include "backend/backend.h"
#include "formats/weights/load_weights.h"
#include "ops/detection/rpn_decode.h"
#include "ops/ops.h"
#include "passes/fuse.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static struct error err;

static void keep(struct ours *ours, uint32_t *kept, const uint32_t *values,
                 size_t n)
{
    memcpy(kept, values, n * sizeof *kept);
    for (size_t i = 0; i < n; i++)
        CHECK_INT(engine_keep(ours->engine, kept[i], &err), ASSAY_OK);
}

static void keep_values(struct ours *ours)
{
    for (size_t i = 0; i < graph_node_count(ours->graph); i++) {
        const struct node *node = graph_node(ours->graph, i);

        if (node->op == &op_anchor_grid)
            keep(ours, ours->features, node->inputs + 1, OURS_LEVELS);
        if (node->op == &op_rpn_top_k)
            keep(ours, ours->objectness, node->inputs, OURS_LEVELS);
        if (node->op == &op_rpn_decode)
            keep(ours, ours->deltas, node->inputs + RPN_DECODE_DELTAS,
                 OURS_LEVELS);
        if (node->op == &op_rpn_nms)
            keep(ours, ours->candidates, node->inputs, RPN_NMS_COUNTS + 1);
        if (node->op == &op_rpn_nms)
            keep(ours, ours->proposals, node->outputs, RPN_NMS_OUTPUTS);
    }
}

struct ours ours_open(const struct ours_setup *setup)
{
    struct engine_options engine = {
        .device = device_cpu(),
        .backend_options = {.n_threads = setup->n_threads,
                            .is_plain = setup->is_plain,
                            .precision = setup->precision,
                            .tuning_seconds = 0.2},
    };
    struct ours ours = {0};
    enum assay_status st;

    err = (struct error){0};
    CHECK_INT(pool_new(&ours.pool, &err), ASSAY_OK);
    CHECK_STATUS(model_build(setup->model, &setup->build, &ours.graph, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(weights_load_file(ours.graph, setup->weights, ours.pool, NULL,
                                   NULL, &err),
                 ASSAY_OK, &err);
    if (!setup->is_plain)
        CHECK_STATUS(fuse_graph(ours.graph, ours.pool, &err), ASSAY_OK, &err);
    st = engine_new(ours.graph, ours.pool, &engine, &ours.engine, &err);
    if (st == ASSAY_UNSUPPORTED && setup->precision)
        SKIP_PROCESSOR(err.text);
    CHECK_STATUS(st, ASSAY_OK, &err);
    keep_values(&ours);
    return ours;
}

void ours_run(struct ours *ours, const struct checkpoint *answer,
              int64_t n_images)
{
    struct tensor images[OURS_MAX_IMAGES] = {{0}};

    for (int64_t i = 0; i < n_images; i++) {
        char name[16];

        snprintf(name, sizeof name, "image_%d", (int)i);
        images[i] = answer_tensor(answer, ours->pool, name);
    }
    CHECK_STATUS(engine_run(ours->engine, images, ours->outputs, &err),
                 ASSAY_OK, &err);
    for (int64_t i = 0; i < n_images; i++)
        tensor_release(&images[i]);
}

void ours_close(struct ours *ours)
{
    for (size_t i = 0; i < graph_output_count(ours->graph); i++)
        tensor_release(&ours->outputs[i]);
    engine_free(ours->engine);
    graph_free(ours->graph);
    pool_free(ours->pool);
}
