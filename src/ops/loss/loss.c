/* ops/loss/loss.c - see loss.h. */
#include "ops/loss/loss.h"

#include "ops/gradient_internal.h"
#include "ops/int_list_internal.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"
#include "ops/widen_internal.h"

#include <math.h>

enum loss_input { LOSS_SCORES, LOSS_LABELS, LOSS_WEIGHTS };

static enum assay_status loss_infer(const struct node *node,
                                    const struct tensor *const *inputs,
                                    struct tensor *outputs, struct error *err)
{
    const struct loss_attrs *attrs = node->attrs;
    const struct tensor *x = inputs[LOSS_SCORES];
    struct shape labels = x->shape;
    enum assay_status st = indices_check(inputs, LOSS_LABELS, err);

    if (st)
        return st;
    for (int i = 1; i < labels.rank - 1; i++)
        labels.dims[i] = labels.dims[i + 1];
    labels.rank--;
    if (x->shape.rank < 2 || !shape_equal(&labels, &inputs[LOSS_LABELS]->shape))
        return rule_misfit("labels", &inputs[LOSS_LABELS]->shape, "scores",
                           &x->shape, err);
    if (attrs->reduction != LOSS_NONE)
        labels.rank = 0;
    rule_set(&outputs[0], x->dtype, &labels);
    if (node->n_outputs > 1)
        rule_set(&outputs[1], x->dtype, &x->shape);
    return ASSAY_OK;
}

/* Scores as images x classes x places. */
struct scores {
    int64_t images, classes, places;
    const int64_t *labels;
};

#define LOSS(type)                                                             \
    /* The logarithm of the sum of exp() of one line of scores. */             \
    static double log_total_##type(const type *x, int64_t n, int64_t step)     \
    {                                                                          \
        double largest = -INFINITY, sum = 0;                                   \
                                                                               \
        for (int64_t i = 0; i < n; i++)                                        \
            largest = fmax(largest, (double)x[i * step]);                      \
        for (int64_t i = 0; i < n; i++)                                        \
            sum += exp((double)x[i * step] - largest);                         \
        return largest + log(sum);                                             \
    }                                                                          \
                                                                               \
    static void write_logs_##type(const struct scores *scores, const type *x,  \
                                  type *y)                                     \
    {                                                                          \
        int64_t line = scores->classes * scores->places;                       \
                                                                               \
        for (int64_t i = 0; i < scores->images * scores->places; i++) {        \
            int64_t at = i / scores->places * line + i % scores->places;       \
            double total =                                                     \
                log_total_##type(x + at, scores->classes, scores->places);     \
                                                                               \
            for (int64_t c = 0; c < scores->classes; c++)                      \
                y[at + c * scores->places] =                                   \
                    (type)((double)x[at + c * scores->places] - total);        \
        }                                                                      \
    }                                                                          \
                                                                               \
    static enum assay_status add_up_##type(                                    \
        const struct loss_attrs *attrs, const struct scores *scores,           \
        bool is_softmax, const type *x, const type *weights, type *y,          \
        struct error *err)                                                     \
    {                                                                          \
        int64_t line = scores->classes * scores->places;                       \
        double sum = 0, weight_sum = 0;                                        \
                                                                               \
        for (int64_t i = 0; i < scores->images * scores->places; i++) {        \
            int64_t at = i / scores->places * line + i % scores->places;       \
            int64_t label = scores->labels[i];                                 \
            double weight, loss = 0;                                           \
            bool counts = !attrs->has_ignored || label != attrs->ignored;      \
                                                                               \
            if (counts && (label < 0 || label >= scores->classes))             \
                return error_set(err, ASSAY_BAD_INPUT,                         \
                                 "label %lld is not one of %lld classes",      \
                                 (long long)label,                             \
                                 (long long)scores->classes);                  \
            weight = !counts ? 0 : weights ? (double)weights[label] : 1;       \
            if (counts)                                                        \
                loss = -(double)x[at + label * scores->places];                \
            if (counts && is_softmax)                                          \
                loss +=                                                        \
                    log_total_##type(x + at, scores->classes, scores->places); \
            sum += loss * weight;                                              \
            weight_sum += weight;                                              \
            if (attrs->reduction == LOSS_NONE)                                 \
                y[i] = (type)(loss * weight);                                  \
        }                                                                      \
        if (attrs->reduction == LOSS_SUM)                                      \
            *y = (type)sum;                                                    \
        if (attrs->reduction == LOSS_MEAN)                                     \
            *y = (type)(sum / weight_sum);                                     \
        return ASSAY_OK;                                                       \
    }
