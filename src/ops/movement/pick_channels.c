/* ops/movement/pick_channels.c - see pick_channels.h. */
#include "ops/movement/pick_channels.h"

#include "ops/int_list_internal.h"
#include "ops/op_threads.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

#include <string.h>

enum { pick_piece = 1 << 16 }; /* bytes below which one thread is enough */

bool pick_channel(const struct node *node, const struct tensor *const *inputs,
                  int64_t index, struct picked_channel *picked)
{
    for (size_t i = 0; index >= 0 && i + 1 < node->n_inputs; i++) {
        int64_t channels = inputs[i]->shape.dims[1];

        *picked = (struct picked_channel){i, index};
        if (index < channels)
            return true;
        index -= channels;
    }
    return false;
}

static enum assay_status pick_infer(const struct node *node,
                                    const struct tensor *const *inputs,
                                    struct tensor *outputs, struct error *err)
{
    const struct tensor *list = inputs[node->n_inputs - 1];
    struct shape y = inputs[0]->shape;
    enum assay_status st = ASSAY_OK;

    if (y.rank < 2)
        return error_set(err, ASSAY_BAD_INPUT, "a map needs channels");
    for (size_t i = 1; !st && i + 1 < node->n_inputs; i++) {
        struct shape other = inputs[i]->shape;

        if (other.rank == y.rank)
            other.dims[1] = y.dims[1];
        st = rule_dtype(inputs, i, inputs[0]->dtype, err);
        if (!st && !shape_equal(&other, &y))
            st = rule_misfit("a map", &inputs[0]->shape, "another",
                             &inputs[i]->shape, err);
    }
    if (!st)
        st = rule_dtype(inputs, node->n_inputs - 1, DTYPE_I64, err);
    if (!st)
        st = rule_rank(inputs, node->n_inputs - 1, 1, err);
    if (st)
        return st;
    y.dims[1] = list->shape.dims[0];
    rule_set(&outputs[0], inputs[0]->dtype, &y);
    return ASSAY_OK;
}

enum assay_status pick_check(const struct node *node,
                             const struct tensor *const *inputs,
                             struct error *err)
{
    const struct tensor *list = inputs[node->n_inputs - 1];
    const int64_t *indices = tensor_i64(list);
    size_t n = tensor_elements(list);
    int64_t channels = 0;

    for (size_t i = 0; i + 1 < node->n_inputs; i++)
        channels += inputs[i]->shape.dims[1];
    for (size_t i = 0; i < n; i++) {
        if (indices[i] < 0 || indices[i] >= channels)
            return error_set(err, ASSAY_BAD_INPUT, "there is no channel %lld",
                             (long long)indices[i]);
    }
    return ASSAY_OK;
}

static enum assay_status pick_forward(const struct op_context *context,
                                      const struct node *node,
                                      const struct tensor *const *inputs,
                                      struct tensor *outputs, struct error *err)
{
    const int64_t *list = tensor_i64(inputs[node->n_inputs - 1]);
    const struct shape *y = &outputs[0].shape;
    int64_t images = y->dims[0], channels = y->dims[1];
    size_t plane =
        (size_t)shape_span(y, 2, y->rank) * dtype_bytes(outputs[0].dtype);
    enum assay_status st = pick_check(node, inputs, err);

    if (st || !plane)
        return st;
#pragma omp parallel for collapse(2) num_threads(                              \
    op_threads(context)) if (tensor_bytes(&outputs[0]) > pick_piece)
    for (int64_t n = 0; n < images; n++) {
        for (int64_t c = 0; c < channels; c++) {
            struct picked_channel picked = {0};
            const struct tensor *map;
            const char *from;

            (void)pick_channel(node, inputs, list[c], &picked);
            map = inputs[picked.map];
            from = tensor_data(map);
            memcpy((char *)tensor_data(&outputs[0]) +
                       (size_t)(n * channels + c) * plane,
                   from + (size_t)(n * map->shape.dims[1] + picked.channel) *
                              plane,
                   plane);
        }
    }
    return ASSAY_OK;
}

/* Of each map, only the channels that are picked. */
static void pick_cost(const struct node *node,
                      const struct tensor *const *inputs,
                      const struct tensor *outputs, struct cost *cost)
{
    uint64_t all = 0, made = tensor_bytes(&outputs[0]);

    for (size_t i = 0; i + 1 < node->n_inputs; i++)
        all += tensor_bytes(inputs[i]);
    cost->done_bytes -= made < all ? all - made : 0;
}

const struct op_class op_pick_channels = {
    .name = "PickChannels",
    OP_TAKES(2, SIZE_MAX),
    OP_MAKES(1, 1),
    .infer = pick_infer,
    .forward = pick_forward,
    .cost = pick_cost,
};
