/* ops/norm/normalize_backward.c - see normalize_backward_internal.h.
 *
 * Statistics are found again rather than kept. For a line of n values with
 * normalised values z and g = dy * scale:
 *     dx = (g - mean(g) - z * mean(g * z)) / deviation */
#include "ops/norm/normalize_backward_internal.h"

#include "base/mem.h"
#include "ops/gradient_internal.h"
#include "ops/int_list_internal.h"
#include "ops/norm/normalize.h"
#include "ops/op_threads.h"

#include <math.h>
#include <string.h>

enum { NORM_X, NORM_SCALE, NORM_BIAS };

static struct op_reads normalize_backward_reads_of(const struct node *node,
                                                   uint64_t wanted)
{
    struct op_reads reads = {0};

    (void)node;
    if (wanted & (1 << NORM_X | 1 << NORM_SCALE))
        reads.inputs |= 1 << NORM_X;
    if (wanted & 1 << NORM_X)
        reads.inputs |= 1 << NORM_SCALE;
    return reads;
}

/* A line, and what it was normalised by. */
struct line {
    size_t n;
    const float *x, *dy;
    float mean, factor;
};

static struct line normalize_backward_line_of(const struct node *node,
                                              const struct op_backward *pass,
                                              int64_t i, size_t n)
{
    const struct normalize_attrs *attrs = node->attrs;
    struct line line = {.n = n, .dy = tensor_f32(pass->dy[0]) + (size_t)i * n};
    double mean, variance;

    if (!pass->inputs[NORM_X]->buffer)
        return line;
    line.x = tensor_f32(pass->inputs[NORM_X]) + (size_t)i * n;
    normalize_moments(line.x, n, &mean, &variance);
    line.mean = (float)mean;
    line.factor = (float)(1 / sqrt(variance + (double)attrs->eps));
    return line;
}

/* scale: one for the line (step 0), or one an element (step 1). */
static void normalize_backward_pass_line(const struct line *line,
                                         const float *scale, size_t step,
                                         float *dx)
{
    double sum = 0, product = 0;
    float of_mean, of_x;

    for (size_t i = 0; i < line->n; i++) {
        double g = (double)line->dy[i] * (double)scale[i * step];

        sum += g;
        product += g * (double)((line->x[i] - line->mean) * line->factor);
    }
    of_mean = (float)(sum / (double)line->n);
    of_x = (float)(product / (double)line->n);
    for (size_t i = 0; i < line->n; i++)
        dx[i] = (line->dy[i] * scale[i * step] - of_mean -
                 (line->x[i] - line->mean) * line->factor * of_x) *
                line->factor;
}

/* ---- InstanceNorm ----------------------------------------------------- */

struct op_reads instance_norm_backward_reads(const struct node *node,
                                             uint64_t wanted)
{
    return normalize_backward_reads_of(node, wanted);
}

/* A channel's planes in all images. */
static void normalize_backward_pass_channel(const struct node *node,
                                            const struct op_backward *pass,
                                            int64_t c)
{
    const struct shape *shape = &pass->inputs[NORM_X]->shape;
    size_t plane = (size_t)shape_span(shape, 2, shape->rank);
    double sum = 0, product = 0;

    for (int64_t n = 0; n < shape->dims[0]; n++) {
        int64_t i = n * shape->dims[1] + c;
        struct line line = normalize_backward_line_of(node, pass, i, plane);

        if (op_wants(pass, NORM_X))
            normalize_backward_pass_line(
                &line, tensor_f32(pass->inputs[NORM_SCALE]) + c, 0,
                tensor_f32(&pass->dx[NORM_X]) + (size_t)i * plane);
        for (size_t k = 0; k < plane; k++) {
            sum += (double)line.dy[k];
            if (line.x)
                product += (double)line.dy[k] *
                           (double)((line.x[k] - line.mean) * line.factor);
        }
    }
    if (op_wants(pass, NORM_SCALE))
        tensor_f32(&pass->dx[NORM_SCALE])[c] = (float)product;
    if (op_wants(pass, NORM_BIAS))
        tensor_f32(&pass->dx[NORM_BIAS])[c] = (float)sum;
}

enum assay_status instance_norm_backward(const struct op_context *context,
                                         const struct node *node,
                                         const struct op_backward *pass,
                                         struct error *err)
{
    int parts = gradient_parts(context, tensor_elements(pass->dy[0]));

    (void)err;
#pragma omp parallel for num_threads(parts) if (parts > 1)
    for (int64_t c = 0; c < pass->inputs[NORM_X]->shape.dims[1]; c++)
        normalize_backward_pass_channel(node, pass, c);
    return ASSAY_OK;
}

/* ---- LayerNorm -------------------------------------------------------- */

struct op_reads layer_norm_backward_reads(const struct node *node,
                                          uint64_t wanted)
{
    return normalize_backward_reads_of(node, wanted);
}

/* Scale and bias, elements [first, last) of all lines. */
static void sum_lines(const struct op_backward *pass, const struct line *lines,
                      int64_t n_lines, size_t first, size_t last)
{
    for (size_t k = first; k < last; k++) {
        double sum = 0, product = 0;

        for (int64_t i = 0; i < n_lines; i++) {
            const struct line *line = &lines[i];

            sum += (double)line->dy[k];
            if (line->x)
                product += (double)line->dy[k] *
                           (double)((line->x[k] - line->mean) * line->factor);
        }
        if (op_wants(pass, NORM_SCALE))
            tensor_f32(&pass->dx[NORM_SCALE])[k] = (float)product;
        if (op_wants(pass, NORM_BIAS))
            tensor_f32(&pass->dx[NORM_BIAS])[k] = (float)sum;
    }
}