LOSS(float)
LOSS(double)

/* ---- backward --------------------------------------------------------- */

static struct scores loss_scores_of(const struct tensor *x)
{
    return (struct scores){.images = x->shape.dims[0],
                           .classes = x->shape.dims[1],
                           .places = shape_span(&x->shape, 2, x->shape.rank)};
}

/* Saves the softmax of the scores, which the gradients need. */
static enum assay_status loss_save_shares(const struct op_context *context,
                                          const struct tensor *x,
                                          struct error *err)
{
    struct scores scores = loss_scores_of(x);
    int64_t line = scores.classes * scores.places;
    int64_t n = scores.images * scores.places;
    int parts = gradient_parts(context, tensor_elements(x));
    enum assay_status st =
        tensor_new(context->pool, DTYPE_F32, &x->shape, context->saved, err);

    if (st)
        return st;
#pragma omp parallel for num_threads(parts) if (parts > 1)
    for (int64_t i = 0; i < n; i++) {
        int64_t at = i / scores.places * line + i % scores.places;
        const float *from = tensor_f32(x) + at;
        float *to = tensor_f32(context->saved) + at;
        double total = log_total_float(from, scores.classes, scores.places);

        for (int64_t c = 0; c < scores.classes; c++)
            to[c * scores.places] =
                (float)exp((double)from[c * scores.places] - total);
    }
    return ASSAY_OK;
}

/* The weight of a label; 0 if it does not count. */
static float loss_weight_of(const struct node *node,
                            const struct op_backward *pass, int64_t label)
{
    const struct loss_attrs *attrs = node->attrs;
    const struct tensor *weights = op_input(node, pass->inputs, LOSS_WEIGHTS);

    if (attrs->has_ignored && label == attrs->ignored)
        return 0;
    return weights ? tensor_f32(weights)[label] : 1;
}

/* The factor of a line's loss in the result: for a mean, 1 / sum of weights. */
static float loss_share_of_line(const struct node *node,
                                const struct op_backward *pass)
{
    const struct loss_attrs *attrs = node->attrs;
    const struct tensor *labels = pass->inputs[LOSS_LABELS];
    double sum = 0;

    if (attrs->reduction != LOSS_MEAN)
        return 1;
    for (size_t i = 0; i < tensor_elements(labels); i++)
        sum += (double)loss_weight_of(node, pass, int_at(labels, i));
    return (float)(1 / sum);
}

static void loss_pass_line(const struct node *node,
                           const struct op_backward *pass, int64_t i,
                           float share)
{
    const struct loss_attrs *attrs = node->attrs;
    struct scores scores = loss_scores_of(&pass->dx[LOSS_SCORES]);
    int64_t at =
        i / scores.places * scores.classes * scores.places + i % scores.places;
    int64_t label = int_at(pass->inputs[LOSS_LABELS], (size_t)i);
    const float *dy = tensor_f32(pass->dy[0]);
    float *dx = tensor_f32(&pass->dx[LOSS_SCORES]) + at;
    float factor = loss_weight_of(node, pass, label);

    if (factor == 0)
        return;
    factor *= share * dy[attrs->reduction == LOSS_NONE ? i : 0];
    if (node->op == &op_softmax_cross_entropy_loss) {
        const float *shares = tensor_f32(pass->saved) + at;

        for (int64_t c = 0; c < scores.classes; c++)
            dx[c * scores.places] = shares[c * scores.places] * factor;
    }
    dx[label * scores.places] -= factor;
}

