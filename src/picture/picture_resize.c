/* picture/picture_resize.c - see picture_resize.h.
 *
 * Rows first, then columns, each with fixed-point weights and 8-bit results:
 * Pillow's arithmetic, bit for bit, because torchvision preprocesses with
 * Pillow. */
#include "picture/picture_resize.h"

#include "base/mem.h"
#include "base/variants.h"

#include <math.h>
#include <string.h>

enum { weight_bits = 22 }; /* plus 8 of the pixel and 2 spare make 32 */

/* The pixels that make up one new pixel, along a side. */
struct taps {
    int first, n;
};

/* All new pixels along a side, with `room` weights each. */
struct resize_side {
    struct taps *taps;
    int32_t *weights;
    int n, room;
};

static void side_release(struct resize_side *side)
{
    mem_free(side->taps);
    mem_free(side->weights);
}

static enum assay_status side_init(struct resize_side *side, int to,
                                   double reach, struct error *err)
{
    size_t n;

    side->n = to;
    side->room = 2 * (int)ceil(reach) + 1;
    if (!mem_mul((size_t)to, (size_t)side->room, &n))
        return error_nomem(err, SIZE_MAX, "the weights of a resizing");
    side->taps = mem_array((size_t)to, sizeof *side->taps);
    side->weights = mem_array(n, sizeof *side->weights);
    if (side->taps && side->weights)
        return ASSAY_OK;
    return error_nomem(err, n * sizeof *side->weights,
                       "the weights of a resizing");
}

/* A triangle over the pixels around the centre; the sum is 1. */
static void picture_resize_weigh(struct resize_side *side, int at,
                                 double centre, double reach, int size)
{
    int32_t *weights = side->weights + (size_t)at * (size_t)side->room;
    int first = (int)(centre - reach + 0.5), end = (int)(centre + reach + 0.5);
    double sum = 0;

    first = first < 0 ? 0 : first;
    end = end > size ? size : end;
    side->taps[at] = (struct taps){.first = first, .n = end - first};
    for (int i = first; i < end; i++) {
        double off = fabs((i - centre + 0.5) / reach);

        sum += off < 1 ? 1 - off : 0;
    }
    for (int i = first; i < end; i++) {
        double off = fabs((i - centre + 0.5) / reach);
        double weight = off < 1 ? (1 - off) / sum : 0;

        weights[i - first] = (int32_t)(weight * (1 << weight_bits) + 0.5);
    }
}

static enum assay_status picture_resize_make_side(struct resize_side *side,
                                                  int from, int to,
                                                  enum resize_filter filter,
                                                  struct error *err)
{
    double scale = (double)from / to;
    double reach = filter == RESIZE_AREA && scale > 1 ? scale : 1;
    enum assay_status st = side_init(side, to, reach, err);

    for (int i = 0; !st && i < to; i++)
        picture_resize_weigh(side, i, (i + 0.5) * scale, reach, from);
    return st;
}

static const int32_t *weights_of(const struct resize_side *side, int at)
{
    return side->weights + (size_t)at * (size_t)side->room;
}

static const int32_t half = 1 << (weight_bits - 1);

static uint8_t picture_resize_to_byte(int32_t sum)
{
    int32_t value = sum >> weight_bits;

    return (uint8_t)(value > 255 ? 255 : value);
}

/* A pixel and the byte after it, to fill a register. */
typedef int32_t lanes __attribute__((vector_size(16)));

VARIANT_PART lanes read_pixel(const uint8_t *rgb)
{
    return (lanes){rgb[0], rgb[1], rgb[2], rgb[3]};
}

/* One row; a byte after it must be readable. */
VARIANTS(void, resize_row,
         (const uint8_t *from, const struct resize_side *side, uint8_t *to),
         (from, side, to))
{
    for (int i = 0; i < side->n; i++, to += 3) {
        const uint8_t *pixel = from + 3 * (size_t)side->taps[i].first;
        const int32_t *weights = weights_of(side, i);
        lanes sums = {half, half, half, half};

        for (int k = 0; k < side->taps[i].n; k++, pixel += 3)
            sums += read_pixel(pixel) * weights[k];
        for (int c = 0; c < 3; c++)
            to[c] = picture_resize_to_byte(sums[c]);
    }
}

static enum assay_status resize_rows(const struct picture *from,
                                     const struct resize_side *side,
                                     struct picture *to, struct error *err)
{
    size_t stride = (size_t)from->width * 3;
    uint8_t *row = mem_zalloc(stride + 1);

    if (!row)
        return error_nomem(err, stride + 1, "a row of pixels");
    for (int y = 0; y < to->height; y++) {
        memcpy(row, from->rgb + (size_t)y * stride, stride);
        resize_row(row, side, to->rgb + (size_t)y * (size_t)to->width * 3);
    }
    mem_free(row);
    return ASSAY_OK;
}

/* Mixes rows that lie `n` bytes apart. */
VARIANTS(void, mix_rows,
         (const uint8_t *restrict from, size_t n,
          const int32_t *restrict weights, int n_rows, int32_t *restrict sums,
          uint8_t *restrict to),
         (from, n, weights, n_rows, sums, to))
{
    for (size_t i = 0; i < n; i++)
        sums[i] = half;
    for (int k = 0; k < n_rows; k++, from += n) {
        for (size_t i = 0; i < n; i++)
            sums[i] += from[i] * weights[k];
    }
    for (size_t i = 0; i < n; i++)
        to[i] = picture_resize_to_byte(sums[i]);
}

static enum assay_status resize_columns(const struct picture *from,
                                        const struct resize_side *side,
                                        struct picture *to, struct error *err)
{
    size_t stride = (size_t)to->width * 3;
    int32_t *sums = mem_array(stride, sizeof *sums);

    if (!sums)
        return error_nomem(err, stride * sizeof *sums, "a row of pixels");
    for (int y = 0; y < to->height; y++)
        mix_rows(from->rgb + (size_t)side->taps[y].first * stride, stride,
                 weights_of(side, y), side->taps[y].n, sums,
                 to->rgb + (size_t)y * stride);
    mem_free(sums);
    return ASSAY_OK;
}

/* Resizes the side that differs; if none does, the height, which copies. */
static enum assay_status resize_along(const struct picture *from, int width,
                                      int height, enum resize_filter filter,
                                      struct picture *to, struct error *err)
{
    bool is_wide = width != from->width;
    struct resize_side side = {0};
    enum assay_status st = picture_init(to, width, height, err);

    if (!st && is_wide)
        st = picture_resize_make_side(&side, from->width, width, filter, err);
    else if (!st)
        st = picture_resize_make_side(&side, from->height, height, filter, err);
    if (!st && is_wide)
        st = resize_rows(from, &side, to, err);
    else if (!st)
        st = resize_columns(from, &side, to, err);
    side_release(&side);
    if (st)
        picture_release(to);
    return st;
}

enum assay_status picture_resize(const struct picture *picture, int width,
                                 int height, enum resize_filter filter,
                                 struct picture *out, struct error *err)
{
    struct picture rows = {0};
    enum assay_status st;

    *out = (struct picture){0};
    if (width == picture->width || height == picture->height)
        return resize_along(picture, width, height, filter, out, err);
    st = resize_along(picture, width, picture->height, filter, &rows, err);
    if (!st)
        st = resize_along(&rows, width, height, filter, out, err);
    picture_release(&rows);
    return st;
}
