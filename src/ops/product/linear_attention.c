/* ops/product/linear_attention.c - see linear_attention.h. */
#include "ops/product/linear_attention.h"

#include "ops/attr_fields.h"
#include "ops/op_threads.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

#include <math.h>
#include <string.h>

enum { LA_QUERY, LA_KEY, LA_VALUE, LA_STATE, LA_DECAY, LA_RATE, LA_INPUTS };

static enum assay_status
linear_attention_infer(const struct node *node,
                       const struct tensor *const *inputs,
                       struct tensor *outputs, struct error *err)
{
    const struct linear_attention_attrs *attrs = node->attrs;
    const struct tensor *past = op_input(node, inputs, LA_STATE);
    const struct tensor *decay = op_input(node, inputs, LA_DECAY);
    const struct tensor *rate = op_input(node, inputs, LA_RATE);
    struct shape y, state;
    int64_t kv = attrs->kv_heads, k, v;
    enum assay_status st = rule_ranks(inputs, 3, 3, err);

    if (st)
        return st;
    y = inputs[LA_QUERY]->shape;
    if (attrs->heads < 1 || kv < 1 || attrs->heads % kv ||
        y.dims[2] % attrs->heads || inputs[LA_VALUE]->shape.dims[2] % kv)
        return error_set(err, ASSAY_BAD_INPUT,
                         "%lld and %lld heads do not fit the inputs",
                         (long long)attrs->heads, (long long)kv);
    k = y.dims[2] / attrs->heads;
    v = inputs[LA_VALUE]->shape.dims[2] / kv;
    state = shape_of(4, y.dims[0], kv, k, v);
    for (size_t i = LA_KEY; i <= LA_VALUE; i++) {
        const struct shape *shape = &inputs[i]->shape;

        if (shape->dims[0] != y.dims[0] || shape->dims[1] != y.dims[1] ||
            shape->dims[2] != kv * (i == LA_KEY ? k : v))
            return rule_misfit("the input", shape, "the queries", &y, err);
    }
    if (past && !shape_equal(&past->shape, &state))
        return rule_misfit("the state", &past->shape, "what is needed", &state,
                           err);
    if (attrs->has_decay != (decay != NULL) ||
        attrs->is_of_delta != (rate != NULL))
        return error_set(err, ASSAY_BAD_INPUT,
                         "its rule does not fit the inputs that are there");
    if (decay &&
        tensor_elements(decay) != (size_t)(y.dims[0] * y.dims[1] * kv) &&
        tensor_elements(decay) != (size_t)(y.dims[0] * y.dims[1] * kv * k))
        return rule_misfit("the decay", &decay->shape, "the queries", &y, err);
    if (rate && tensor_elements(rate) != (size_t)(y.dims[0] * y.dims[1] * kv) &&
        tensor_elements(rate) != (size_t)(y.dims[0] * y.dims[1]))
        return rule_misfit("the rate", &rate->shape, "the queries", &y, err);
    y.dims[2] = attrs->heads * v;
    rule_set(&outputs[0], DTYPE_F32, &y);
    if (node->n_outputs > 1)
        rule_set(&outputs[1], DTYPE_F32, &state);
    return ASSAY_OK;
}

/* A head of one sequence: where its numbers begin, and sizes. */
struct la_head {
    const struct linear_attention_attrs *attrs;
    int64_t k, v, group; /* group: heads that read one state */
    const float *query, *key, *value, *decay, *rate; /* at the first time */
    int64_t decays, rates; /* numbers of all heads at one time */
    bool is_per_key;
    float scale;
    float *state, *out;
};

/* The state fades, learns, and is read. */
static void la_step(const struct la_head *head, int64_t t)
{
    const struct linear_attention_attrs *attrs = head->attrs;
    int64_t k = head->k, v = head->v;
    const float *key = head->key + t * attrs->kv_heads * k;
    const float *value = head->value + t * attrs->kv_heads * v;

    for (int64_t i = 0; head->decay && i < k; i++) {
        float factor =
            expf(head->decay[t * head->decays + (head->is_per_key ? i : 0)]);

        for (int64_t j = 0; j < v; j++)
            head->state[i * v + j] *= factor;
    }
    for (int64_t j = 0; j < v; j++) {
        float news = value[j];

        if (head->rate) {
            for (int64_t i = 0; i < k; i++)
                news -= head->state[i * v + j] * key[i];
            news *= head->rate[t * head->rates];
        }
        for (int64_t i = 0; i < k; i++)
            head->state[i * v + j] += key[i] * news;
    }
    for (int64_t g = 0; g < head->group; g++) {
        const float *query = head->query + (t * attrs->heads + g) * k;
        float *out = head->out + (t * attrs->heads + g) * v;

        for (int64_t j = 0; j < v; j++) {
            float sum = 0;

            for (int64_t i = 0; i < k; i++)
                sum += query[i] * head->state[i * v + j];
            out[j] = head->scale * sum;
        }
    }
}

