/* tests/backend/op_case_losses.c - cases of losses of classifiers and
 * detectors. */
#include "op_case_internal.h"
#include "ops/loss/box_loss.h"
#include "ops/loss/loss.h"
#include "ops/loss/mask_loss.h"
#include "ops/loss/rpn_loss.h"
#include "ops/ops.h"

#include <string.h>

/* Labels [n,h,w] below c, some of them ignored; k: the reduction; counted:
 * classes have different weights. */
static enum assay_status add_loss(struct case_builder *b,
                                  const struct op_case *c, uint32_t x,
                                  struct tensor *second, uint32_t *y)
{
    bool is_softmax = strcmp(c->op, "softmax_cross_entropy") == 0;
    struct loss_attrs attrs = {.reduction = (enum loss_reduction)(c->k - 1),
                               .has_ignored = true,
                               .ignored = -1};
    struct shape places = shape_of(3, c->n, c->h, c->w);
    struct shape classes = shape_of(1, c->c);
    uint32_t inputs[] = {x, GRAPH_NONE, GRAPH_NONE};
    struct tensor labels;
    enum assay_status st =
        tensor_new(b->pool, DTYPE_I64, &places, &labels, b->err);

    (void)second;
    for (size_t i = 0; !st && i < tensor_elements(&labels); i++)
        tensor_i64(&labels)[i] =
            i % 5 == 3 ? -1 : (int64_t)random_below(&b->random, (uint64_t)c->c);
    if (!st)
        st = graph_constant(b->graph, "labels", labels, &inputs[1], b->err);
    if (!st && c->counted)
        st = case_parameter(b, "weights", &classes, 0.5F, 1.5F, &inputs[2]);
    if (st)
        return st;
    return case_append(b,
                       is_softmax ? &op_softmax_cross_entropy_loss
                                  : &op_negative_log_likelihood_loss,
                       &attrs, inputs, c->counted ? 3 : 2, y);
}

/* ---- detectors --------------------------------------------------------------
 */

/* k=1: near enough for the quadratic part of a smooth L1 loss; k=2: far away.
 */
static float beta_of(const struct op_case *c)
{
    return c->k == 2 ? 0.1F : 10;
}

static enum assay_status add_targets(struct case_builder *b,
                                     const struct op_case *c, int64_t n,
                                     uint32_t *value)
{
    struct shape shape = shape_of(2, n, (int64_t)4);

    return case_parameter(b, "targets", &shape, c->k == 2 ? 3 : -1,
                          c->k == 2 ? 4 : 1, value);
}

static enum assay_status add_labels(struct case_builder *b, int64_t n,
                                    int64_t classes, uint32_t *value)
{
    int64_t labels[64];

    for (int64_t i = 0; i < n; i++)
        labels[i] = (int64_t)random_below(&b->random, (uint64_t)classes);
    return case_integers(b, "labels", labels, n, value);
}

/* Deltas [n,c] of c / 4 classes; n up to 64. */
static enum assay_status add_box_loss(struct case_builder *b,
                                      const struct op_case *c, uint32_t x,
                                      struct tensor *second, uint32_t *y)
{
    struct box_loss_attrs attrs = {.beta = beta_of(c)};
    uint32_t inputs[BOX_LOSS_INPUTS] = {x};
    enum assay_status st =
        add_labels(b, c->n, c->c / 4, &inputs[BOX_LOSS_LABELS]);

    (void)second;
    if (!st)
        st = add_targets(b, c, c->n, &inputs[BOX_LOSS_TARGETS]);
    return st ? st
              : case_append(b, &op_box_loss, &attrs, inputs, BOX_LOSS_INPUTS,
                            y);
}

static enum assay_status add_mask_loss(struct case_builder *b,
                                       const struct op_case *c, uint32_t x,
                                       struct tensor *second, uint32_t *y)
{
    struct shape masks = shape_of(3, c->n, c->h, c->w);
    uint32_t inputs[MASK_LOSS_INPUTS] = {x};
    enum assay_status st = add_labels(b, c->n, c->c, &inputs[MASK_LOSS_LABELS]);

    (void)second;
    if (!st)
        st = case_parameter(b, "targets", &masks, 0, 1,
                            &inputs[MASK_LOSS_TARGETS]);
    return st ? st
              : case_append(b, &op_mask_loss, NULL, inputs, MASK_LOSS_INPUTS,
                            y);
}

/* Every third anchor of one level, every second of these an object. */
static enum assay_status add_rpn_loss(struct case_builder *b,
                                      const struct op_case *c, uint32_t x,
                                      struct tensor *second, uint32_t *y)
{
    struct rpn_loss_attrs attrs = {.beta = beta_of(c)};
    struct shape deltas = shape_of(4, c->n, 4 * c->c, c->h, c->w);
    int64_t chosen[64], n = c->n * c->c * c->h * c->w / 3;
    struct shape list = shape_of(1, n);
    uint32_t inputs[RPN_LOSS_MAPS + 2] = {[RPN_LOSS_MAPS] = x};
    uint32_t outputs[RPN_LOSS_OUTPUTS];
    struct tensor labels;
    enum assay_status st =
        tensor_new(b->pool, DTYPE_F32, &list, &labels, b->err);

    for (int64_t i = 0; !st && i < n; i++) {
        chosen[i] = 3 * i;
        tensor_f32(&labels)[i] = (float)(i % 2);
    }
    if (!st)
        st = graph_constant(b->graph, "labels", labels,
                            &inputs[RPN_LOSS_LABELS], b->err);
    if (!st)
        st = case_integers(b, "chosen", chosen, n, &inputs[RPN_LOSS_CHOSEN]);
    if (!st)
        st = add_targets(b, c, n, &inputs[RPN_LOSS_TARGETS]);
    if (!st)
        st = case_input(b, "deltas", &deltas, second,
                        &inputs[RPN_LOSS_MAPS + 1]);
    if (!st)
        st = case_append_outputs(b, &op_rpn_loss, &attrs, inputs,
                                 RPN_LOSS_MAPS + 2, outputs, RPN_LOSS_OUTPUTS);
    *y = outputs[0];
    return st;
}

const struct case_maker case_losses[] = {
    {"softmax_cross_entropy", add_loss}, {"negative_log_likelihood", add_loss},
    {"box_loss", add_box_loss},          {"mask_loss", add_mask_loss},
    {"rpn_loss", add_rpn_loss},          {NULL, NULL},
};
