/* backend/dnnl/parts.c - large maps, a part after the other.
 *
 * Winograd's scratch memory grows with the maps: for 256 channels of 200x200
 * it is 190 MiB, more than all else that is live then. Some images at a time,
 * or a band of rows, need less, and what lies between the transforms stays in
 * the cache. The last part reaches back over the one before, so that one
 * primitive serves all. */
#include "backend/dnnl/dnnl_internal.h"

#include "ops/convolution/conv2d.h"

#include <string.h>

static const size_t default_scratch_bytes = 40 << 20;

/* Bands of whole tiles. */
enum { tile_rows = 4, max_attempts = 12, more_attempts = 3 };

size_t parts_limit(const struct onednn *dn)
{
    return dn->options.scratch_bytes ? dn->options.scratch_bytes
                                     : default_scratch_bytes;
}

static size_t scratch_bytes(const struct kernel *kernel)
{
    return layout_bytes(kernel->scratch);
}

static int64_t parts_ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Rows that a band has more of than are made from it, in what is read; on the
 * way back in what is written, too: those at its edges are not complete. */
static int64_t rows_around(const struct job *job)
{
    return job->weight->shape.dims[2] - 1;
}

/* About an n-th of the output: whole images where there are as many. */
static struct part nth_part(const struct job *job, int64_t n)
{
    int64_t images = job->y.dims[0], rows = job->y.dims[2];

    if (n <= images)
        return (struct part){parts_ceil_div(images, n), rows};
    rows =
        parts_ceil_div(parts_ceil_div(rows * images, n), tile_rows) * tile_rows;
    if (job->direction == DIRECTION_DATA && rows > rows_around(job))
        rows -= rows_around(job);
    return (struct part){1, rows < job->y.dims[2] ? rows : job->y.dims[2]};
}

static bool is_smallest(const struct shape *y, struct part part)
{
    return part.images == 1 &&
           (part.rows <= tile_rows || y->dims[2] <= tile_rows);
}

/* A sum would be added twice where parts overlap. A gradient of weights is one
 * sum over all images, so each of them must be in one part. Bands need rows
 * that follow each other, and on the way back as many in as out: Winograd knows
 * no other padding. */
static bool can_divide(const struct job *job, struct part part)
{
    const struct conv2d_attrs *attrs = conv2d_attrs(job->node);

    if (job->residual || attrs->groups > 1)
        return false;
    if (job->direction == DIRECTION_WEIGHTS)
        return part.rows == job->y.dims[2] && job->y.dims[0] % part.images == 0;
    return part.rows == job->y.dims[2] ||
           (attrs->stride[0] == 1 && attrs->dilation[0] == 1 &&
            (job->direction == DIRECTION_FORWARD ||
             attrs->before[0] + attrs->after[0] == rows_around(job)));
}

static enum assay_status make_whole(struct onednn *dn, const struct job *job,
                                    const struct variant *variant,
                                    struct kernel **out, struct error *err)
{
    struct operation operation;

    if (!variant->describe(dn, job, &operation))
        return error_set(err, ASSAY_UNSUPPORTED, "a map has no channels");
    operation.algorithm = variant->algorithm;
    return kernel_make(dn, job, &operation, variant->implementation, out, err);
}

/* NULL in *out where the layouts have no name. */
static enum assay_status make_part(struct onednn *dn, const struct job *job,
                                   struct part part,
                                   const struct variant *variant,
                                   struct kernel **out, struct error *err)
{
    struct tensor x = *job->x;
    struct job smaller = *job;
    struct kernel *kernel;
    enum assay_status st;

    *out = NULL;
    smaller.x = &x;
    smaller.is_band = part.rows < job->y.dims[2];
    x.shape.dims[0] = smaller.y.dims[0] = part.images;
    if (smaller.is_band) {
        smaller.y.dims[2] = part.rows;
        x.shape.dims[2] = part.rows + rows_around(job);
        if (job->direction == DIRECTION_DATA)
            smaller.y.dims[2] = x.shape.dims[2];
    }
    st = make_whole(dn, &smaller, variant, &kernel, err);
    if (st)
        return st;
    kernel->x = job->x->shape;
    kernel->y = job->y;
    kernel->part = part;
    kernel->src = layout_like(dn, kernel->part_src, &job->x->shape);
    kernel->dst = layout_like(dn, kernel->part_dst, &job->y);
    st = layout_check(kernel->src, err);
    if (!st)
        st = layout_check(kernel->dst, err);
    if (!st && kernel->src && kernel->dst)
        *out = kernel;
    else
        kernel_free(kernel);
    return st;
}

