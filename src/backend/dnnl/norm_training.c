/* backend/dnnl/norm_training.c - BatchNorm with statistics of the batch,
 * and the gradients of both kinds.
 *
 * A map is read twice on the way forward and twice on the way back. */
#include "backend/dnnl/channel_affine.h"
#include "backend/dnnl/channel_sums.h"

#include "base/variants.h"
#include "ops/norm/batch_norm.h"
#include "ops/norm/normalize.h"
#include "ops/ops.h"

#include <math.h>
#include <string.h>

/* ---- forward ------------------------------------------------------------- */

/* Means, then variances. */
static enum assay_status find_statistics(const struct op_context *context,
                                         const struct batch *batch,
                                         const struct tensor *statistics,
                                         struct error *err)
{
    int64_t n = batch_channels(batch);
    float *variance = tensor_f32(statistics) + n;
    enum assay_status st =
        batch_sums(context, batch, tensor_f32(statistics), err);

    for (int64_t c = 0; !st && c < n; c++)
        variance[c] = (float)((double)variance[c] / batch_pixels(batch));
    return st;
}

/* What the backward pass, or a second forward one, finds. */
static enum assay_status get_statistics(const struct job *job,
                                        const struct batch *batch,
                                        struct tensor *own, struct error *err)
{
    const struct op_context *context = job->context;
    struct shape shape = shape_of(2, (int64_t)2, batch_channels(batch));
    enum assay_status st;

    if (context->saved && context->is_again) {
        *own = tensor_share(context->saved);
        return ASSAY_OK;
    }
    st = tensor_new(context->pool, DTYPE_F32, &shape, own, err);
    if (!st)
        st = find_statistics(context, batch, own, err);
    if (!st && context->saved)
        *context->saved = tensor_share(own);
    return st;
}

static float factor_of(const struct node *node, float variance)
{
    const struct normalize_attrs *attrs = node->attrs;
    float eps =
        node->op == &op_batch_norm ? batch_norm_attrs(node)->eps : attrs->eps;

    return (float)(1 / sqrt((double)variance + (double)eps));
}

/* Scales, then shifts; both 0 after the last channel. */
static enum assay_status norm_make_affine(const struct job *job,
                                          const struct tensor *const *inputs,
                                          const struct tensor *statistics,
                                          struct tensor *out, struct error *err)
{
    const float *mean = tensor_f32(statistics);
    int64_t n = statistics->shape.dims[1];
    float *scale;
    enum assay_status st =
        tensor_new(job->context->pool, DTYPE_F32, &statistics->shape, out, err);

    if (st)
        return st;
    scale = tensor_f32(out);
    memset(scale, 0, tensor_bytes(out));
    for (int64_t c = 0; c < job->x->shape.dims[1]; c++) {
        scale[c] = tensor_f32(inputs[BATCH_NORM_WEIGHT])[c] *
                   factor_of(job->node, mean[n + c]);
        scale[n + c] =
            tensor_f32(inputs[BATCH_NORM_BIAS])[c] - mean[c] * scale[c];
    }
    return ASSAY_OK;
}

/* What the batch's own variance is multiplied by for the running one. */
static float running_factor(const struct job *job)
{
    const struct normalize_attrs *attrs = job->node->attrs;
    double n = (double)tensor_elements(job->x) / (double)job->x->shape.dims[1];

    return attrs->is_unbiased && n > 1 ? (float)(n / (n - 1)) : 1;
}

/* The new running statistics, as many as are asked for. */
static enum assay_status update_running(const struct job *job,
                                        const struct tensor *const *inputs,
                                        const struct tensor *statistics,
                                        struct tensor *outputs,
                                        struct error *err)
{
    const struct normalize_attrs *attrs = job->node->attrs;
    const float *now = tensor_f32(statistics);
    int64_t n = statistics->shape.dims[1];
    enum assay_status st = ASSAY_OK;

