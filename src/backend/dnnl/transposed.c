/* backend/dnnl/transposed.c - ConvTranspose2d.
 *
 * Where the windows of the output do not overlap (kernel and stride are the
 * same, as in a mask head) every output pixel comes from one input pixel: a
 * 1x1 convolution makes all pixels of a window as channels, which are then laid
 * out. oneDNN's own kernel takes ten times as long for that. */
#include "backend/dnnl/dnnl_internal.h"

#include "backend/direct/direct.h"
#include "ops/convolution/conv_transpose2d.h"

#include <string.h>

const struct layout *transposed_weight(struct onednn *dn, const struct shape *w)
{
    int64_t area = w->dims[2] * w->dims[3];
    int64_t strides[] = {area, w->dims[1] * area, w->dims[3], 1};
    struct shape logical =
        shape_of(4, w->dims[1], w->dims[0], w->dims[2], w->dims[3]);

    return layout_strided(dn, &logical, strides);
}

enum assay_status transposed_kernel(struct onednn *dn, const struct job *job,
                                    const struct tensor *bias,
                                    struct kernel **out, struct error *err)
{
    const struct conv_transpose2d_attrs *attrs =
        conv_transpose2d_attrs(job->node);
    struct operation operation = {
        .kind = OPERATION_DECONVOLUTION,
        .src = layout_any(dn, &job->x->shape),
        .weights = layout_any(dn, &job->weight_layout->shape),
        .dst = layout_any(dn, &job->y)};

    *out = kernel_find(dn, job);
    if (*out)
        return ASSAY_OK;
    if (bias)
        operation.bias = layout_dense(dn, &bias->shape);
    for (int i = 0; i < 2; i++) {
        operation.stride[i] = attrs->stride[i];
        operation.before[i] = attrs->before[i];
        operation.after[i] = attrs->after[i] - attrs->more[i];
    }
    return kernel_make_kept(dn, job, &operation, out, err);
}

static enum assay_status run_transposed(struct onednn *dn, struct job *job,
                                        struct tensor *y, struct error *err)
{
    struct kernel *kernel;
    enum assay_status st;

    job->weight_layout = transposed_weight(dn, &job->weight->shape);
    st = layout_check(job->weight_layout, err);
    if (!st)
        st = transposed_kernel(dn, job, job->bias, &kernel, err);
    return st ? st : kernel_run(dn, job, kernel, y, err);
}

/* ---- windows that do not overlap ----------------------------------------- */

static bool has_windows(const struct job *job)
{
    const struct conv_transpose2d_attrs *attrs =
        conv_transpose2d_attrs(job->node);
    const int64_t *w = job->weight->shape.dims;

    for (int i = 0; i < 2; i++) {
        if (attrs->stride[i] != w[2 + i] || attrs->before[i] ||
            attrs->after[i] || attrs->more[i])
            return false;
    }
    return true;
}

/* A share of x, or a copy in blocks of channels where it has none, so that
 * pixels are moved as blocks. ASSAY_NOT_FOUND: there are none that fit. */
static enum assay_status share_blocks(struct onednn *dn, const struct job *job,
                                      struct tensor *x,
                                      struct channel_blocks *blocks,
                                      struct error *err)
{
    int64_t width = direct_lanes(), o = job->weight->shape.dims[1];
    enum assay_status st;

    if (job->x->layout) {
        *x = tensor_share(job->x);
    } else if (width && o % width == 0 && !dn->options.is_training) {
        st = layout_convert(
            dn, job->context->pool, job->x,
            layout_ordered(dn, &job->x->shape, layout_own_blocks()), x, err);
        if (st)
            return st;
    } else {
        return ASSAY_NOT_FOUND;
    }
    if (layout_blocks(x, blocks) && blocks->order != ORDER_CHANNELS_LAST &&
        blocks->block > 1 && o % blocks->block == 0)
        return ASSAY_OK;
    tensor_release(x);
    return ASSAY_NOT_FOUND;
}