/* What is made twice where the last part reaches back, of the output. */
static int64_t overlap(const struct shape *y, struct part part)
{
    int64_t images, rows;

    if (!part.images)
        return 0;
    images = parts_ceil_div(y->dims[0], part.images) * part.images;
    rows = parts_ceil_div(y->dims[2], part.rows) * part.rows;
    return images * rows - y->dims[0] * y->dims[2];
}

static bool is_better(const struct job *job, size_t most,
                      const struct kernel *kernel, const struct kernel *best)
{
    if (scratch_bytes(best) > most)
        return scratch_bytes(kernel) < scratch_bytes(best);
    return scratch_bytes(kernel) <= most &&
           overlap(&job->y, kernel->part) < overlap(&job->y, best->part);
}

/* The least overlap, among the first few parts that are small enough; where
 * none is, the smallest. */
static void divide(struct onednn *dn, const struct job *job, size_t most,
                   const struct variant *variant, struct kernel **best)
{
    int64_t n = (int64_t)(scratch_bytes(*best) / most) + 1;
    int attempts = max_attempts;

    if (job->direction == DIRECTION_WEIGHTS && n > job->y.dims[0])
        n = job->y.dims[0];
    while (attempts-- > 0) {
        struct part part = nth_part(job, n++);
        struct kernel *kernel;

        if (!can_divide(job, part) ||
            make_part(dn, job, part, variant, &kernel, NULL) || !kernel)
            return;
        if (is_better(job, most, kernel, *best)) {
            struct kernel *worse = *best;

            *best = kernel;
            kernel = worse;
        }
        kernel_free(kernel);
        if (is_smallest(&job->y, part))
            return;
        if (scratch_bytes(*best) > most)
            continue;
        if (!overlap(&job->y, (*best)->part))
            return;
        attempts = attempts < more_attempts ? attempts : more_attempts;
    }
}

enum assay_status parts_make(struct onednn *dn, const struct job *job,
                             const struct variant *variant, struct kernel **out,
                             struct error *err)
{
    enum assay_status st = make_whole(dn, job, variant, out, err);
    size_t most = parts_limit(dn);

    if (!st && scratch_bytes(*out) > most && !dn->narrow)
        divide(dn, job, most, variant, out);
    return st;
}

/* ---- gradients of weights ------------------------------------------------ */

/* The next part's share goes into memory of its own, and is added there. */
struct share {
    struct buffer *memory;
    float *weights;
    struct tensor bias;
};

static enum assay_status share_take(const struct job *job,
                                    const struct kernel *kernel,
                                    struct share *share, struct error *err)
{
    struct pool *pool = job->context->pool;
    enum assay_status st =
        pool_take_scratch(pool, kernel->weights->bytes,
                          "a part's gradient of weights", &share->memory, err);

    if (!st && job->bias_gradient)
        st = tensor_new(pool, DTYPE_F32, &job->bias_gradient->shape,
                        &share->bias, err);
    if (!st)
        share->weights = buffer_data(share->memory);
    return st;
}

static void share_release(struct share *share)
{
    buffer_release(share->memory);
    tensor_release(&share->bias);
}

static void share_add(const struct job *job, const struct kernel *kernel,
                      const struct share *share, float *weights)
{
    int64_t n = (int64_t)(kernel->weights->bytes / sizeof *weights);

#pragma omp parallel for
    for (int64_t i = 0; i < n; i++)
        weights[i] += share->weights[i];
    if (!job->bias_gradient)
        return;
    for (size_t i = 0; i < tensor_elements(&share->bias); i++)
        tensor_f32(job->bias_gradient)[i] += tensor_f32(&share->bias)[i];
}

enum assay_status parts_run_to_weights(struct onednn *dn, const struct job *job,
                                       const struct kernel *kernel,
                                       const struct operands *whole,
                                       struct error *err)
{
    int64_t n = job->y.dims[0], each = kernel->part.images;
    struct operands operands = *whole;
    struct share share = {0};
    struct job next = *job;
    enum assay_status st = share_take(job, kernel, &share, err);

    for (int64_t i = 0; !st && i < n; i += each) {
        size_t first = (size_t)i;

        operands.src =
            (char *)whole->src + first * (kernel->src->bytes / (size_t)n);
        operands.dst =
            (char *)whole->dst + first * (kernel->dst->bytes / (size_t)n);
        st = kernel_execute(dn, &next, kernel, &operands, err);
        if (!st && i > 0)
            share_add(job, kernel, &share, whole->weights);
        operands.weights = share.weights;
        if (job->bias_gradient)
            next.bias_gradient = &share.bias;
    }
    share_release(&share);
    return st;
}

/* ---- bands --------------------------------------------------------------- */

