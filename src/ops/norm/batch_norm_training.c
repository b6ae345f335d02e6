/* ops/norm/batch_norm_training.c - BatchNormTraining, see normalize.h. */
#include "ops/channels.h"
#include "ops/gradient_internal.h"
#include "ops/int_list_internal.h"
#include "ops/norm/batch_norm.h"
#include "ops/norm/normalize.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

#include <math.h>

/* The rows that are saved, one element per channel. */
enum saved_row { SAVED_MEAN, SAVED_FACTOR, SAVED_VARIANCE, SAVED_ROWS };

static enum assay_status
batch_norm_training_infer(const struct node *node,
                          const struct tensor *const *inputs,
                          struct tensor *outputs, struct error *err)
{
    const struct shape *x = &inputs[BATCH_NORM_X]->shape;
    struct shape channels;
    enum assay_status st;

    if (x->rank < 2)
        return rule_rank(inputs, BATCH_NORM_X, 4, err);
    channels = shape_of(1, x->dims[1]);
    rule_set(&outputs[0], DTYPE_F32, x);
    for (size_t i = 1; i < node->n_outputs; i++)
        rule_set(&outputs[i], DTYPE_F32, &channels);
    st = rule_per_channel(inputs, BATCH_NORM_INPUTS, x->dims[1], err);
    return st ? st
              : rule_summand(op_input(node, inputs, BATCH_NORM_RESIDUAL), x,
                             err);
}

/* A channel in all images: one plane per image. */
struct channel {
    int64_t images, step, plane, first;
};

static struct channel channel_of(const struct shape *x, int64_t c)
{
    int64_t plane = shape_span(x, 2, x->rank);

    return (struct channel){x->dims[0], x->dims[1] * plane, plane, c * plane};
}

static double channel_count(const struct channel *channel)
{
    return (double)(channel->images * channel->plane);
}

/* Two passes: a mean far from 0 would spoil the variance otherwise. */
static void find_moments(const struct channel *channel, const float *x,
                         double *mean, double *variance)
{
    double n = channel_count(channel), sum = 0, squares = 0;

    for (int64_t i = 0; i < channel->images; i++) {
        const float *from = x + channel->first + i * channel->step;

        for (int64_t k = 0; k < channel->plane; k++)
            sum += (double)from[k];
    }
    *mean = n > 0 ? sum / n : 0;
    for (int64_t i = 0; i < channel->images; i++) {
        const float *from = x + channel->first + i * channel->step;

        for (int64_t k = 0; k < channel->plane; k++)
            squares += ((double)from[k] - *mean) * ((double)from[k] - *mean);
    }
    *variance = n > 0 ? squares / n : 0;
}

/* Saves the statistics of the batch for a channel. */
static void batch_norm_training_find_statistics(const struct node *node,
                                                const struct tensor *x,
                                                int64_t c,
                                                const struct tensor *statistics)
{
    const struct normalize_attrs *attrs = node->attrs;
    struct channel channel = channel_of(&x->shape, c);
    int64_t channels = x->shape.dims[1];
    float *to = tensor_f32(statistics) + c;
    double mean, variance;

    find_moments(&channel, tensor_f32(x), &mean, &variance);
    to[SAVED_MEAN * channels] = (float)mean;
    to[SAVED_FACTOR * channels] =
        (float)(1 / sqrt(variance + (double)attrs->eps));
    to[SAVED_VARIANCE * channels] = (float)variance;
}

/* y = (x - mean) * scale + shift */
struct affine {
    float mean, scale, shift;
};

static struct affine affine_of(const struct tensor *const *inputs,
                               const struct tensor *statistics, int64_t c)
{
    const float *saved = tensor_f32(statistics) + c;
    int64_t channels = statistics->shape.dims[1];

    return (struct affine){.mean = saved[SAVED_MEAN * channels],
                           .scale = saved[SAVED_FACTOR * channels] *
                                    tensor_f32(inputs[BATCH_NORM_WEIGHT])[c],
                           .shift = tensor_f32(inputs[BATCH_NORM_BIAS])[c]};
}

