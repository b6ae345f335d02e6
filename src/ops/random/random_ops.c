/* ops/random/random_ops.c - see random_ops.h. */
#include "ops/random/random_ops.h"

#include "ops/int_list_internal.h"
#include "ops/ops.h"
#include "ops/random/twister_internal.h"
#include "ops/shape_rules.h"

#include <math.h>

/* ---- RandomUniform, RandomNormal -------------------------------------- */

static enum assay_status random_fill_infer(const struct node *node,
                                           const struct tensor *const *inputs,
                                           struct tensor *outputs,
                                           struct error *err)
{
    const struct random_attrs *attrs = node->attrs;
    struct shape shape = inputs[0]->shape;
    enum assay_status st = ASSAY_OK;

    if (!attrs->takes_shape)
        st = shape_read(inputs[0], &shape, err);
    rule_set(&outputs[0], attrs->has_dtype ? attrs->dtype : inputs[0]->dtype,
             &shape);
    return st;
}

static enum assay_status random_fill_forward(const struct op_context *context,
                                             const struct node *node,
                                             const struct tensor *const *inputs,
                                             struct tensor *outputs,
                                             struct error *err)
{
    const struct random_attrs *attrs = node->attrs;
    bool is_uniform = node->op == &op_random_uniform;
    struct twister twister;

    (void)context, (void)inputs, (void)err;
    twister_seed(&twister, attrs->seed);
    for (size_t i = 0; i < tensor_elements(&outputs[0]); i++)
        number_put(&outputs[0], i,
                   is_uniform
                       ? attrs->low +
                             (attrs->high - attrs->low) * twister_unit(&twister)
                       : attrs->low + attrs->high * twister_normal(&twister));
    return ASSAY_OK;
}

/* ---- Bernoulli, Multinomial ------------------------------------------- */

static enum assay_status bernoulli_infer(const struct node *node,
                                         const struct tensor *const *inputs,
                                         struct tensor *outputs,
                                         struct error *err)
{
    const struct random_attrs *attrs = node->attrs;

    (void)err;
    rule_set(&outputs[0], attrs->has_dtype ? attrs->dtype : inputs[0]->dtype,
             &inputs[0]->shape);
    return ASSAY_OK;
}

static enum assay_status bernoulli_forward(const struct op_context *context,
                                           const struct node *node,
                                           const struct tensor *const *inputs,
                                           struct tensor *outputs,
                                           struct error *err)
{
    const struct random_attrs *attrs = node->attrs;
    struct twister twister;

    (void)context, (void)err;
    twister_seed(&twister, attrs->seed);
    for (size_t i = 0; i < tensor_elements(&outputs[0]); i++)
        number_put(&outputs[0], i,
                   twister_unit(&twister) < number_at(inputs[0], i));
    return ASSAY_OK;
}

static enum assay_status multinomial_infer(const struct node *node,
                                           const struct tensor *const *inputs,
                                           struct tensor *outputs,
                                           struct error *err)
{
    const struct random_attrs *attrs = node->attrs;
    struct shape shape = inputs[0]->shape;
    enum assay_status st = rule_rank(inputs, 0, 2, err);

    if (!st && (shape.dims[1] < 1 || attrs->n_samples < 0))
        st = error_set(err, ASSAY_BAD_INPUT,
                       "cannot draw %lld samples of %lld classes",
                       (long long)attrs->n_samples, (long long)shape.dims[1]);
    shape.dims[1] = attrs->n_samples;
    rule_set(&outputs[0], attrs->dtype, &shape);
    return st;
}

static int64_t draw_class(const struct tensor *logs, size_t first, size_t n,
                          double unit)
{
    double largest = -INFINITY, sum = 0, reached = 0;

    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, number_at(logs, first + i));
    for (size_t i = 0; i < n; i++)
        sum += exp(number_at(logs, first + i) - largest);
    for (size_t i = 0; i < n; i++) {
        reached += exp(number_at(logs, first + i) - largest);
        if (unit * sum < reached)
            return (int64_t)i;
    }
    return (int64_t)n - 1;
}

static enum assay_status multinomial_forward(const struct op_context *context,
                                             const struct node *node,
                                             const struct tensor *const *inputs,
                                             struct tensor *outputs,
                                             struct error *err)
{
    const struct random_attrs *attrs = node->attrs;
    size_t classes = (size_t)inputs[0]->shape.dims[1];
    size_t samples = (size_t)attrs->n_samples;
    struct twister twister;

    (void)context, (void)err;
    twister_seed(&twister, attrs->seed);
    for (size_t i = 0; i < tensor_elements(&outputs[0]); i++)
        number_put(&outputs[0], i,
                   (double)draw_class(inputs[0], i / samples * classes, classes,
                                      twister_unit(&twister)));
    return ASSAY_OK;
}

#define CLASS(symbol, text, kind, shapes)                                      \
    const struct op_class op_##symbol = {                                      \
        .name = text,                                                          \
        .attrs_bytes = sizeof(struct random_attrs),                            \
        OP_TAKES(1, 1),                                                        \
        OP_MAKES(1, 1),                                                        \
        .infer = kind##_infer,                                                 \
        .host_inputs = shapes,                                                 \
        .forward = kind##_forward,                                             \
    };
CLASS(random_uniform, "RandomUniform", random_fill, OP_INPUT(0))
CLASS(random_normal, "RandomNormal", random_fill, OP_INPUT(0))
CLASS(bernoulli, "Bernoulli", bernoulli, 0)
CLASS(multinomial, "Multinomial", multinomial, 0)