static int64_t window_area(const struct job *job)
{
    return job->weight->shape.dims[2] * job->weight->shape.dims[3];
}

/* [kh*kw*o,c] of [c,o,kh,kw]. */
static enum assay_status gather_weights(const struct job *job,
                                        struct tensor *out, struct error *err)
{
    const int64_t *w = job->weight->shape.dims;
    int64_t area = window_area(job), c = w[0], o = w[1];
    struct shape shape = shape_of(2, area * o, c);
    enum assay_status st =
        tensor_new(job->context->pool, DTYPE_F32, &shape, out, err);
    const float *from = tensor_f32(job->weight);
    float *to;

    if (st)
        return st;
    to = tensor_f32(out);
    for (int64_t i = 0; i < c; i++) {
        for (int64_t k = 0; k < o * area; k++)
            to[(k % area * o + k / area) * c + i] = *from++;
    }
    return ASSAY_OK;
}

/* The bias of every pixel of a window. */
static enum assay_status repeat_bias(const struct job *job, struct tensor *out,
                                     struct error *err)
{
    int64_t o = job->bias->shape.dims[0];
    struct shape shape = shape_of(1, window_area(job) * o);
    enum assay_status st =
        tensor_new(job->context->pool, DTYPE_F32, &shape, out, err);

    for (int64_t i = 0; !st && i < shape.dims[0]; i++)
        tensor_f32(out)[i] = tensor_f32(job->bias)[i % o];
    return st;
}

/* Few images at a time, so that what is laid out is still in the cache. */
static struct part choose_part(const struct job *job)
{
    static const size_t cached_bytes = 4 << 20;
    size_t elements = 1;
    int64_t images, n = job->y.dims[0];

    for (int i = 1; i < 4; i++)
        elements *= (size_t)job->y.dims[i];
    images = (int64_t)(cached_bytes / (elements * sizeof(float)));
    images = images < 1 ? 1 : images;
    return (struct part){images < n ? images : n, job->y.dims[2]};
}

static enum assay_status make_windows(struct onednn *dn, const struct job *job,
                                      struct kernel **out, struct error *err)
{
    struct part part = choose_part(job);
    const int64_t *x = job->x->shape.dims, *w = job->weight->shape.dims;
    struct shape in = shape_of(4, part.images, x[1], x[2], x[3]);
    struct shape channels =
        shape_of(4, part.images, window_area(job) * w[1], x[2], x[3]);
    struct shape kernel =
        shape_of(4, channels.dims[1], x[1], (int64_t)1, (int64_t)1);
    const struct layout *layout = layout_of(dn, job->x);
    struct operation operation = {.kind = OPERATION_CONVOLUTION,
                                  .src = layout_like(dn, layout, &in),
                                  .weights = layout_any(dn, &kernel),
                                  .dst = layout_like(dn, layout, &channels),
                                  .stride = {1, 1}};
    const struct layout *dst = layout_like(dn, layout, &job->y);
    enum assay_status st = ASSAY_OK;

    if (job->bias)
        operation.bias = layout_dense(dn, &job->bias->shape);
    if (!dst || !operation.src || !operation.dst)
        st = error_set(err, ASSAY_UNSUPPORTED, "a map has no channels");
    else
        st = layout_check(dst, err);
    if (!st)
        st = kernel_make(dn, job, &operation, NULL, out, err);
    if (st)
        return st;
    (*out)->part = part;
    (*out)->src = layout;
    (*out)->dst = dst;
    return ASSAY_OK;
}