static void add_plane(const float *residual, int64_t n, float *y)
{
    for (int64_t i = 0; i < n; i++)
        y[i] += residual[i];
}

static void clip_plane(const struct normalize_attrs *attrs, int64_t n, float *y)
{
    float high = attrs->relu_limit > 0 ? attrs->relu_limit : INFINITY;

    /* Keeps NaNs, as PyTorch does. */
    for (int64_t i = 0; i < n; i++)
        y[i] = y[i] < 0 ? 0 : y[i] > high ? high : y[i];
}

static void batch_norm_training_write_channel(
    const struct node *node, const struct tensor *const *inputs,
    const struct tensor *statistics, int64_t c, const struct tensor *y)
{
    const struct normalize_attrs *attrs = node->attrs;
    struct affine by = affine_of(inputs, statistics, c);
    struct channel channel = channel_of(&y->shape, c);

    for (int64_t i = 0; i < channel.images; i++) {
        int64_t at = channel.first + i * channel.step;
        const float *from = tensor_f32(inputs[BATCH_NORM_X]) + at;
        float *to = tensor_f32(y) + at;

        for (int64_t k = 0; k < channel.plane; k++)
            to[k] = (from[k] - by.mean) * by.scale + by.shift;
        if (norm_has_residual(node))
            add_plane(tensor_f32(inputs[BATCH_NORM_RESIDUAL]) + at,
                      channel.plane, to);
        if (attrs->has_relu)
            clip_plane(attrs, channel.plane, to);
    }
}

static float batch_norm_training_blend(const struct normalize_attrs *attrs,
                                       float old, float new)
{
    return old * attrs->momentum + new *(1 - attrs->momentum);
}

/* Updates the running statistics with this batch. */
static void write_running(const struct node *node,
                          const struct tensor *const *inputs,
                          const struct tensor *statistics, int64_t c,
                          const struct tensor *outputs)
{
    const struct normalize_attrs *attrs = node->attrs;
    struct channel channel = channel_of(&outputs[0].shape, c);
    const float *saved = tensor_f32(statistics) + c;
    int64_t channels = outputs[0].shape.dims[1];
    double n = channel_count(&channel);
    double variance = (double)saved[SAVED_VARIANCE * channels];

    if (attrs->is_unbiased && n > 1)
        variance *= n / (n - 1);
    if (node->n_outputs > 1)
        tensor_f32(&outputs[1])[c] = batch_norm_training_blend(
            attrs, tensor_f32(inputs[BATCH_NORM_MEAN])[c],
            saved[SAVED_MEAN * channels]);
    if (node->n_outputs > 2)
        tensor_f32(&outputs[2])[c] = batch_norm_training_blend(
            attrs, tensor_f32(inputs[BATCH_NORM_VARIANCE])[c], (float)variance);
}

static enum assay_status
batch_norm_training_forward(const struct op_context *context,
                            const struct node *node,
                            const struct tensor *const *inputs,
                            struct tensor *outputs, struct error *err)
{
    const struct tensor *x = inputs[BATCH_NORM_X];
    int64_t channels = x->shape.dims[1];
    struct shape shape = shape_of(2, (int64_t)SAVED_ROWS, channels);
    int parts = gradient_parts(context, tensor_elements(x));
    struct tensor statistics;
    enum assay_status st = ASSAY_OK;

    if (context->is_again)
        statistics = tensor_share(context->saved);
    else
        st = tensor_new(context->pool, DTYPE_F32, &shape, &statistics, err);
    if (st)
        return st;
#pragma omp parallel for num_threads(parts) if (parts > 1)
    for (int64_t c = 0; c < channels; c++) {
        if (!context->is_again)
            batch_norm_training_find_statistics(node, x, c, &statistics);
        batch_norm_training_write_channel(node, inputs, &statistics, c,
                                          &outputs[0]);
        write_running(node, inputs, &statistics, c, outputs);
    }
    if (context->saved && !context->is_again)
        *context->saved = tensor_share(&statistics);
    tensor_release(&statistics);
    return ASSAY_OK;
}

