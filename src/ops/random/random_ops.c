/* ops/random/random_ops.c - see random_ops.h. */
#include "ops/random/random_ops.h"

#include "ops/int_list_internal.h"
#include "ops/ops.h"
#include "ops/random/twister_internal.h"
#include "ops/shape_rules.h"
#include "tensor/convert.h"

#include <math.h>
#include <string.h>

static void random_store(const struct tensor *tensor, size_t i, double value)
{
    char *data = tensor_data(tensor);

    convert_elements(DTYPE_F64, &value, tensor->dtype,
                     data + i * dtype_bytes(tensor->dtype), 1);
}

static double random_load(const struct tensor *tensor, size_t i)
{
    const char *data = tensor_data(tensor);
    double value;

    convert_elements(tensor->dtype, data + i * dtype_bytes(tensor->dtype),
                     DTYPE_F64, &value, 1);
    return value;
}

/* ---- RandomUniform, RandomNormal -------------------------------------- */

static enum assay_status infer_fill(const struct node *node,
                                    const struct tensor *const *inputs,
                                    struct tensor *outputs, struct error *err)
{
    const struct random_attrs *attrs = node->attrs;
    struct shape shape = inputs[0]->shape;
    struct int_list list;
    enum assay_status st = ASSAY_OK;

    if (!attrs->takes_shape) {
        st = int_list_read(inputs[0], &list, err);
        if (!st && list.n > SHAPE_MAX_RANK)
            st = error_set(err, ASSAY_UNSUPPORTED,
                           "%zu dimensions; %d are the most", list.n,
                           SHAPE_MAX_RANK);
        if (st)
            return st;
        shape.rank = (int)list.n;
        memcpy(shape.dims, list.of, sizeof shape.dims);
    }
    rule_set(&outputs[0], attrs->has_dtype ? attrs->dtype : inputs[0]->dtype,
             &shape);
    return st;
}

static enum assay_status forward_fill(const struct op_context *context,
                                      const struct node *node,
                                      const struct tensor *const *inputs,
                                      struct tensor *outputs, struct error *err)
{
    const struct random_attrs *attrs = node->attrs;
    bool is_uniform = node->op == &op_random_uniform;
    struct twister twister;

    (void)context, (void)inputs, (void)err;
    twister_seed(&twister, attrs->seed);
    for (size_t i = 0; i < tensor_elements(&outputs[0]); i++)
        random_store(&outputs[0], i,
                     is_uniform
                         ? attrs->low + (attrs->high - attrs->low) *
                                            twister_unit(&twister)
                         : attrs->low + attrs->high * twister_normal(&twister));
    return ASSAY_OK;
}

/* ---- Bernoulli, Multinomial ------------------------------------------- */

static enum assay_status infer_bernoulli(const struct node *node,
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

static enum assay_status forward_bernoulli(const struct op_context *context,
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
        random_store(&outputs[0], i,
                     twister_unit(&twister) < random_load(inputs[0], i));
    return ASSAY_OK;
}

static enum assay_status infer_multinomial(const struct node *node,
                                           const struct tensor *const *inputs,
                                           struct tensor *outputs,
                                           struct error *err)
{
    const struct random_attrs *attrs = node->attrs;
    struct shape shape = inputs[0]->shape;
    enum assay_status st = rule_rank(inputs, 0, 2, err);

    if (!st && (shape.dims[1] < 1 || attrs->n_samples < 0))
        st = error_set(err, ASSAY_BAD_INPUT, "%lld samples of %lld classes",
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
        largest = fmax(largest, random_load(logs, first + i));
    for (size_t i = 0; i < n; i++)
        sum += exp(random_load(logs, first + i) - largest);
    for (size_t i = 0; i < n; i++) {
        reached += exp(random_load(logs, first + i) - largest);
        if (unit * sum < reached)
            return (int64_t)i;
    }
    return (int64_t)n - 1;
}

static enum assay_status forward_multinomial(const struct op_context *context,
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
        random_store(&outputs[0], i,
                     (double)draw_class(inputs[0], i / samples * classes,
                                        classes, twister_unit(&twister)));
    return ASSAY_OK;
}

/* X(symbol, name, kind, most inputs, most outputs) */
#define RANDOM_LIST(X)                                                         \
    X(random_uniform, "RandomUniform", fill, 1, 1)                             \
    X(random_normal, "RandomNormal", fill, 1, 1)                               \
    X(bernoulli, "Bernoulli", bernoulli, 1, 1)                                 \
    X(multinomial, "Multinomial", multinomial, 1, 1)

#define CLASS(symbol, text, kind, most, made)                                  \
    const struct op_class op_##symbol = {                                      \
        .name = text,                                                          \
        .attrs_bytes = sizeof(struct random_attrs),                            \
        .min_inputs = 1,                                                       \
        .max_inputs = most,                                                    \
        .min_outputs = 1,                                                      \
        .max_outputs = made,                                                   \
        .infer = infer_##kind,                                                 \
        .forward = forward_##kind,                                             \
    };
RANDOM_LIST(CLASS)
