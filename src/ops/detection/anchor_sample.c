/* ops/detection/anchor_sample.c - see anchor_sample.h. */
#include "ops/detection/anchor_sample.h"

#include "ops/detection/boxes.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

#include <assert.h>

const struct anchor_sample_attrs *anchor_sample_attrs(const struct node *node)
{
    assert(node->op == &op_anchor_sample);
    return node->attrs;
}

static enum assay_status anchor_sample_check(const struct node *node,
                                             const struct tensor *const *inputs,
                                             struct error *err)
{
    const struct tensor *matches = inputs[ANCHOR_SAMPLE_MATCHES];
    const struct tensor *anchors = inputs[ANCHOR_SAMPLE_ANCHORS];
    enum assay_status st = rule_rank(inputs, ANCHOR_SAMPLE_MATCHES, 2, err);

    if (!st)
        st = rule_dtype(inputs, ANCHOR_SAMPLE_MATCHES, DTYPE_I64, err);
    if (!st)
        st = boxes_check_list(anchors, err);
    if (!st)
        st = boxes_check_list(inputs[ANCHOR_SAMPLE_BOXES], err);
    if (!st)
        st = sample_check_seed(inputs[ANCHOR_SAMPLE_SEED], err);
    if (!st && (matches->shape.dims[1] != anchors->shape.dims[0] ||
                anchor_sample_attrs(node)->rule.n < 0))
        st = error_set(err, ASSAY_BAD_INPUT,
                       "matches of %lld anchors for %lld, of which to take "
                       "%lld",
                       (long long)matches->shape.dims[1],
                       (long long)anchors->shape.dims[0],
                       (long long)anchor_sample_attrs(node)->rule.n);
    return st;
}

/* Labels of one image's anchors: objects from 1, background 0, others below.
 * What AnchorMatch calls them is one less. */
static void anchor_sample_make_labels(const int64_t *matches, size_t n,
                                      int64_t *labels)
{
    for (size_t i = 0; i < n; i++)
        labels[i] = matches[i] + 1;
}

/* Room for the labels of an image and for all that can be chosen. */
static enum assay_status
anchor_sample_take_memory(const struct op_context *context,
                          const struct node *node, const struct shape *matches,
                          struct buffer **memory, size_t *each,
                          struct error *err)
{
    size_t n = (size_t)matches->dims[1];
    size_t most = (size_t)anchor_sample_attrs(node)->rule.n;

    *each = most < n ? most : n;
    return pool_take_scratch(
        context->pool, (n + (size_t)matches->dims[0] * *each) * sizeof(int64_t),
        "choosing anchors", memory, err);
}

static enum assay_status anchor_sample_make_outputs(struct pool *pool,
                                                    int64_t n,
                                                    struct tensor *outputs,
                                                    struct error *err)
{
    struct shape list = shape_of(1, n), deltas = shape_of(2, n, (int64_t)4);
    enum assay_status st =
        tensor_new(pool, DTYPE_I64, &list, &outputs[ANCHOR_SAMPLE_CHOSEN], err);

    if (!st)
        st = tensor_new(pool, DTYPE_F32, &list, &outputs[ANCHOR_SAMPLE_LABELS],
                        err);
    if (!st)
        st = tensor_new(pool, DTYPE_F32, &deltas,
                        &outputs[ANCHOR_SAMPLE_DELTAS], err);
    return st;
}

static enum assay_status
anchor_sample_write_one(const struct tensor *const *inputs, int64_t chosen,
                        size_t i, const struct tensor *outputs,
                        struct error *err)
{
    static const float weights[4] = {1, 1, 1, 1};
    const struct tensor *objects = inputs[ANCHOR_SAMPLE_BOXES];
    int64_t n = inputs[ANCHOR_SAMPLE_ANCHORS]->shape.dims[0];
    int64_t match = tensor_i64(inputs[ANCHOR_SAMPLE_MATCHES])[chosen];
    float *deltas = tensor_f32(&outputs[ANCHOR_SAMPLE_DELTAS]) + 4 * i;

    if (match >= objects->shape.dims[0])
        return error_set(err, ASSAY_BAD_INPUT, "object %lld of %lld",
                         (long long)match, (long long)objects->shape.dims[0]);
    tensor_i64(&outputs[ANCHOR_SAMPLE_CHOSEN])[i] = chosen;
    tensor_f32(&outputs[ANCHOR_SAMPLE_LABELS])[i] = match >= 0;
    deltas[0] = deltas[1] = deltas[2] = deltas[3] = 0;
    if (match >= 0)
        box_encode(tensor_boxes(inputs[ANCHOR_SAMPLE_ANCHORS])[chosen % n],
                   tensor_boxes(objects)[match], weights, deltas);
    return ASSAY_OK;
}

static enum assay_status
anchor_sample_forward(const struct op_context *context, const struct node *node,
                      const struct tensor *const *inputs,
                      struct tensor *outputs, struct error *err)
{
    const struct tensor *matches = inputs[ANCHOR_SAMPLE_MATCHES];
    size_t n = 0, n_chosen = 0, each = 0;
    int64_t *labels, *chosen;
    struct buffer *memory = NULL;
    enum assay_status st = anchor_sample_check(node, inputs, err);

    if (!st)
        st = anchor_sample_take_memory(context, node, &matches->shape, &memory,
                                       &each, err);
    if (st)
        return st;
    n = (size_t)matches->shape.dims[1];
    labels = buffer_data(memory);
    chosen = labels + n;
    for (int64_t image = 0; image < matches->shape.dims[0]; image++) {
        int64_t first = image * (int64_t)n;
        size_t found;

        anchor_sample_make_labels(tensor_i64(matches) + first, n, labels);
        found = balanced_sample(
            &anchor_sample_attrs(node)->rule,
            sample_start(inputs[ANCHOR_SAMPLE_SEED], SAMPLE_ANCHORS, image),
            labels, n, chosen + n_chosen);
        for (size_t i = 0; i < found; i++)
            chosen[n_chosen++] += first;
    }
    st = anchor_sample_make_outputs(context->pool, (int64_t)n_chosen, outputs,
                                    err);
    for (size_t i = 0; !st && i < n_chosen; i++)
        st = anchor_sample_write_one(inputs, chosen[i], i, outputs, err);
    buffer_release(memory);
    return st;
}

/* An anchor and an object for each that is chosen; encoding one is about 20
 * operations. */
static void anchor_sample_count_cost(const struct node *node,
                                     const struct tensor *const *inputs,
                                     const struct tensor *outputs,
                                     struct cost *cost)
{
    const struct tensor *deltas = &outputs[ANCHOR_SAMPLE_DELTAS];

    (void)node;
    cost->flops += tensor_elements(deltas) * 5;
    cost_touches(cost, inputs[ANCHOR_SAMPLE_ANCHORS], tensor_bytes(deltas));
}

const struct op_class op_anchor_sample = {
    .name = "AnchorSample",
    .attrs_bytes = sizeof(struct anchor_sample_attrs),
    .min_inputs = ANCHOR_SAMPLE_INPUTS,
    .max_inputs = ANCHOR_SAMPLE_INPUTS,
    .min_outputs = ANCHOR_SAMPLE_OUTPUTS,
    .max_outputs = ANCHOR_SAMPLE_OUTPUTS,
    .forward = anchor_sample_forward,
    .cost = anchor_sample_count_cost,
};
