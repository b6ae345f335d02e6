/* ops/norm/dropout_training.c - see dropout_training.h.
 *
 * Nothing is saved for the backward pass: the seed gives the same draws again.
 */
#include "ops/norm/dropout_training.h"

#include "ops/attr_fields.h"
#include "ops/channels.h"
#include "ops/gradient_internal.h"
#include "ops/int_list_internal.h"
#include "ops/ops.h"
#include "ops/random/twister_internal.h"
#include "ops/shape_rules.h"

#include <string.h>

static enum assay_status
dropout_training_infer(const struct node *node,
                       const struct tensor *const *inputs,
                       struct tensor *outputs, struct error *err)
{
    const struct tensor *x = inputs[DROPOUT_X];

    (void)err;
    rule_set(&outputs[0], x->dtype, &x->shape);
    if (node->n_outputs > 1)
        rule_set(&outputs[1], DTYPE_BOOL, &x->shape);
    return ASSAY_OK;
}

/* The number that an input holds; `fallback` if it is left out or empty. */
static double dropout_scalar(const struct node *node,
                             const struct tensor *const *inputs, size_t i,
                             double fallback)
{
    const struct tensor *tensor = op_input(node, inputs, i);

    return tensor && tensor_elements(tensor) ? number_at(tensor, 0) : fallback;
}

/* 0 if nothing is to be dropped. */
static enum assay_status dropout_get_ratio(const struct node *node,
                                           const struct tensor *const *inputs,
                                           double *ratio, struct error *err)
{
    const struct dropout_training_attrs *attrs = node->attrs;

    *ratio = dropout_scalar(node, inputs, DROPOUT_RATIO, (double)attrs->ratio);
    if (!(*ratio >= 0 && *ratio < 1))
        return error_set(err, ASSAY_BAD_INPUT,
                         "a dropout ratio of %g; expected 0 to less than 1",
                         *ratio);
    if (dropout_scalar(node, inputs, DROPOUT_TRAINING, attrs->is_on) == 0)
        *ratio = 0;
    return ASSAY_OK;
}

/* The last step of SplitMix64: every bit of the key affects every bit. */
static uint64_t dropout_training_mix(uint64_t key)
{
    key = (key ^ key >> 30) * 0xbf58476d1ce4e5b9U;
    key = (key ^ key >> 27) * 0x94d049bb133111ebU;
    return key ^ key >> 31;
}

/* One byte per element: whether it is kept. */
static void dropout_training_draw(const struct op_context *context,
                                  const struct node *node,
                                  const struct tensor *seed, double ratio,
                                  size_t n, uint8_t *kept)
{
    const struct dropout_training_attrs *attrs = node->attrs;
    int parts = gradient_parts(context, n);
    uint64_t limit = (uint64_t)(ratio * 0x1p53), key;

    if (!seed) {
        struct twister twister;

        twister_seed(&twister, attrs->seed);
        for (size_t i = 0; i < n; i++)
            kept[i] = twister_unit(&twister) >= ratio;
        return;
    }
    key = dropout_training_mix((uint64_t)int_at(seed, 0) +
                               dropout_training_mix(attrs->seed + (uint64_t)1));
#pragma omp parallel for num_threads(parts) if (parts > 1)
    for (size_t i = 0; i < n; i++)
        kept[i] =
            dropout_training_mix(key + i * 0x9e3779b97f4a7c15U) >> 11 >= limit;
}

/* y = kept ? x / (1 - ratio) : 0, of any floating point type. */
static void dropout_training_apply(const struct op_context *context,
                                   const uint8_t *kept, double ratio,
                                   const struct tensor *x,
                                   const struct tensor *y)
{
    size_t n = tensor_elements(x);
    int parts = gradient_parts(context, n);
    float scale = (float)(1 / (1 - ratio));

    if (x->dtype == DTYPE_F32) {
        const float *from = tensor_f32(x);
        float *to = tensor_f32(y);

#pragma omp parallel for num_threads(parts) if (parts > 1)
        for (size_t i = 0; i < n; i++)
            to[i] = kept[i] ? from[i] * scale : 0;
        return;
    }
    for (size_t i = 0; i < n; i++)
        number_put(y, i, kept[i] ? number_at(x, i) / (1 - ratio) : 0);
}

/* Drops values of x into y. Writes which were kept to `mask`, if it is not
 * NULL. */
static enum assay_status
dropout_training_drop(const struct op_context *context, const struct node *node,
                      const struct tensor *const *inputs,
                      const struct tensor *x, const struct tensor *y,
                      const struct tensor *mask, struct error *err)
{
    size_t n = tensor_elements(x);
    const struct tensor *seed = op_input(node, inputs, DROPOUT_SEED);
    struct buffer *memory = NULL;
    double ratio;
    uint8_t *kept;
    enum assay_status st = dropout_get_ratio(node, inputs, &ratio, err);

    if (!st && !mask)
        st =
            pool_take_scratch(context->pool, n, "a dropout mask", &memory, err);
    if (st)
        return st;
    kept = mask ? tensor_data(mask) : buffer_data(memory);
    if (ratio > 0) {
        if (seed && !tensor_elements(seed))
            seed = NULL;
        dropout_training_draw(context, node, seed, ratio, n, kept);
        dropout_training_apply(context, kept, ratio, x, y);
    } else {
        memset(kept, 1, n);
        memcpy(tensor_data(y), tensor_data(x), tensor_bytes(x));
    }
    buffer_release(memory);
    return ASSAY_OK;
}

static enum assay_status
dropout_training_forward(const struct op_context *context,
                         const struct node *node,
                         const struct tensor *const *inputs,
                         struct tensor *outputs, struct error *err)
{
    return dropout_training_drop(context, node, inputs, inputs[DROPOUT_X],
                                 &outputs[0],
                                 node->n_outputs > 1 ? &outputs[1] : NULL, err);
}

static enum assay_status
dropout_training_backward(const struct op_context *context,
                          const struct node *node,
                          const struct op_backward *pass, struct error *err)
{
    if (!op_wants(pass, DROPOUT_X))
        return ASSAY_OK;
    return dropout_training_drop(context, node, pass->inputs, pass->dy[0],
                                 &pass->dx[DROPOUT_X], NULL, err);
}

ATTR_FIELDS(dropout_training, FIELD_SEED(dropout_training_attrs, seed),
            FIELD_FLOAT(dropout_training_attrs, ratio),
            FIELD_FLAG(dropout_training_attrs, is_on));

const struct op_class op_dropout_training = {
    .name = "DropoutTraining",
    OP_ATTRS(dropout_training),
    OP_TAKES(1, DROPOUT_INPUTS),
    OP_MAKES(1, 2),
    .infer = dropout_training_infer,
    .host_inputs = OP_INPUT(DROPOUT_SEED),
    .forward = dropout_training_forward,
    .backward = dropout_training_backward,
    .backward_reads = gradient_reads_settings,
    .is_cheap = true,
    .channels = channel_pass,
    .counted = COUNTED_PASS,
};