static struct op_reads
batch_norm_training_backward_reads(const struct node *node, uint64_t wanted)
{
    const struct normalize_attrs *attrs = node->attrs;
    struct op_reads reads = {0};

    /* What the ReLU lets pass is recomputed from the inputs. With a residual it
     * is read from the output, which the next layer keeps anyway. */
    if (wanted && attrs->has_relu && norm_has_residual(node))
        reads.outputs = 1;
    else if (wanted && attrs->has_relu)
        reads.inputs =
            1 << BATCH_NORM_X | 1 << BATCH_NORM_WEIGHT | 1 << BATCH_NORM_BIAS;
    if (wanted & (1 << BATCH_NORM_X | 1 << BATCH_NORM_WEIGHT))
        reads.inputs |= 1 << BATCH_NORM_X;
    if (wanted & 1 << BATCH_NORM_X)
        reads.inputs |= 1 << BATCH_NORM_WEIGHT;
    return reads;
}

/* Which gradients pass the ReLU, if there is one: by the output y, or by x and
 * the norm. */
struct gate {
    const struct normalize_attrs *attrs;
    const float *x, *y;
    struct affine by;
};

static struct gate gate_of(const struct node *node,
                           const struct op_backward *pass, int64_t c)
{
    struct gate gate = {.attrs = node->attrs};

    if (!gate.attrs->has_relu)
        return gate;
    if (norm_has_residual(node)) {
        gate.y = tensor_f32(&pass->outputs[0]);
    } else {
        gate.x = tensor_f32(pass->inputs[BATCH_NORM_X]);
        gate.by = affine_of(pass->inputs, pass->saved, c);
    }
    return gate;
}

/* dy at an element, or 0 if the ReLU blocks it. */
static float slope_at(const struct gate *gate, int64_t at, float dy)
{
    float y;

    if (!gate->attrs->has_relu)
        return dy;
    y = gate->y
            ? gate->y[at]
            : (gate->x[at] - gate->by.mean) * gate->by.scale + gate->by.shift;
    return norm_passes(gate->attrs, y) ? dy : 0;
}

/* Sums of dy and, if x has data, of dy times the normalised x. */
static void batch_norm_training_sum_channel(const struct node *node,
                                            const struct op_backward *pass,
                                            int64_t c, double *sum,
                                            double *product)
{
    struct gate gate = gate_of(node, pass, c);
    const struct tensor *x = pass->inputs[BATCH_NORM_X];
    struct channel channel = channel_of(&x->shape, c);
    const float *saved = tensor_f32(pass->saved) + c;
    const float *all = x->buffer ? tensor_f32(x) : NULL;
    double mean = (double)saved[SAVED_MEAN * x->shape.dims[1]];

    *sum = *product = 0;
    for (int64_t i = 0; i < channel.images; i++) {
        int64_t at = channel.first + i * channel.step;
        const float *dy = tensor_f32(pass->dy[0]) + at;

        for (int64_t k = 0; k < channel.plane; k++) {
            float slope = slope_at(&gate, at + k, dy[k]);

            *sum += (double)slope;
            if (all)
                *product += (double)slope * ((double)all[at + k] - mean);
        }
    }
    *product *= (double)saved[SAVED_FACTOR * x->shape.dims[1]];
}

/* Each x also changes the mean and the deviation of its channel. */
static void batch_norm_training_pass_channel(const struct node *node,
                                             const struct op_backward *pass,
                                             int64_t c, double sum,
                                             double product)
{
    struct gate gate = gate_of(node, pass, c);
    const struct tensor *x = pass->inputs[BATCH_NORM_X];
    struct channel channel = channel_of(&x->shape, c);
    const float *saved = tensor_f32(pass->saved) + c;
    int64_t channels = x->shape.dims[1];
    float mean = saved[SAVED_MEAN * channels];
    float factor = saved[SAVED_FACTOR * channels];
    float scale = factor * tensor_f32(pass->inputs[BATCH_NORM_WEIGHT])[c];
    float of_mean = (float)(sum / channel_count(&channel));
    float of_x = (float)(product / channel_count(&channel)) * factor;

    for (int64_t i = 0; i < channel.images; i++) {
        int64_t at = channel.first + i * channel.step;
        const float *from = tensor_f32(x) + at;
        const float *dy = tensor_f32(pass->dy[0]) + at;
        float *dx = tensor_f32(&pass->dx[BATCH_NORM_X]) + at;

        for (int64_t k = 0; k < channel.plane; k++) {
            float slope = slope_at(&gate, at + k, dy[k]);

            dx[k] = (slope - of_mean - (from[k] - mean) * of_x) * scale;
        }
    }
}

