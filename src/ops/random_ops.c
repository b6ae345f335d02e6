/* ops/random_ops.c - see random_ops.h.
 *
 * The generator is MT19937 of Matsumoto and Nishimura (1998). */
#include "ops/random_ops.h"

#include "ops/int_list.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"
#include "tensor/convert.h"

#include <math.h>
#include <string.h>

enum { mt_words = 624, mt_shift = 397 };

struct twister {
    uint32_t words[mt_words];
    int used;
};

static void twister_seed(struct twister *twister, uint32_t seed)
{
    twister->words[0] = seed;
    for (uint32_t i = 1; i < mt_words; i++) {
        uint32_t last = twister->words[i - 1];

        twister->words[i] = 1812433253U * (last ^ last >> 30) + i;
    }
    twister->used = mt_words;
}

static void twist(struct twister *twister)
{
    uint32_t *words = twister->words;

    for (int i = 0; i < mt_words; i++) {
        uint32_t mixed = (words[i] & 0x80000000U) |
                         (words[(i + 1) % mt_words] & 0x7fffffffU);

        words[i] = words[(i + mt_shift) % mt_words] ^ mixed >> 1 ^
                   (mixed & 1 ? 0x9908b0dfU : 0);
    }
    twister->used = 0;
}

static uint32_t twister_u32(struct twister *twister)
{
    uint32_t word;

    if (twister->used == mt_words)
        twist(twister);
    word = twister->words[twister->used++];
    word ^= word >> 11;
    word ^= word << 7 & 0x9d2c5680U;
    word ^= word << 15 & 0xefc60000U;
    return word ^ word >> 18;
}

/* [0, 1), with 53 random bits. */
static double twister_unit(struct twister *twister)
{
    uint32_t high = twister_u32(twister) >> 5;
    uint32_t low = twister_u32(twister) >> 6;

    return (high * 0x1p26 + low) * 0x1p-53;
}

/* After Box and Muller. */
static double twister_normal(struct twister *twister)
{
    double radius = sqrt(-2 * log(1 - twister_unit(twister)));

    return radius * cos(2 * 3.14159265358979323846 * twister_unit(twister));
}

static void store(const struct tensor *tensor, size_t i, double value)
{
    char *data = tensor_data(tensor);

    convert_elements(DTYPE_F64, &value, tensor->dtype,
                     data + i * dtype_bytes(tensor->dtype), 1);
}

static double load(const struct tensor *tensor, size_t i)
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
        store(&outputs[0], i,
              is_uniform ? attrs->low + (attrs->high - attrs->low) *
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
        store(&outputs[0], i, twister_unit(&twister) < load(inputs[0], i));
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
        largest = fmax(largest, load(logs, first + i));
    for (size_t i = 0; i < n; i++)
        sum += exp(load(logs, first + i) - largest);
    for (size_t i = 0; i < n; i++) {
        reached += exp(load(logs, first + i) - largest);
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
        store(&outputs[0], i,
              (double)draw_class(inputs[0], i / samples * classes, classes,
                                 twister_unit(&twister)));
    return ASSAY_OK;
}

/* ---- DropoutTraining -------------------------------------------------- */

enum dropout_input { DROPOUT_X, DROPOUT_RATIO, DROPOUT_TRAINING };

static enum assay_status infer_dropout(const struct node *node,
                                       const struct tensor *const *inputs,
                                       struct tensor *outputs,
                                       struct error *err)
{
    const struct tensor *x = inputs[DROPOUT_X];

    (void)err;
    rule_set(&outputs[0], x->dtype, &x->shape);
    if (node->n_outputs > 1)
        rule_set(&outputs[1], DTYPE_BOOL, &x->shape);
    return ASSAY_OK;
}

static double scalar(const struct node *node,
                     const struct tensor *const *inputs, size_t i,
                     double fallback)
{
    bool is_there =
        i < node->n_inputs && inputs[i] && tensor_elements(inputs[i]) > 0;

    return is_there ? load(inputs[i], 0) : fallback;
}

static enum assay_status forward_dropout(const struct op_context *context,
                                         const struct node *node,
                                         const struct tensor *const *inputs,
                                         struct tensor *outputs,
                                         struct error *err)
{
    const struct random_attrs *attrs = node->attrs;
    const struct tensor *x = inputs[DROPOUT_X];
    double ratio = scalar(node, inputs, DROPOUT_RATIO, 0.5);
    bool drops = scalar(node, inputs, DROPOUT_TRAINING, 0) != 0 && ratio > 0;
    struct twister twister;

    (void)context;
    if (!(ratio >= 0 && ratio < 1))
        return error_set(err, ASSAY_BAD_INPUT, "%g of all are to be dropped",
                         ratio);
    memcpy(tensor_data(&outputs[0]), tensor_data(x), tensor_bytes(x));
    if (node->n_outputs > 1)
        memset(tensor_data(&outputs[1]), 1, tensor_bytes(&outputs[1]));
    twister_seed(&twister, attrs->seed);
    for (size_t i = 0; drops && i < tensor_elements(x); i++) {
        bool is_kept = twister_unit(&twister) >= ratio;

        store(&outputs[0], i, is_kept ? load(x, i) / (1 - ratio) : 0);
        if (node->n_outputs > 1)
            ((uint8_t *)tensor_data(&outputs[1]))[i] = is_kept;
    }
    return ASSAY_OK;
}

/* X(symbol, name, kind, most inputs, most outputs) */
#define RANDOM_LIST(X)                                                         \
    X(random_uniform, "RandomUniform", fill, 1, 1)                             \
    X(random_normal, "RandomNormal", fill, 1, 1)                               \
    X(bernoulli, "Bernoulli", bernoulli, 1, 1)                                 \
    X(multinomial, "Multinomial", multinomial, 1, 1)                           \
    X(dropout_training, "DropoutTraining", dropout, 3, 2)

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