static struct la_head la_open(const struct node *node,
                              const struct tensor *const *inputs,
                              const struct tensor *y,
                              const struct tensor *state, int64_t b, int64_t h)
{
    const struct linear_attention_attrs *attrs = node->attrs;
    const struct tensor *decay = op_input(node, inputs, LA_DECAY);
    const struct tensor *rate = op_input(node, inputs, LA_RATE);
    int64_t times = y->shape.dims[1], kv = attrs->kv_heads;
    int64_t group = attrs->heads / kv, first = b * times;
    int64_t k = inputs[LA_KEY]->shape.dims[2] / kv;
    int64_t v = inputs[LA_VALUE]->shape.dims[2] / kv;
    struct la_head head = {
        .attrs = attrs,
        .k = k,
        .v = v,
        .group = group,
        .query = tensor_f32(inputs[LA_QUERY]) +
                 (first * attrs->heads + h * group) * k,
        .key = tensor_f32(inputs[LA_KEY]) + (first * kv + h) * k,
        .value = tensor_f32(inputs[LA_VALUE]) + (first * kv + h) * v,
        .scale = attrs->scale != 0 ? attrs->scale : 1 / sqrtf((float)k),
        .state = tensor_f32(state) + (b * kv + h) * k * v,
        .out = tensor_f32(y) + (first * attrs->heads + h * group) * v};

    if (decay) {
        head.decays = decay->shape.dims[2];
        head.is_per_key = head.decays != kv;
        head.decay = tensor_f32(decay) + first * head.decays +
                     h * (head.is_per_key ? k : 1);
    }
    if (rate) {
        head.rates = rate->shape.dims[2];
        head.rate =
            tensor_f32(rate) + first * head.rates + (head.rates == 1 ? 0 : h);
    }
    return head;
}

static enum assay_status
linear_attention_forward(const struct op_context *context,
                         const struct node *node,
                         const struct tensor *const *inputs,
                         struct tensor *outputs, struct error *err)
{
    const struct linear_attention_attrs *attrs = node->attrs;
    const struct tensor *past = op_input(node, inputs, LA_STATE);
    const struct shape *y = &outputs[0].shape;
    struct shape shape =
        shape_of(4, y->dims[0], attrs->kv_heads,
                 inputs[LA_QUERY]->shape.dims[2] / attrs->heads,
                 y->dims[2] / attrs->heads);
    struct tensor state = {0};
    enum assay_status st =
        tensor_new(context->pool, DTYPE_F32, &shape, &state, err);

    if (st)
        return st;
    if (past && tensor_bytes(&state))
        memcpy(tensor_data(&state), tensor_data(past), tensor_bytes(&state));
    else
        memset(tensor_data(&state), 0, tensor_bytes(&state));
#pragma omp parallel for num_threads(op_threads(context))
    for (int64_t i = 0; i < y->dims[0] * attrs->kv_heads; i++) {
        struct la_head head = la_open(node, inputs, &outputs[0], &state,
                                      i / attrs->kv_heads, i % attrs->kv_heads);

        for (int64_t t = 0; t < y->dims[1]; t++)
            la_step(&head, t);
    }
    if (node->n_outputs > 1 && tensor_bytes(&state))
        memcpy(tensor_data(&outputs[1]), tensor_data(&state),
               tensor_bytes(&state));
    tensor_release(&state);
    return ASSAY_OK;
}

static void linear_attention_cost(const struct node *node,
                                  const struct tensor *const *inputs,
                                  const struct tensor *outputs,
                                  struct cost *cost)
{
    const struct linear_attention_attrs *attrs = node->attrs;
    uint64_t k = (uint64_t)(inputs[LA_QUERY]->shape.dims[2] / attrs->heads);

    cost->macs +=
        tensor_elements(&outputs[0]) * k +
        tensor_elements(inputs[LA_VALUE]) * k * (attrs->is_of_delta ? 2 : 1);
}

ATTR_FIELDS(linear_attention, FIELD_SIZE(linear_attention_attrs, heads),
            FIELD_SIZE(linear_attention_attrs, kv_heads),
            FIELD_FLOAT(linear_attention_attrs, scale),
            FIELD_FLAG(linear_attention_attrs, has_decay),
            FIELD_FLAG(linear_attention_attrs, is_of_delta));

const struct op_class op_linear_attention = {
    .name = "LinearAttention",
    OP_ATTRS(linear_attention),
    OP_TAKES(3, LA_INPUTS),
    OP_MAKES(1, 2),
    .infer = linear_attention_infer,
    .forward = linear_attention_forward,
    .cost = linear_attention_cost,
    .is_f32 = true,
};