static enum assay_status loss_backward(const struct op_context *context,
                                       const struct node *node,
                                       const struct op_backward *pass,
                                       struct error *err)
{
    int64_t n = (int64_t)tensor_elements(pass->inputs[LOSS_LABELS]);
    float share = loss_share_of_line(node, pass);
    int parts;

    if (op_wants(pass, LOSS_WEIGHTS) || (node->n_outputs > 1 && pass->dy[1]))
        return error_set(err, ASSAY_UNSUPPORTED,
                         "gradients of the class weights or of the logarithms "
                         "are not supported; use LogSoftmax and "
                         "NegativeLogLikelihoodLoss for these");
    if (!pass->dy[0])
        return ASSAY_OK;
    parts = gradient_parts(context, tensor_elements(&pass->dx[LOSS_SCORES]));
#pragma omp parallel for num_threads(parts) if (parts > 1)
    for (int64_t i = 0; i < n; i++)
        loss_pass_line(node, pass, i, share);
    return ASSAY_OK;
}

/* ---- the ops ---------------------------------------------------------- */

static enum assay_status loss_kernel(const struct op_context *context,
                                     const struct node *node,
                                     const struct tensor *const *inputs,
                                     struct tensor *outputs, struct error *err)
{
    const struct tensor *x = inputs[LOSS_SCORES];
    const struct tensor *weights = op_input(node, inputs, LOSS_WEIGHTS);
    struct scores scores = loss_scores_of(x);
    bool is_softmax = node->op == &op_softmax_cross_entropy_loss;
    enum assay_status st = ASSAY_OK;

    scores.labels = tensor_data(inputs[LOSS_LABELS]);
    if (weights && (weights->dtype != x->dtype ||
                    (int64_t)tensor_elements(weights) != scores.classes))
        return error_set(err, ASSAY_BAD_INPUT,
                         "%zu weights of %s for %lld classes of %s",
                         tensor_elements(weights), dtype_name(weights->dtype),
                         (long long)scores.classes, dtype_name(x->dtype));
    if (is_softmax && x->dtype == DTYPE_F32 && context->saved &&
        !context->is_again)
        st = loss_save_shares(context, x, err);
    if (st)
        return st;
    if (x->dtype == DTYPE_F32) {
        if (node->n_outputs > 1)
            write_logs_float(&scores, tensor_data(x), tensor_data(&outputs[1]));
        return add_up_float(node->attrs, &scores, is_softmax, tensor_data(x),
                            weights ? tensor_data(weights) : NULL,
                            tensor_data(&outputs[0]), err);
    }
    if (x->dtype != DTYPE_F64)
        return rule_undefined(node, x->dtype, err);
    if (node->n_outputs > 1)
        write_logs_double(&scores, tensor_data(x), tensor_data(&outputs[1]));
    return add_up_double(node->attrs, &scores, is_softmax, tensor_data(x),
                         weights ? tensor_data(weights) : NULL,
                         tensor_data(&outputs[0]), err);
}

WIDEN_FORWARD(loss_forward, loss_kernel)

#define CLASS(symbol, text, made)                                              \
    const struct op_class op_##symbol = {                                      \
        .name = text,                                                          \
        .attrs_bytes = sizeof(struct loss_attrs),                              \
        OP_TAKES(2, 3),                                                        \
        OP_MAKES(1, made),                                                     \
        .infer = loss_infer,                                                   \
        .forward = loss_forward,                                               \
        .backward = loss_backward,                                             \
        .backward_reads = gradient_reads_settings,                             \
        .is_loss = true,                                                       \
    };
CLASS(negative_log_likelihood_loss, "NegativeLogLikelihoodLoss", 1)
CLASS(softmax_cross_entropy_loss, "SoftmaxCrossEntropyLoss", 2)