    for (size_t i = 1; !st && i < job->node->n_outputs; i++) {
        const float *old =
            tensor_f32(inputs[i == 1 ? BATCH_NORM_MEAN : BATCH_NORM_VARIANCE]);
        struct shape shape = outputs[i].shape;
        float share = 1 - attrs->momentum;

        if (i == 2)
            share *= running_factor(job);
        st =
            tensor_new(job->context->pool, DTYPE_F32, &shape, &outputs[i], err);
        for (int64_t c = 0; !st && c < shape.dims[0]; c++)
            tensor_f32(&outputs[i])[c] = old[c] * attrs->momentum +
                                         now[(int64_t)(i - 1) * n + c] * share;
    }
    return st;
}

/* Where its ReLU cuts off. */
static float relu_high(const struct normalize_attrs *attrs)
{
    return attrs->relu_limit > 0 ? attrs->relu_limit : INFINITY;
}

static void write_normalized(const struct node *node, const struct batch *batch,
                             const struct tensor *affine,
                             const struct tensor *residual, float *y)
{
    const struct normalize_attrs *attrs = node->attrs;
    const float *scale = tensor_f32(affine);
    struct channel_affine by = {.scale = scale,
                                .shift = scale + affine->shape.dims[1],
                                .has_relu = attrs->has_relu,
                                .high = relu_high(attrs)};

    if (residual->buffer)
        by.plus = tensor_f32(residual);
    affine_channels(&batch->blocks, &by, batch->x, y);
}

/* The residual as x lies; without data where there is none. */
static enum assay_status bring_residual(struct onednn *dn,
                                        const struct job *job,
                                        const struct tensor *const *inputs,
                                        const struct tensor *x,
                                        struct tensor *out, struct error *err)
{
    *out = (struct tensor){0};
    if (!norm_has_residual(job->node))
        return ASSAY_OK;
    return layout_convert(dn, job->context->pool, inputs[BATCH_NORM_RESIDUAL],
                          layout_of(dn, x), out, err);
}

enum assay_status
forward_batch_norm_training(struct onednn *dn, struct job *job,
                            const struct tensor *const *inputs,
                            struct tensor *y, struct error *err)
{
    struct tensor own, statistics = {0}, affine = {0}, residual = {0};
    const struct tensor *x;
    struct batch batch = {.dy = NULL};
    enum assay_status st = get_blocked(dn, job, &own, &x, &batch.blocks, err);

    if (!st) {
        batch.x = tensor_f32(x);
        st = get_statistics(job, &batch, &statistics, err);
    }
    if (!st)
        st = norm_make_affine(job, inputs, &statistics, &affine, err);
    if (!st)
        st = update_running(job, inputs, &statistics, y, err);
    if (!st)
        st = bring_residual(dn, job, inputs, x, &residual, err);
    if (!st)
        st = reuse_or_make(dn, job, x, BATCH_NORM_X, y, err);
    if (!st)
        write_normalized(job->node, &batch, &affine, &residual, tensor_f32(y));
    tensor_release(&residual);
    tensor_release(&affine);
    tensor_release(&statistics);
    tensor_release(&own);
    return st;
}

/* ---- backward ------------------------------------------------------------ */

/* dx = dy * of_dy + x * of_x + shift */
struct combination {
    float *of_dy, *of_x, *shift; /* a number for every channel */
};

VARIANT_PART void combine_pixels(int64_t plane, int64_t block,
                                 const struct combination *by, int64_t channel,
                                 const float *x, const float *dy, float *dx)
{
    const float *of_dy = by->of_dy + channel, *of_x = by->of_x + channel;
    const float *shift = by->shift + channel;

    for (int64_t p = 0; p < plane; p++) {
        for (int64_t c = 0; c < block; c++)
            dx[p * block + c] = dy[p * block + c] * of_dy[c] +
                                x[p * block + c] * of_x[c] + shift[c];
    }
}

/* One block of channels of one image: most often of LANES, which is one
 * register. */
