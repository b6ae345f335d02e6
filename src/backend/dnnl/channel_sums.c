/* backend/dnnl/channel_sums.c - see channel_sums.h.
 *
 * Sums are taken in pieces that stay in the cache, those of an image's
 * channels by one thread and then image after image, so that they do not
 * depend on how many threads there are. */
#include "backend/dnnl/channel_sums.h"

#include "base/variants.h"

#include <string.h>

/* Pixels of a piece; sums that run beside each other, so that none waits for
 * the last addition. */
enum { piece = 256, strands = 4 };

/* Some channels of one image, `stride` elements from pixel to pixel. */
struct columns {
    const struct batch *batch;
    int64_t channel; /* the first one */
    const float *x, *dy, *y;
    float *passed;
    int64_t stride, plane;
    int width; /* channels, at most LANES */
};

/* Two sums per channel: of x its mean and the squares around it; of a gradient
 * its sum and that of its products with x around the mean. */
struct sums {
    double first[LANES], second[LANES];
};

/* A pixel's channels, 0 after the last one. */
VARIANT_PART void load(const float *from, int width, lanes *to)
{
    if (width == LANES) {
        *to = *(const lanes *)from;
        return;
    }
    *to = (lanes){0};
    for (int c = 0; c < width; c++)
        (*to)[c] = from[c];
}

VARIANT_PART void add_strands(lanes *strand)
{
    for (int k = 1; k < strands; k++)
        strand[0] += strand[k];
}

/* ---- moments of x -------------------------------------------------------- */

/* Some pixels, a strand each. */
VARIANT_PART void add_pixels(const struct columns *columns, int64_t first,
                             int n, lanes *sum)
{
    lanes pixel;

    for (int k = 0; k < n; k++) {
        load(columns->x + (first + k) * columns->stride, columns->width,
             &pixel);
        sum[k] += pixel;
    }
}

VARIANT_PART void add_squares(const struct columns *columns, const lanes *mean,
                              int64_t first, int n, lanes *sum)
{
    lanes pixel;

    for (int k = 0; k < n; k++) {
        load(columns->x + (first + k) * columns->stride, columns->width,
             &pixel);
        pixel -= *mean;
        sum[k] += pixel * pixel;
    }
}

/* The mean of n pixels and the squares around it. */
VARIANTS(void, piece_moments,
         (const struct columns *columns, int64_t first, int64_t n, lanes *mean,
          lanes *squares),
         (columns, first, n, mean, squares))
{
    lanes sum[strands] = {{0}}, square[strands] = {{0}};
    int64_t i, end = first + n;

    for (i = first; i + strands <= end; i += strands)
        add_pixels(columns, i, strands, sum);
    for (; i < end; i++)
        add_pixels(columns, i, 1, sum);
    add_strands(sum);
    *mean = sum[0] / (float)n;
    for (i = first; i + strands <= end; i += strands)
        add_squares(columns, mean, i, strands, square);
    for (; i < end; i++)
        add_squares(columns, mean, i, 1, square);
    add_strands(square);
    *squares = square[0];
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
        lanes of_piece, squares;

        piece_moments(columns, i, n, &of_piece, &squares);
        for (int c = 0; c < columns->width; c++)
            merge(sums, c, (double)i, (double)n, (double)of_piece[c],
                  (double)squares[c]);
    }
}

/* ---- a gradient and its products with x -----------------------------------
 */

/* What passes a ReLU, channel by channel: for the few blocks that are not of
 * 16. */
static void pass_few(const struct columns *columns, int64_t at, lanes *slope)
{
    for (int c = 0; c < columns->width; c++) {
        if (!batch_passes(columns->batch, columns->channel + c,
                          columns->x[at + c]))
            (*slope)[c] = 0;
    }
}

VARIANT_PART void add_products(const struct columns *columns, const lanes *mean,
                               const struct relu_lanes *relu, int64_t first,
                               int n, lanes *sum, lanes *product)
{
    lanes pixel, slope;

    for (int k = 0; k < n; k++) {
        int64_t at = (first + k) * columns->stride;

        load(columns->x + at, columns->width, &pixel);
        load(columns->dy + at, columns->width, &slope);
        if (relu)
            relu_pass(relu, &pixel, &slope);
        else if (columns->batch->scale)
            pass_few(columns, at, &slope);
        sum[k] += slope;
        product[k] += slope * (pixel - *mean);
    }
}

VARIANT_PART void sum_piece(const struct columns *columns, const float *mean,
                            const struct relu_lanes *relu, int64_t first,
                            int64_t n, lanes *sum, lanes *product)
{
    lanes s[strands] = {{0}}, p[strands] = {{0}}, m;
    int64_t i, end = first + n;

    load(mean, columns->width, &m);
    for (i = first; i + strands <= end; i += strands)
        add_products(columns, &m, relu, i, strands, s, p);
    for (; i < end; i++)
        add_products(columns, &m, relu, i, 1, s, p);
    add_strands(s);
    add_strands(p);
    *sum = s[0];
    *product = p[0];
}

VARIANTS(void, piece_products,
         (const struct columns *columns, const float *mean, int64_t first,
          int64_t n, lanes *sum, lanes *product),
         (columns, mean, first, n, sum, product))
{
    if (columns->batch->scale && columns->width == LANES) {
        struct relu_lanes relu = relu_lanes(columns->batch, columns->channel);

        sum_piece(columns, mean, &relu, first, n, sum, product);
    } else {
        sum_piece(columns, mean, NULL, first, n, sum, product);
    }
}

/* Writes what passes of n pixels, to be read again while it is in the cache. */
static void pass_piece(const struct columns *columns, int64_t first, int64_t n)
{
    bool is_dense = columns->stride == columns->width;
    int64_t n_runs = is_dense ? 1 : n;
    int64_t run = is_dense ? n * columns->width : columns->width;

    for (int64_t i = 0; i < n_runs; i++) {
        int64_t at = (first + i) * columns->stride;

        pass_between(columns->dy + at, columns->y + at, 0, columns->batch->high,
                     columns->passed + at, (size_t)run);
    }
}

static void sum_products(const struct columns *columns, const float *mean,
                         struct sums *sums)
{
    struct columns of_passed = *columns;

    if (columns->passed)
        of_passed.dy = columns->passed;
    for (int64_t i = 0; i < columns->plane; i += piece) {
        int64_t n = columns->plane - i < piece ? columns->plane - i : piece;
        lanes sum, product;

        if (columns->passed)
            pass_piece(columns, i, n);
        piece_products(&of_passed, mean, i, n, &sum, &product);
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
    struct columns columns = {.batch = batch,
                              .channel = channel,
                              .x = batch->x + at,
                              .dy = batch->dy ? batch->dy + at : NULL,
                              .y = batch->y ? batch->y + at : NULL,
                              .passed = batch->y ? batch->passed + at : NULL,
                              .stride = blocks->block,
                              .plane = blocks->plane,
                              .width = left < LANES ? (int)left : LANES};

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
    int64_t step = blocks->block < LANES ? blocks->block : LANES;
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
