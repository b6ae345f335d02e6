/* ops/shape_rules.c - see shape_rules.h. */
#include "ops/shape_rules.h"

void rule_set(struct tensor *output, enum dtype dtype,
              const struct shape *shape)
{
    *output = (struct tensor){.dtype = dtype, .shape = *shape};
}

enum assay_status rule_same(const struct node *node,
                            const struct tensor *const *inputs,
                            struct tensor *outputs, struct error *err)
{
    (void)node, (void)err;
    rule_set(&outputs[0], inputs[0]->dtype, &inputs[0]->shape);
    return ASSAY_OK;
}

enum assay_status rule_same_f32(const struct node *node,
                                const struct tensor *const *inputs,
                                struct tensor *outputs, struct error *err)
{
    (void)node;
    rule_set(&outputs[0], DTYPE_F32, &inputs[0]->shape);
    return rule_dtype(inputs, 0, DTYPE_F32, err);
}

enum assay_status rule_misfit(const char *a_name, const struct shape *a,
                              const char *b_name, const struct shape *b,
                              struct error *err)
{
    char a_text[64], b_text[64];

    return error_set(err, ASSAY_BAD_INPUT, "%s %s and %s %s do not fit", a_name,
                     shape_text(a, a_text, sizeof a_text), b_name,
                     shape_text(b, b_text, sizeof b_text));
}

enum assay_status rule_undefined(const struct node *node, enum dtype dtype,
                                 struct error *err)
{
    return error_set(err, ASSAY_UNSUPPORTED, "%s of %s is not defined",
                     node->op->name, dtype_name(dtype));
}

enum assay_status rule_rank(const struct tensor *const *inputs, size_t input,
                            int rank, struct error *err)
{
    const struct shape *shape = &inputs[input]->shape;
    char text[64];

    if (shape->rank == rank)
        return ASSAY_OK;
    return error_set(err, ASSAY_BAD_INPUT,
                     "input %zu has rank %d (%s); expected %d", input,
                     shape->rank, shape_text(shape, text, sizeof text), rank);
}

enum assay_status rule_dtype(const struct tensor *const *inputs, size_t input,
                             enum dtype dtype, struct error *err)
{
    if (inputs[input]->dtype == dtype)
        return ASSAY_OK;
    return error_set(err, ASSAY_BAD_INPUT, "input %zu is %s; expected %s",
                     input, dtype_name(inputs[input]->dtype),
                     dtype_name(dtype));
}

enum assay_status rule_ranks(const struct tensor *const *inputs, size_t n,
                             int rank, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < n; i++)
        st = rule_rank(inputs, i, rank, err);
    return st;
}

enum assay_status rule_inputs(const struct tensor *const *inputs,
                              const struct input_rule *rules, size_t n,
                              struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < n; i++) {
        st = rule_rank(inputs, rules[i].input, rules[i].rank, err);
        if (!st)
            st = rule_dtype(inputs, rules[i].input, rules[i].dtype, err);
    }
    return st;
}

enum assay_status rule_per_channel(const struct tensor *const *inputs, size_t n,
                                   int64_t channels, struct error *err)
{
    for (size_t i = 1; i < n; i++) {
        if (tensor_elements(inputs[i]) != (size_t)channels)
            return error_set(err, ASSAY_BAD_INPUT,
                             "input %zu has %zu elements for %lld channels", i,
                             tensor_elements(inputs[i]), (long long)channels);
    }
    return ASSAY_OK;
}

enum assay_status rule_bias(const struct tensor *bias, int64_t n,
                            struct error *err)
{
    char text[64];

    if (!bias || (bias->shape.rank == 1 && bias->shape.dims[0] == n))
        return ASSAY_OK;
    return error_set(err, ASSAY_BAD_INPUT, "the bias is %s; expected %lld",
                     shape_text(&bias->shape, text, sizeof text), (long long)n);
}

enum assay_status rule_summand(const struct tensor *summand,
                               const struct shape *to, struct error *err)
{
    char a[64], b[64];

    if (!summand || shape_equal(&summand->shape, to))
        return ASSAY_OK;
    return error_set(err, ASSAY_BAD_INPUT, "%s and %s cannot be added",
                     shape_text(to, a, sizeof a),
                     shape_text(&summand->shape, b, sizeof b));
}

int64_t rule_windows(int64_t size, int64_t kernel, int64_t stride,
                     int64_t dilation, int64_t before, int64_t after, bool ceil)
{
    const int64_t most = INT64_C(1) << 31; /* products of two still fit */
    int64_t room, windows;

    if (kernel < 1 || kernel > most || stride < 1 || dilation < 1 ||
        dilation > most || before < -most || before > most || after < -most ||
        after > most || size > INT64_MAX / 4 || stride > most)
        return 0;
    room = size + before + after - dilation * (kernel - 1) - 1;
    if (room < 0)
        return 0;
    windows = (ceil ? room + stride - 1 : room) / stride + 1;
    if (ceil && (windows - 1) * stride >= size + before)
        windows--;
    return windows;
}

void rule_cost_elementwise(const struct node *node,
                           const struct tensor *const *inputs,
                           const struct tensor *outputs, struct cost *cost)
{
    (void)node, (void)inputs;
    cost->flops += tensor_elements(&outputs[0]);
}

void rule_cost_input(const struct node *node,
                     const struct tensor *const *inputs,
                     const struct tensor *outputs, struct cost *cost)
{
    (void)node, (void)outputs;
    cost->flops += tensor_elements(inputs[0]);
}

void rule_cost_taken(const struct node *node,
                     const struct tensor *const *inputs,
                     const struct tensor *outputs, struct cost *cost)
{
    (void)node;
    cost_touches(cost, inputs[0], tensor_bytes(&outputs[0]));
}