VARIANTS(void, combine_block,
         (const struct channel_blocks *blocks, const struct combination *by,
          int64_t channel, const float *x, const float *dy, float *dx),
         (blocks, by, channel, x, dy, dx))
{
    if (blocks->block == 1)
        combine_pixels(blocks->plane, 1, by, channel, x, dy, dx);
    else if (blocks->block == LANES)
        combine_pixels(blocks->plane, LANES, by, channel, x, dy, dx);
    else
        combine_pixels(blocks->plane, blocks->block, by, channel, x, dy, dx);
}

/* The same where dy passes a ReLU first. */
VARIANT_PART void combine_passing_pixels(const struct batch *batch,
                                         int64_t block,
                                         const struct combination *by,
                                         int64_t channel, const float *x,
                                         const float *dy, float *dx)
{
    const float *of_dy = by->of_dy + channel, *of_x = by->of_x + channel;
    const float *shift = by->shift + channel;

    for (int64_t p = 0; p < batch->blocks.plane; p++) {
        for (int64_t c = 0; c < block; c++) {
            int64_t at = p * block + c;
            float slope = batch_passes(batch, channel + c, x[at]) ? dy[at] : 0;

            dx[at] = slope * of_dy[c] + x[at] * of_x[c] + shift[c];
        }
    }
}

/* The same for blocks of LANES. */
VARIANT_PART void combine_passing_lanes(const struct batch *batch,
                                        const struct combination *by,
                                        int64_t channel, const float *x,
                                        const float *dy, float *dx)
{
    const lanes of_dy = *(const lanes *)(by->of_dy + channel);
    const lanes of_x = *(const lanes *)(by->of_x + channel);
    const lanes shift = *(const lanes *)(by->shift + channel);
    struct relu_lanes relu = relu_lanes(batch, channel);

    for (int64_t p = 0; p < batch->blocks.plane; p++) {
        lanes pixel = *(const lanes *)(x + p * LANES);
        lanes slope = *(const lanes *)(dy + p * LANES);

        relu_pass(&relu, &pixel, &slope);
        *(lanes *)(dx + p * LANES) = slope * of_dy + pixel * of_x + shift;
    }
}

VARIANTS(void, combine_passing,
         (const struct batch *batch, const struct combination *by,
          int64_t channel, const float *x, const float *dy, float *dx),
         (batch, by, channel, x, dy, dx))
{
    int64_t block = batch->blocks.block;

    if (block == 1)
        combine_passing_pixels(batch, 1, by, channel, x, dy, dx);
    else if (block == LANES)
        combine_passing_lanes(batch, by, channel, x, dy, dx);
    else
        combine_passing_pixels(batch, block, by, channel, x, dy, dx);
}

static void norm_combine(const struct batch *batch,
                         const struct combination *by, float *dx)
{
    const struct channel_blocks *blocks = &batch->blocks;
    int64_t size = blocks->plane * blocks->block;

#pragma omp parallel for
    for (int64_t i = 0; i < blocks->images * blocks->n_blocks; i++) {
        int64_t channel = i % blocks->n_blocks * blocks->block, at = i * size;

        if (batch->scale)
            combine_passing(batch, by, channel, batch->x + at, batch->dy + at,
                            dx + at);
        else
            combine_block(blocks, by, channel, batch->x + at, batch->dy + at,
                          dx + at);
    }
}

/* Of weight and bias, from the two sums. */
static enum assay_status parameter_gradients(const struct job *job,
                                             const struct op_backward *pass,
                                             const struct tensor *statistics,
                                             const float *sums,
                                             struct error *err)
{
    int64_t n = statistics->shape.dims[1];
    const float *variance = tensor_f32(statistics) + n;
    enum assay_status st = ASSAY_OK;