/* The rows of one image that a band is made from, zeros beyond its edges. */
static void cut_band(const struct channel_blocks *blocks,
                     const struct layout *band, int64_t width, int64_t top,
                     const float *image, float *to)
{
    int64_t line = width * blocks->block, rows = band->shape.dims[2];
    int64_t height = blocks->plane / width;

#pragma omp parallel for collapse(2)
    for (int64_t b = 0; b < blocks->n_blocks; b++) {
        for (int64_t i = 0; i < rows; i++) {
            float *row = to + (b * rows + i) * line;

            if (top + i < 0 || top + i >= height)
                memset(row, 0, (size_t)line * sizeof *row);
            else
                memcpy(row, image + (b * height + top + i) * line,
                       (size_t)line * sizeof *row);
        }
    }
}

/* What is complete of a band: the rows after the first `skipped`. */
static void place_band(const struct channel_blocks *blocks,
                       const struct kernel *kernel, int64_t top,
                       int64_t skipped, const float *from, float *image)
{
    const int64_t *band = kernel->part_dst->shape.dims;
    int64_t line = band[3] * blocks->block;
    int64_t height = blocks->plane / band[3];

#pragma omp parallel for
    for (int64_t b = 0; b < blocks->n_blocks; b++)
        memcpy(image + (b * height + top) * line,
               from + (b * band[2] + skipped) * line,
               (size_t)(kernel->part.rows * line) * sizeof *image);
}

/* Of what is read, above the first row of what is made. */
static int64_t rows_before(const struct job *job)
{
    int64_t before = conv2d_attrs(job->node)->before[0];

    return job->direction == DIRECTION_DATA ? rows_around(job) - before
                                            : before;
}

/* One image, band by band. */
static enum assay_status
run_bands(struct onednn *dn, const struct job *job, const struct kernel *kernel,
          const struct operands *operands, const struct tensor *x,
          const struct tensor *y, int64_t image, struct error *err)
{
    int64_t height = job->y.dims[2], rows = kernel->part.rows;
    int64_t before = rows_before(job);
    int64_t skipped = job->direction == DIRECTION_DATA ? before : 0;
    struct channel_blocks from, to;
    enum assay_status st = ASSAY_OK;

    if (!layout_blocks(x, &from) || !layout_blocks(y, &to))
        return error_set(err, ASSAY_UNSUPPORTED, "a map has no channels");
    for (int64_t i = 0; !st && i < height; i += rows) {
        int64_t top = i + rows <= height ? i : height - rows;

        cut_band(&from, kernel->part_src, x->shape.dims[3], top - before,
                 tensor_f32(x) +
                     image * from.n_blocks * from.plane * from.block,
                 operands->src);
        st = kernel_execute(dn, job, kernel, operands, err);
        if (!st)
            place_band(&to, kernel, top, skipped, operands->dst,
                       tensor_f32(y) +
                           image * to.n_blocks * to.plane * to.block);
    }
    return st;
}

static enum assay_status run_images(struct onednn *dn, const struct job *job,
                                    const struct kernel *kernel, void *weights,
                                    const struct tensor *x,
                                    const struct tensor *y, struct error *err)
{
    int64_t n = job->y.dims[0], each = kernel->part.images;
    size_t src = kernel->src->bytes / (size_t)n;
    size_t dst = kernel->dst->bytes / (size_t)n;
    enum assay_status st = ASSAY_OK;

    for (int64_t i = 0; !st && i < n; i += each) {
        size_t first = (size_t)(i + each <= n ? i : n - each);

        struct operands operands = {.src = (char *)tensor_data(x) + first * src,
                                    .weights = weights,
                                    .dst =
                                        (char *)tensor_data(y) + first * dst};

        st = kernel_execute(dn, job, kernel, &operands, err);
    }
    return st;
}

enum assay_status parts_run(struct onednn *dn, const struct job *job,
                            const struct kernel *kernel, void *weights,
                            const struct tensor *x, const struct tensor *y,
                            struct error *err)
{
    size_t src_bytes = kernel->part_src->bytes;
    struct operands operands = {.weights = weights};
    struct buffer *memory;
    enum assay_status st;

    if (kernel->part.rows == job->y.dims[2])
        return run_images(dn, job, kernel, weights, x, y, err);
    st = pool_take_scratch(job->context->pool,
                           src_bytes + kernel->part_dst->bytes,
                           "a band of a map", &memory, err);
    if (st)
        return st;
    operands.src = buffer_data(memory);
    operands.dst = (char *)operands.src + src_bytes;
    for (int64_t i = 0; !st && i < job->y.dims[0]; i++)
        st = run_bands(dn, job, kernel, &operands, x, y, i, err);
    buffer_release(memory);
    return st;
}