/* The pixels of every window, from channels to their places. */
static void lay_out(const struct job *job, const struct channel_blocks *blocks,
                    int64_t images, const float *from, float *to)
{
    const int64_t *x = job->x->shape.dims, *w = job->weight->shape.dims;
    int64_t n = w[1] / blocks->block, area = window_area(job);
    size_t pixel = (size_t)blocks->block * sizeof *to;

#pragma omp parallel for
    for (int64_t i = 0; i < images * n * area * x[2]; i++) {
        int64_t row = i % x[2], at = i / x[2] % area;
        int64_t block = i / x[2] / area % n, image = i / x[2] / area / n;
        const float *in =
            from + (((image * area + at) * n + block) * x[2] + row) * x[3] *
                       blocks->block;
        float *out = to +
                     (((image * n + block) * x[2] + row) * w[2] + at / w[3]) *
                         x[3] * w[3] * blocks->block +
                     at % w[3] * blocks->block;

        for (int64_t k = 0; k < x[3]; k++)
            memcpy(out + k * w[3] * blocks->block, in + k * blocks->block,
                   pixel);
    }
}

static enum assay_status run_parts(struct onednn *dn, const struct job *job,
                                   const struct channel_blocks *blocks,
                                   const struct kernel *kernel,
                                   const struct tensor *y, struct error *err)
{
    int64_t n = job->y.dims[0], each = kernel->part.images;
    size_t src = kernel->src->bytes / (size_t)n;
    size_t dst = kernel->dst->bytes / (size_t)n;
    struct buffer *channels = NULL, *held;
    struct operands operands;
    enum assay_status st =
        packed_get(dn, job, kernel, &held, &operands.weights, err);

    if (!st)
        st = pool_take_scratch(job->context->pool, kernel->part_dst->bytes,
                               "the windows of a map", &channels, err);
    for (int64_t i = 0; !st && i < n; i += each) {
        size_t first = (size_t)(i + each <= n ? i : n - each);

        operands.src = (char *)tensor_data(job->x) + first * src;
        operands.dst = buffer_data(channels);
        st = kernel_execute(dn, job, kernel, &operands, err);
        if (!st)
            lay_out(job, blocks, each, buffer_data(channels),
                    tensor_f32(y) + first * dst / sizeof(float));
    }
    buffer_release(channels);
    buffer_release(held);
    return st;
}

static enum assay_status run_windows(struct onednn *dn, struct job *job,
                                     const struct channel_blocks *blocks,
                                     struct tensor *y, struct error *err)
{
    int64_t c = job->weight->shape.dims[0];
    struct shape w = shape_of(4, window_area(job) * job->y.dims[1], c,
                              (int64_t)1, (int64_t)1);
    struct kernel *kernel = kernel_find(dn, job);
    struct tensor bias = {0};
    enum assay_status st = ASSAY_OK;

    job->weight_layout = layout_dense(dn, &w);
    job->prepare = gather_weights;
    if (job->bias) {
        st = repeat_bias(job, &bias, err);
        job->bias = &bias;
    }
    if (!st && !kernel) {
        st = make_windows(dn, job, &kernel, err);
        if (!st)
            kernel_keep(dn, job, kernel);
    }
    if (!st)
        st = layout_tensor(job->context->pool, kernel->dst, &job->y, y, err);
    if (!st)
        st = run_parts(dn, job, blocks, kernel, y, err);
    tensor_release(&bias);
    return st;
}

enum assay_status forward_conv_transpose2d(struct onednn *dn, struct job *job,
                                           const struct tensor *const *inputs,
                                           struct tensor *y, struct error *err)
{
    struct channel_blocks blocks;
    enum assay_status st = ASSAY_NOT_FOUND;
    struct tensor x;

    job->weight = inputs[CONV_TRANSPOSE2D_WEIGHT];
    job->weight_value = job->node->inputs[CONV_TRANSPOSE2D_WEIGHT];
    job->bias = inputs[CONV_TRANSPOSE2D_BIAS];
    job->has_relu = conv_transpose2d_attrs(job->node)->has_relu;
    if (has_windows(job))
        st = share_blocks(dn, job, &x, &blocks, err);
    if (st == ASSAY_NOT_FOUND)
        return run_transposed(dn, job, y, err);
    if (st)
        return st;
    job->x = &x;
    st = run_windows(dn, job, &blocks, y, err);
    tensor_release(&x);
    return st;
}