    for (size_t i = BATCH_NORM_WEIGHT; i <= BATCH_NORM_BIAS; i++) {
        struct tensor *d = &pass->dx[i];

        if (st || !op_wants(pass, i))
            continue;
        st = tensor_new(job->context->pool, DTYPE_F32, &pass->inputs[i]->shape,
                        d, err);
        for (int64_t c = 0; !st && c < (int64_t)tensor_elements(d); c++)
            tensor_f32(d)[c] =
                i == BATCH_NORM_BIAS
                    ? sums[c]
                    : sums[n + c] * factor_of(job->node, variance[c]);
    }
    return st;
}

/* The mean of dy over the batch is taken off, and what of it goes along with
 * x. */
static void find_combination(const struct job *job,
                             const struct op_backward *pass,
                             const struct batch *batch,
                             const struct tensor *statistics, const float *sums,
                             const struct combination *out)
{
    int64_t n = statistics->shape.dims[1];
    const float *mean = tensor_f32(statistics), *variance = mean + n;
    double count = batch_pixels(batch);

    for (int64_t c = 0; c < pass->inputs[BATCH_NORM_X]->shape.dims[1]; c++) {
        double factor = (double)factor_of(job->node, variance[c]);
        double scale =
            (double)tensor_f32(pass->inputs[BATCH_NORM_WEIGHT])[c] * factor;
        double slope = -scale * factor * factor * (double)sums[n + c] / count;

        out->of_dy[c] = (float)scale;
        out->of_x[c] = (float)slope;
        out->shift[c] =
            (float)(-scale * (double)sums[c] / count - slope * (double)mean[c]);
    }
}

struct op_reads reads_batch_norm_training(const struct node *node,
                                          uint64_t wanted)
{
    const struct normalize_attrs *attrs = node->attrs;
    struct op_reads reads = {0};

    if (wanted)
        reads.inputs = 1 << BATCH_NORM_X | 1 << BATCH_NORM_WEIGHT;
    if (wanted && attrs->has_relu && norm_has_residual(node))
        reads.outputs = 1;
    else if (wanted && attrs->has_relu)
        reads.inputs |= 1 << BATCH_NORM_BIAS;
    return reads;
}

/* A gradient and the x it belongs to, in one layout. */
struct norm_pass {
    struct batch batch;
    struct tensor own, dy, dx; /* own: of x, where it had to be brought */
    struct tensor affine;      /* of a ReLU that dy passes first */
    struct tensor y, passed;   /* the same with a residual: see struct batch */
};

static enum assay_status open_pass(struct onednn *dn, struct job *job,
                                   const struct op_backward *pass,
                                   struct norm_pass *out, struct error *err)
{
    const struct tensor *x;
    enum assay_status st;

    *out = (struct norm_pass){.dy = {0}};
    job->x = pass->inputs[BATCH_NORM_X];
    st = get_blocked(dn, job, &out->own, &x, &out->batch.blocks, err);
    if (st)
        return st;
    st = gradient_like(dn, job, pass->dy[0], layout_of(dn, x), &out->dy,
                       &out->dx, err);
    if (st)
        return st;
    out->batch.x = tensor_f32(x);
    out->batch.dy = tensor_f32(&out->dy);
    return ASSAY_OK;
}

static void close_pass(struct norm_pass *pass)
{
    tensor_release(&pass->own);
    tensor_release(&pass->dy);
    tensor_release(&pass->dx);
    tensor_release(&pass->affine);
    tensor_release(&pass->y);
    tensor_release(&pass->passed);
}

/* A ReLU after a residual: what passes it is a gradient of its own, the
 * residual's, that needs memory. It takes that of dy where it may. */
static enum assay_status set_gate(struct onednn *dn, const struct job *job,
                                  const struct op_backward *pass,
                                  struct norm_pass *norm, struct error *err)
{
    const struct layout *layout = layout_of(dn, &norm->dx);
    enum assay_status st = layout_convert(
        dn, job->context->pool, &pass->outputs[0], layout, &norm->y, err);

