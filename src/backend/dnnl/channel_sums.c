/* backend/dnnl/channel_sums.c - see channel_sums.h.
 *
 * Sums are taken in pieces that stay in the cache, those of an image's
 * channels by one thread and then image after image, so that they do not
 * depend on how many threads there are. */
#include "backend/dnnl/channel_sums.h"

#include "ops/op_threads.h"

#include <string.h>

/* Channels side by side in a register; pixels of a piece. */
enum { lanes = 16, piece = 256 };

/* Some channels of one image, `stride` elements from pixel to pixel. */
struct columns {
    const float *x, *dy;
    int64_t stride, plane;
    int width; /* channels, at most `lanes` */
};

/* Two sums a channel: of x its mean and the squares around it; of a gradient
 * its sum and that of its products with x around the mean. */
struct sums {
    double first[lanes], second[lanes];
};

/* A pixel's channels, 0 behind the last one. */
static inline void load(const float *from, int width, float *to)
{
    if (width == lanes) {
        memcpy(to, from, lanes * sizeof *to);
        return;
    }
    for (int c = 0; c < lanes; c++)
        to[c] = c < width ? from[c] : 0;
}

/* The mean of n pixels and the squares around it. */
OP_CLONES static void piece_moments(const struct columns *columns,
                                    int64_t first, int64_t n, float *mean,
                                    float *squares)
{
    const float *x = columns->x + first * columns->stride;
    float sum[lanes] = {0}, square[lanes] = {0}, pixel[lanes];

    for (int64_t i = 0; i < n; i++) {
        load(x + i * columns->stride, columns->width, pixel);
        for (int c = 0; c < lanes; c++)
            sum[c] += pixel[c];
    }
    for (int c = 0; c < lanes; c++)
        mean[c] = sum[c] / (float)n;
    for (int64_t i = 0; i < n; i++) {
        load(x + i * columns->stride, columns->width, pixel);
        for (int c = 0; c < lanes; c++)
            square[c] += (pixel[c] - mean[c]) * (pixel[c] - mean[c]);
    }
    memcpy(squares, square, sizeof square);
}

/* Adds the moments of n more to those of `before`: after Chan, Golub and
 * LeVeque, "Updating formulae and a pairwise algorithm" (1979). */
static void merge(struct sums *sums, int c, double before, double n,
                  double mean, double squares)
{
    double delta = mean - sums->first[c];

    sums->first[c] += delta * n / (before + n);
    sums->second[c] += squares + delta * delta * before * n / (before + n);
}

static void sum_moments(const struct columns *columns, struct sums *sums)
{
    for (int64_t i = 0; i < columns->plane; i += piece) {
        int64_t n = columns->plane - i < piece ? columns->plane - i : piece;
        float of_piece[lanes], squares[lanes];

        piece_moments(columns, i, n, of_piece, squares);
        for (int c = 0; c < columns->width; c++)
            merge(sums, c, (double)i, (double)n, (double)of_piece[c],
                  (double)squares[c]);
    }
}

OP_CLONES static void piece_products(const struct columns *columns,
                                     const float *mean, int64_t first,
                                     int64_t n, float *sum, float *product)
{
    const float *x = columns->x + first * columns->stride;
    const float *dy = columns->dy + first * columns->stride;
    float s[lanes] = {0}, p[lanes] = {0}, m[lanes], pixel[lanes], slope[lanes];

    load(mean, columns->width, m);
    for (int64_t i = 0; i < n; i++) {
        load(x + i * columns->stride, columns->width, pixel);
        load(dy + i * columns->stride, columns->width, slope);
        for (int c = 0; c < lanes; c++) {
            s[c] += slope[c];
            p[c] += slope[c] * (pixel[c] - m[c]);
        }
    }
    memcpy(sum, s, sizeof s);
    memcpy(product, p, sizeof p);
}

static void sum_products(const struct columns *columns, const float *mean,
                         struct sums *sums)
{
    for (int64_t i = 0; i < columns->plane; i += piece) {
        int64_t n = columns->plane - i < piece ? columns->plane - i : piece;
        float sum[lanes], product[lanes];

        piece_products(columns, mean, i, n, sum, product);
        for (int c = 0; c < columns->width; c++) {
            sums->first[c] += (double)sum[c];
            sums->second[c] += (double)product[c];
        }
    }
}

/* ---- over a whole batch -------------------------------------------------- */

static void sum_columns(const struct batch *batch, int64_t image,
                        int64_t channel, struct sums *sums)
{
    const struct channel_blocks *blocks = &batch->blocks;
    int64_t left = blocks->block - channel % blocks->block;
    int64_t at = (image * blocks->n_blocks + channel / blocks->block) *
                     blocks->plane * blocks->block +
                 channel % blocks->block;
    struct columns columns = {.x = batch->x + at,
                              .dy = batch->dy ? batch->dy + at : NULL,
                              .stride = blocks->block,
                              .plane = blocks->plane,
                              .width = left < lanes ? (int)left : lanes};

    memset(sums, 0, sizeof *sums);
    if (batch->dy)
        sum_products(&columns, batch->mean + channel, sums);
    else
        sum_moments(&columns, sums);
}

static void add_image(const struct batch *batch, int64_t image, int c,
                      const struct sums *of_image, struct sums *sums)
{
    double plane = (double)batch->blocks.plane;

    if (!batch->dy) {
        merge(sums, c, (double)image * plane, plane, of_image->first[c],
              of_image->second[c]);
    } else {
        sums->first[c] += of_image->first[c];
        sums->second[c] += of_image->second[c];
    }
}

enum assay_status batch_sums(const struct op_context *context,
                             const struct batch *batch, float *out,
                             struct error *err)
{
    const struct channel_blocks *blocks = &batch->blocks;
    int64_t step = blocks->block < lanes ? blocks->block : lanes;
    int64_t n = batch_channels(batch), each = (n + step - 1) / step;
    struct buffer *memory;
    struct sums *parts;
    enum assay_status st = pool_take_scratch(
        context->pool, (size_t)(each * blocks->images) * sizeof *parts,
        "the sums of a norm", &memory, err);

    if (st)
        return st;
    parts = buffer_data(memory);
#pragma omp parallel for
    for (int64_t i = 0; i < each * blocks->images; i++)
        sum_columns(batch, i / each, i % each * step, &parts[i]);
    for (int64_t i = 0; i < n; i++) {
        int c = (int)(i % step);
        struct sums all = {{0}, {0}};

        for (int64_t image = 0; image < blocks->images; image++)
            add_image(batch, image, c, &parts[image * each + i / step], &all);
        out[i] = (float)all.first[c];
        out[n + i] = (float)all.second[c];
    }
    buffer_release(memory);
    return ASSAY_OK;
}
