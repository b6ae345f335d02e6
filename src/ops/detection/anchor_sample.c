/* ops/detection/anchor_sample.c - see anchor_sample.h. */
#include "ops/detection/anchor_sample.h"

#include "ops/detection/boxes.h"
#include "ops/op_threads.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

#include <string.h>

static enum assay_status anchor_sample_check(const struct node *node,
                                             const struct tensor *const *inputs,
                                             struct error *err)
{
    static const struct input_rule rule = {ANCHOR_SAMPLE_MATCHES, 2, DTYPE_I64};
    const struct anchor_sample_attrs *attrs = node->attrs;
    const struct tensor *matches = inputs[ANCHOR_SAMPLE_MATCHES];
    const struct tensor *anchors = inputs[ANCHOR_SAMPLE_ANCHORS];
    enum assay_status st = rule_inputs(inputs, &rule, 1, err);

    if (!st)
        st = boxes_check_list(anchors, err);
    if (!st)
        st = boxes_check_list(inputs[ANCHOR_SAMPLE_BOXES], err);
    if (!st)
        st = sample_check_seed(inputs[ANCHOR_SAMPLE_SEED], err);
    if (!st &&
        (matches->shape.dims[1] != anchors->shape.dims[0] || attrs->rule.n < 0))
        st = error_set(err, ASSAY_BAD_INPUT,
                       "matches of %lld anchors for %lld, to draw %lld from",
                       (long long)matches->shape.dims[1],
                       (long long)anchors->shape.dims[0],
                       (long long)attrs->rule.n);
    return st;
}

static enum assay_status anchor_sample_make_outputs(struct pool *pool, size_t n,
                                                    struct tensor *outputs,
                                                    struct error *err)
{
    enum assay_status st =
        rows_new(pool, DTYPE_I64, n, 0, &outputs[ANCHOR_SAMPLE_CHOSEN], err);

    if (!st)
        st = rows_new(pool, DTYPE_F32, n, 0, &outputs[ANCHOR_SAMPLE_LABELS],
                      err);
    if (!st)
        st = rows_new(pool, DTYPE_F32, n, 4, &outputs[ANCHOR_SAMPLE_DELTAS],
                      err);
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
        return error_set(err, ASSAY_BAD_INPUT,
                         "a match with object %lld of %lld", (long long)match,
                         (long long)objects->shape.dims[0]);
    tensor_i64(&outputs[ANCHOR_SAMPLE_CHOSEN])[i] = chosen;
    tensor_f32(&outputs[ANCHOR_SAMPLE_LABELS])[i] = match >= 0;
    deltas[0] = deltas[1] = deltas[2] = deltas[3] = 0;
    if (match >= 0)
        box_encode(tensor_boxes(inputs[ANCHOR_SAMPLE_ANCHORS])[chosen % n],
                   tensor_boxes(objects)[match], weights, deltas);
    return ASSAY_OK;
}

/* Draws from the anchors of one image; how many it has drawn. */
static size_t anchor_sample_draw(const struct node *node,
                                 const struct tensor *const *inputs,
                                 int64_t image, int64_t *labels,
                                 int64_t *chosen)
{
    const struct anchor_sample_attrs *attrs = node->attrs;
    const struct tensor *matches = inputs[ANCHOR_SAMPLE_MATCHES];
    int64_t n = matches->shape.dims[1], first = image * n;
    size_t found;

    /* A match is one less than the label of balanced_sample(). */
    for (int64_t i = 0; i < n; i++)
        labels[i] = tensor_i64(matches)[first + i] + 1;
    found = balanced_sample(
        &attrs->rule,
        sample_start(inputs[ANCHOR_SAMPLE_SEED], SAMPLE_ANCHORS, image), labels,
        (size_t)n, chosen);
    for (size_t i = 0; i < found; i++)
        chosen[i] += first;
    return found;
}

static enum assay_status
anchor_sample_forward(const struct op_context *context, const struct node *node,
                      const struct tensor *const *inputs,
                      struct tensor *outputs, struct error *err)
{
    const struct anchor_sample_attrs *attrs = node->attrs;
    const struct tensor *matches = inputs[ANCHOR_SAMPLE_MATCHES];
    size_t n, most, n_chosen = 0;
    int64_t n_images, *labels, *chosen, *found;
    struct buffer *memory = NULL;
    enum assay_status st = anchor_sample_check(node, inputs, err);

    if (st)
        return st;
    n_images = matches->shape.dims[0];
    n = (size_t)matches->shape.dims[1];
    most = (size_t)attrs->rule.n < n ? (size_t)attrs->rule.n : n;
    st = pool_take_scratch(context->pool,
                           (size_t)n_images * (n + most + 1) * sizeof(int64_t),
                           "choosing anchors", &memory, err);
    if (st)
        return st;
    labels = buffer_data(memory);
    chosen = labels + (size_t)n_images * n;
    found = chosen + (size_t)n_images * most;
#pragma omp parallel for num_threads(op_threads(context))
    for (int64_t image = 0; image < n_images; image++)
        found[image] = (int64_t)anchor_sample_draw(
            node, inputs, image, labels + image * (int64_t)n,
            chosen + image * (int64_t)most);
    for (int64_t image = 0; image < n_images; image++) {
        memmove(chosen + n_chosen, chosen + image * (int64_t)most,
                (size_t)found[image] * sizeof *chosen);
        n_chosen += (size_t)found[image];
    }
    st = anchor_sample_make_outputs(context->pool, n_chosen, outputs, err);
    for (size_t i = 0; !st && i < n_chosen; i++)
        st = anchor_sample_write_one(inputs, chosen[i], i, outputs, err);
    buffer_release(memory);
    return st;
}

/* Reads the chosen anchors only; encoding a box is about 20 operations. */
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
    OP_TAKES(ANCHOR_SAMPLE_INPUTS, ANCHOR_SAMPLE_INPUTS),
    OP_MAKES(ANCHOR_SAMPLE_OUTPUTS, ANCHOR_SAMPLE_OUTPUTS),
    .host_inputs = OP_INPUT(ANCHOR_SAMPLE_SEED),
    .forward = anchor_sample_forward,
    .cost = anchor_sample_count_cost,
};