/* The residual gets the gradients that pass the ReLU. */
static void pass_residual(const struct node *node,
                          const struct op_backward *pass, int64_t c)
{
    struct gate gate = gate_of(node, pass, c);
    struct channel channel = channel_of(&pass->inputs[BATCH_NORM_X]->shape, c);
    const float *dy = tensor_f32(pass->dy[0]);
    float *dx = tensor_f32(&pass->dx[BATCH_NORM_RESIDUAL]);

    for (int64_t i = 0; i < channel.images; i++) {
        int64_t at = channel.first + i * channel.step;

        for (int64_t k = at; k < at + channel.plane; k++)
            dx[k] = slope_at(&gate, k, dy[k]);
    }
}

static enum assay_status
batch_norm_training_backward(const struct op_context *context,
                             const struct node *node,
                             const struct op_backward *pass, struct error *err)
{
    int parts =
        gradient_parts(context, tensor_elements(pass->inputs[BATCH_NORM_X]));
    int64_t channels = pass->inputs[BATCH_NORM_X]->shape.dims[1];

    (void)err;
    if (!pass->dy[0])
        return ASSAY_OK; /* the running statistics have no gradient */
#pragma omp parallel for num_threads(parts) if (parts > 1)
    for (int64_t c = 0; c < channels; c++) {
        double sum, product;

        batch_norm_training_sum_channel(node, pass, c, &sum, &product);
        if (op_wants(pass, BATCH_NORM_X))
            batch_norm_training_pass_channel(node, pass, c, sum, product);
        if (op_wants(pass, BATCH_NORM_RESIDUAL))
            pass_residual(node, pass, c);
        if (op_wants(pass, BATCH_NORM_WEIGHT))
            tensor_f32(&pass->dx[BATCH_NORM_WEIGHT])[c] = (float)product;
        if (op_wants(pass, BATCH_NORM_BIAS))
            tensor_f32(&pass->dx[BATCH_NORM_BIAS])[c] = (float)sum;
    }
    return ASSAY_OK;
}

/* Two passes for the statistics, one to apply them. */
static void batch_norm_training_count_cost(const struct node *node,
                                           const struct tensor *const *inputs,
                                           const struct tensor *outputs,
                                           struct cost *cost)
{
    (void)inputs;
    cost->flops +=
        (norm_has_residual(node) ? 7 : 6) * tensor_elements(&outputs[0]);
}

/* The sums of dy and of its products, then dx. */
static void count_backward_cost(const struct node *node,
                                const struct op_backward *pass,
                                struct cost *cost)
{
    uint64_t n = tensor_elements(pass->inputs[BATCH_NORM_X]);

    (void)node;
    cost->flops += 4 * n + (op_wants(pass, BATCH_NORM_X) ? 4 * n : 0);
}

const struct op_class op_batch_norm_training = {
    .name = "BatchNormTraining",
    OP_ATTRS(normalize),
    OP_TAKES(BATCH_NORM_INPUTS, BATCH_NORM_INPUTS + 1),
    OP_MAKES(1, 3),
    .infer = batch_norm_training_infer,
    .forward = batch_norm_training_forward,
    .cost = batch_norm_training_count_cost,
    .backward = batch_norm_training_backward,
    .backward_reads = batch_norm_training_backward_reads,
    .backward_cost = count_backward_cost,
    .is_cheap = true,
    .is_f32 = true,
    .channels = channel_norm,
    .counted = COUNTED_NORM,
};