enum assay_status layer_norm_backward(const struct op_context *context,
                                      const struct node *node,
                                      const struct op_backward *pass,
                                      struct error *err)
{
    const struct normalize_attrs *attrs = node->attrs;
    const struct shape *x = &pass->inputs[NORM_X]->shape;
    int parts = gradient_parts(context, tensor_elements(pass->dy[0]));
    struct line *lines;
    int64_t n_lines;
    size_t n;
    int axis;
    enum assay_status st = axis_resolve(attrs->axis, x->rank, &axis, err);

    if (st)
        return st;
    if ((node->n_outputs > 1 && pass->dy[1]) ||
        (node->n_outputs > 2 && pass->dy[2]))
        return error_set(err, ASSAY_UNSUPPORTED,
                         "gradients of a norm's statistics are not supported");
    if (!pass->dy[0])
        return ASSAY_OK;
    n_lines = shape_span(x, 0, axis);
    n = (size_t)shape_span(x, axis, x->rank);
    lines = mem_array((size_t)n_lines, sizeof *lines);
    if (!lines)
        return error_nomem(err, (size_t)n_lines * sizeof *lines, "a norm");
#pragma omp parallel for num_threads(parts) if (parts > 1)
    for (int64_t i = 0; i < n_lines; i++) {
        lines[i] = normalize_backward_line_of(node, pass, i, n);
        if (op_wants(pass, NORM_X))
            normalize_backward_pass_line(
                &lines[i], tensor_f32(pass->inputs[NORM_SCALE]), 1,
                tensor_f32(&pass->dx[NORM_X]) + (size_t)i * n);
    }
#pragma omp parallel for num_threads(parts) if (parts > 1)
    for (int i = 0; i < parts; i++)
        sum_lines(pass, lines, n_lines, n * (size_t)i / (size_t)parts,
                  n * (size_t)(i + 1) / (size_t)parts);
    mem_free(lines);
    return ASSAY_OK;
}

/* ---- LocalResponseNorm ------------------------------------------------ */

struct op_reads local_response_norm_backward_reads(const struct node *node,
                                                   uint64_t wanted)
{
    return gradient_reads_input(node, wanted);
}

/* Channels that lie at most so far before and behind one. */
struct reach {
    int64_t first, last;
};

static struct reach normalize_backward_reach_of(int64_t channel, int64_t before,
                                                int64_t behind,
                                                int64_t channels)
{
    struct reach reach = {channel - before, channel + behind};

    reach.first = reach.first < 0 ? 0 : reach.first;
    reach.last = reach.last >= channels ? channels - 1 : reach.last;
    return reach;
}

/* Of one channel: dx has dy * d^-beta, `parts` dy * x * d^(-beta - 1), where d
 * is what the norm raised to beta. */
static void
normalize_backward_find_parts(const struct local_response_norm_attrs *attrs,
                              const float *image, int64_t channel,
                              int64_t channels, int64_t plane, const float *dy,
                              float *dx, float *parts)
{
    struct reach reach = normalize_backward_reach_of(
        channel, (attrs->size - 1) / 2, attrs->size / 2, channels);

    memset(parts, 0, (size_t)plane * sizeof *parts);
    for (int64_t c = reach.first; c <= reach.last; c++) {
        for (int64_t i = 0; i < plane; i++)
            parts[i] += image[c * plane + i] * image[c * plane + i];
    }
    for (int64_t i = 0; i < plane; i++) {
        float d = attrs->bias + attrs->alpha / (float)attrs->size * parts[i];

        dx[i] = dy[i] * powf(d, -attrs->beta);
        parts[i] = dx[i] * image[channel * plane + i] / d;
    }
}

/* Takes off what the channel does to those that it is a neighbour of. */
static void take_neighbours(const struct local_response_norm_attrs *attrs,
                            const float *image, const float *parts,
                            int64_t channel, int64_t channels, int64_t plane,
                            float *dx)
{
    struct reach reach = normalize_backward_reach_of(
        channel, attrs->size / 2, (attrs->size - 1) / 2, channels);
    float factor = 2 * attrs->alpha * attrs->beta / (float)attrs->size;

    for (int64_t c = reach.first; c <= reach.last; c++) {
        for (int64_t i = 0; i < plane; i++)
            dx[i] -= factor * image[channel * plane + i] * parts[c * plane + i];
    }
}

enum assay_status local_response_norm_backward(const struct op_context *context,
                                               const struct node *node,
                                               const struct op_backward *pass,
                                               struct error *err)
{
    const struct shape *x = &pass->inputs[0]->shape;
    int64_t channels = x->dims[1], plane = shape_span(x, 2, x->rank);
    int64_t n = x->dims[0] * channels, image = channels * plane;
    const float *from = tensor_f32(pass->inputs[0]);
    float *dx = tensor_f32(&pass->dx[0]);
    struct tensor parts;
    enum assay_status st = tensor_new(context->pool, DTYPE_F32, x, &parts, err);

    if (st)
        return st;
#pragma omp parallel for num_threads(op_threads(context))
    for (int64_t i = 0; i < n; i++)
        normalize_backward_find_parts(
            node->attrs, from + i / channels * image, i % channels, channels,
            plane, tensor_f32(pass->dy[0]) + i * plane, dx + i * plane,
            tensor_f32(&parts) + i * plane);
#pragma omp parallel for num_threads(op_threads(context))
    for (int64_t i = 0; i < n; i++)
        take_neighbours(node->attrs, from + i / channels * image,
                        tensor_f32(&parts) + i / channels * image, i % channels,
                        channels, plane, dx + i * plane);
    tensor_release(&parts);
    return ASSAY_OK;
}