    if (st)
        return st;
    norm->passed = norm->dx;
    norm->dx = (struct tensor){0};
    if (op_wants(pass, BATCH_NORM_RESIDUAL))
        st = layout_tensor(job->context->pool, layout, &norm->passed.shape,
                           &norm->dx, err);
    else
        norm->dx = tensor_share(&norm->passed);
    norm->batch.y = tensor_f32(&norm->y);
    norm->batch.passed = tensor_f32(&norm->passed);
    norm->batch.high = relu_high(job->node->attrs);
    return st;
}

/* Tells the batch of the norm's ReLU, where it has one. */
static enum assay_status set_relu(struct onednn *dn, const struct job *job,
                                  const struct op_backward *pass,
                                  struct norm_pass *norm, struct error *err)
{
    const struct normalize_attrs *attrs = job->node->attrs;
    enum assay_status st;

    if (!attrs->has_relu)
        return ASSAY_OK;
    if (norm_has_residual(job->node))
        return set_gate(dn, job, pass, norm, err);
    st = norm_make_affine(job, pass->inputs, pass->saved, &norm->affine, err);
    if (st)
        return st;
    norm->batch.scale = tensor_f32(&norm->affine);
    norm->batch.shift = norm->batch.scale + norm->affine.shape.dims[1];
    norm->batch.high = relu_high(attrs);
    return ASSAY_OK;
}

/* n numbers per channel, all 0. */
static enum assay_status make_rows(const struct op_context *context, int64_t n,
                                   int64_t channels, struct tensor *out,
                                   struct error *err)
{
    struct shape shape = shape_of(2, n, channels);
    enum assay_status st =
        tensor_new(context->pool, DTYPE_F32, &shape, out, err);

    if (!st)
        memset(tensor_data(out), 0, tensor_bytes(out));
    return st;
}

/* Without a ReLU the residual's gradient is dy; shared before anybody takes
 * dy's memory. */
static void share_with_residual(const struct node *node,
                                const struct op_backward *pass)
{
    const struct normalize_attrs *attrs = node->attrs;

    if (!attrs->has_relu && op_wants(pass, BATCH_NORM_RESIDUAL))
        pass->dx[BATCH_NORM_RESIDUAL] = tensor_share(pass->dy[0]);
}

/* What passed is the gradient from here on, and the residual's. */
static void take_passed(const struct op_backward *pass, struct norm_pass *norm)
{
    if (!norm->passed.buffer)
        return;
    norm->batch.dy = norm->batch.passed;
    if (op_wants(pass, BATCH_NORM_RESIDUAL))
        pass->dx[BATCH_NORM_RESIDUAL] = tensor_share(&norm->passed);
}

enum assay_status backward_batch_norm_training(struct onednn *dn,
                                               struct job *job,
                                               const struct op_backward *pass,
                                               struct error *err)
{
    const struct tensor *statistics = pass->saved;
    struct norm_pass norm;
    struct tensor rows = {0};
    int64_t n = 0;
    enum assay_status st;

    share_with_residual(job->node, pass);
    st = open_pass(dn, job, pass, &norm, err);
    if (!st) {
        n = batch_channels(&norm.batch);
        norm.batch.mean = tensor_f32(statistics);
        st = make_rows(job->context, 5, n, &rows, err);
    }
    if (!st)
        st = set_relu(dn, job, pass, &norm, err);
    if (!st)
        st = batch_sums(job->context, &norm.batch, tensor_f32(&rows), err);
    if (!st)
        take_passed(pass, &norm);
    if (!st)
        st = parameter_gradients(job, pass, statistics, tensor_f32(&rows), err);
    if (!st && op_wants(pass, BATCH_NORM_X)) {
        struct combination by = {.of_dy = tensor_f32(&rows) + 2 * n,
                                 .of_x = tensor_f32(&rows) + 3 * n,
                                 .shift = tensor_f32(&rows) + 4 * n};

        find_combination(job, pass, &norm.batch, statistics, tensor_f32(&rows),
                         &by);
        norm_combine(&norm.batch, &by, tensor_f32(&norm.dx));
        pass->dx[BATCH_NORM_X] = tensor_share(&norm.dx);
    }
    tensor_release(&rows);
    close_pass(&norm);
    return st;
}

