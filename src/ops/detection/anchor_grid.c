/* ops/detection/anchor_grid.c - see anchor_grid.h. */
#include "ops/detection/anchor_grid.h"

#include "ops/attr_fields.h"
#include "ops/detection/boxes.h"
#include "ops/op_threads.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

#include <math.h>

static enum assay_status
anchor_grid_check_level(const struct tensor *const *inputs, size_t input,
                        struct error *err)
{
    const int64_t *batch = inputs[0]->shape.dims;
    const int64_t *dims = inputs[input]->shape.dims;
    char text[64];

    if (inputs[input]->shape.rank == 4 && dims[2] >= 1 && dims[3] >= 1 &&
        dims[2] <= batch[2] && dims[3] <= batch[3])
        return ASSAY_OK;
    return error_set(err, ASSAY_BAD_INPUT,
                     "level %zu is %s; expected a map of at most %lldx%lld",
                     input - 1,
                     shape_text(&inputs[input]->shape, text, sizeof text),
                     (long long)batch[2], (long long)batch[3]);
}

static enum assay_status anchor_grid_infer(const struct node *node,
                                           const struct tensor *const *inputs,
                                           struct tensor *outputs,
                                           struct error *err)
{
    const struct anchor_grid_attrs *attrs = node->attrs;
    enum assay_status st = rule_rank(inputs, 0, 4, err);
    int64_t n = 0;
    struct shape anchors;

    if (!st && (node->n_inputs - 1 != attrs->n_levels ||
                attrs->n_levels > ANCHOR_MAX_LEVELS ||
                attrs->n_ratios > ANCHOR_MAX_RATIOS))
        st = error_set(err, ASSAY_BAD_INPUT,
                       "%zu feature maps for anchors of %zu sizes",
                       node->n_inputs - 1, attrs->n_levels);
    for (size_t i = 1; !st && i < node->n_inputs; i++) {
        st = anchor_grid_check_level(inputs, i, err);
        n += inputs[i]->shape.dims[2] * inputs[i]->shape.dims[3] *
             (int64_t)attrs->n_ratios;
    }
    if (st)
        return st;
    anchors = shape_of(2, n, (int64_t)4);
    rule_set(&outputs[0], DTYPE_F32, &anchors);
    return ASSAY_OK;
}

/* An anchor around the origin, at whole pixels. */
static struct box base_anchor(float size, float ratio)
{
    float height = sqrtf(ratio), width = 1 / height;
    float x = rintf(width * size / 2), y = rintf(height * size / 2);

    return (struct box){-x, -y, x, y};
}

static struct box *write_level(const struct op_context *context,
                               const struct anchor_grid_attrs *attrs,
                               size_t level, const int64_t *batch,
                               const int64_t *dims, struct box *to)
{
    static const int64_t few = 1 << 14;
    int64_t n = dims[3] * (int64_t)attrs->n_ratios; /* of a row */
    int64_t down = batch[2] / dims[2], across = batch[3] / dims[3];
    struct box base[ANCHOR_MAX_RATIOS];

    for (size_t i = 0; i < attrs->n_ratios; i++)
        base[i] = base_anchor(attrs->sizes[level], attrs->ratios[i]);
#pragma omp parallel for num_threads(op_threads(context)) if (dims[2] * n > few)
    for (int64_t row = 0; row < dims[2]; row++) {
        struct box *at = to + row * n;

        for (int64_t col = 0; col < dims[3]; col++) {
            float x = (float)(col * across), y = (float)(row * down);

            for (size_t i = 0; i < attrs->n_ratios; i++)
                *at++ = (struct box){x + base[i].x1, y + base[i].y1,
                                     x + base[i].x2, y + base[i].y2};
        }
    }
    return to + dims[2] * n;
}

static enum assay_status anchor_grid_forward(const struct op_context *context,
                                             const struct node *node,
                                             const struct tensor *const *inputs,
                                             struct tensor *outputs,
                                             struct error *err)
{
    const struct anchor_grid_attrs *attrs = node->attrs;
    struct box *to = tensor_boxes(&outputs[0]);

    (void)err;
    for (size_t i = 0; i < attrs->n_levels; i++)
        to = write_level(context, attrs, i, inputs[0]->shape.dims,
                         inputs[1 + i]->shape.dims, to);
    return ASSAY_OK;
}

/* Only shapes are read. */
static void anchor_grid_count_cost(const struct node *node,
                                   const struct tensor *const *inputs,
                                   const struct tensor *outputs,
                                   struct cost *cost)
{
    (void)outputs;
    for (size_t i = 0; i < node->n_inputs; i++)
        cost_touches(cost, inputs[i], 0);
}

ATTR_FIELDS(anchor_grid,
            FIELD_COUNT(anchor_grid_attrs, n_levels, ANCHOR_MAX_LEVELS),
            FIELD_COUNT(anchor_grid_attrs, n_ratios, ANCHOR_MAX_RATIOS),
            FIELD_FLOAT(anchor_grid_attrs, sizes),
            FIELD_FLOAT(anchor_grid_attrs, ratios));

const struct op_class op_anchor_grid = {
    .name = "AnchorGrid",
    OP_ATTRS(anchor_grid),
    OP_TAKES(2, 1 + ANCHOR_MAX_LEVELS),
    OP_MAKES(1, 1),
    .infer = anchor_grid_infer,
    .forward = anchor_grid_forward,
    .cost = anchor_grid_count_cost,
};
