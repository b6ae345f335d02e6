/* ops/shape_rules.c - see shape_rules.h. */
#include "ops/shape_rules.h"

void rule_set(struct tensor *output, enum dtype dtype,
              const struct shape *shape)
{
    *output = (struct tensor){.dtype = dtype, .shape = *shape};
}

enum assay_status rule_rank(const struct tensor *const *inputs, size_t input,
                            int rank, struct error *err)
{
    char text[64];

    if (inputs[input]->shape.rank == rank)
        return ASSAY_OK;
    return error_set(
        err, ASSAY_BAD_INPUT, "input %zu has rank %d (%s), %d is wanted", input,
        inputs[input]->shape.rank,
        shape_text(&inputs[input]->shape, text, sizeof text), rank);
}

enum assay_status rule_dtype(const struct tensor *const *inputs, size_t input,
                             enum dtype dtype, struct error *err)
{
    if (inputs[input]->dtype == dtype)
        return ASSAY_OK;
    return error_set(err, ASSAY_BAD_INPUT, "input %zu is %s, %s is wanted",
                     input, dtype_name(inputs[input]->dtype),
                     dtype_name(dtype));
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

enum assay_status rule_bias(const struct tensor *bias, int64_t n,
                            struct error *err)
{
    char text[64];

    if (!bias || (bias->shape.rank == 1 && bias->shape.dims[0] == n))
        return ASSAY_OK;
    return error_set(err, ASSAY_BAD_INPUT, "the bias is %s, %lld is wanted",
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
    const int64_t most = INT64_C(1) << 31; /* whose products fit */
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

enum assay_status rule_pool2d(const struct tensor *const *inputs,
                              const struct pool2d_rule *rule,
                              struct tensor *outputs, struct error *err)
{
    enum assay_status st = rule_rank(inputs, 0, 4, err);
    struct shape y = inputs[0]->shape;

    if (st)
        return st;
    for (int i = 0; i < 2; i++) {
        y.dims[2 + i] =
            rule_windows(y.dims[2 + i], rule->kernel[i], rule->stride[i], 1,
                         rule->before[i], rule->after[i], rule->ceil);
        if (y.dims[2 + i] <= 0)
            return error_set(err, ASSAY_BAD_INPUT,
                             "a window of %lld does not fit into %lld",
                             (long long)rule->kernel[i],
                             (long long)inputs[0]->shape.dims[2 + i]);
        if (rule->kernel[i] > RULE_MAX_POOL)
            return error_set(err, ASSAY_UNSUPPORTED,
                             "a window of %lld; %d is the most",
                             (long long)rule->kernel[i], RULE_MAX_POOL);
    }
    rule_set(&outputs[0], DTYPE_F32, &y);
    return ASSAY_OK;
}

void rule_cost_elementwise(const struct node *node,
                           const struct tensor *const *inputs,
                           const struct tensor *outputs, struct cost *cost)
{
    (void)node, (void)inputs;
    cost->flops += tensor_elements(&outputs[0]);
}