/* ---- with statistics that are given ---------------------------------------
 */

struct op_reads reads_batch_norm(const struct node *node, uint64_t wanted)
{
    struct op_reads reads = {0};

    (void)node;
    if (wanted)
        reads.inputs = (1 << BATCH_NORM_INPUTS) - 2;
    if (wanted & ~(uint64_t)(1 << BATCH_NORM_X))
        reads.inputs |= 1 << BATCH_NORM_X;
    return reads;
}

/* Statistics as they lie in *saved in training. */
static void copy_statistics(const struct op_backward *pass, int64_t n,
                            float *mean)
{
    for (int64_t c = 0; c < pass->inputs[BATCH_NORM_X]->shape.dims[1]; c++) {
        mean[c] = tensor_f32(pass->inputs[BATCH_NORM_MEAN])[c];
        mean[n + c] = tensor_f32(pass->inputs[BATCH_NORM_VARIANCE])[c];
    }
}

static enum assay_status to_affine(struct onednn *dn, struct job *job,
                                   const struct op_backward *pass,
                                   struct error *err)
{
    struct norm_pass norm;
    struct tensor sums = {0}, statistics = {0};
    int64_t n = 0;
    enum assay_status st = open_pass(dn, job, pass, &norm, err);

    if (!st) {
        n = batch_channels(&norm.batch);
        st = make_rows(job->context, 2, n, &statistics, err);
    }
    if (!st)
        st = make_rows(job->context, 2, n, &sums, err);
    if (!st) {
        copy_statistics(pass, n, tensor_f32(&statistics));
        norm.batch.mean = tensor_f32(&statistics);
        st = batch_sums(job->context, &norm.batch, tensor_f32(&sums), err);
    }
    if (!st)
        st =
            parameter_gradients(job, pass, &statistics, tensor_f32(&sums), err);
    tensor_release(&sums);
    tensor_release(&statistics);
    close_pass(&norm);
    return st;
}

static enum assay_status norm_to_data(struct onednn *dn, struct job *job,
                                      const struct op_backward *pass,
                                      struct error *err)
{
    struct channel_blocks blocks;
    struct tensor own, dy = {0}, affine = {0};
    const struct tensor *given;
    float shift;
    enum assay_status st;

    job->x = pass->dy[0];
    st = get_blocked(dn, job, &own, &given, &blocks, err);
    if (!st)
        st = make_rows(job->context, 2, blocks.n_blocks * blocks.block, &affine,
                       err);
    if (!st)
        st = gradient_like(dn, job, given, layout_of(dn, given), &dy,
                           &pass->dx[0], err);
    if (!st) {
        for (int64_t c = 0; c < given->shape.dims[1]; c++)
            batch_norm_affine(job->node, pass->inputs, c,
                              &tensor_f32(&affine)[c], &shift);
        affine_channels(&blocks,
                        &(struct channel_affine){.scale = tensor_f32(&affine),
                                                 .shift = tensor_f32(&affine) +
                                                          affine.shape.dims[1]},
                        tensor_f32(&dy), tensor_f32(&pass->dx[0]));
    }
    tensor_release(&affine);
    tensor_release(&dy);
    tensor_release(&own);
    return st;
}

enum assay_status backward_batch_norm(struct onednn *dn, struct job *job,
                                      const struct op_backward *pass,
                                      struct error *err)
{
    enum assay_status st = ASSAY_OK;

    if (op_wants(pass, BATCH_NORM_MEAN) || op_wants(pass, BATCH_NORM_VARIANCE))
        return own_backward(dn, job, pass, err);
    if (op_wants(pass, BATCH_NORM_WEIGHT) || op_wants(pass, BATCH_NORM_BIAS))
        st = to_affine(dn, job, pass, err);
    if (!st && op_wants(pass, BATCH_NORM_X))
        st = norm_to_data(dn, job, pass, err);
    return st;
}
