/* picture/picture_resize.c - see picture_resize.h.
 *
 * Rows first, then columns, each with weights in fixed point and a result of 8
 * bits: the arithmetic of Pillow, bit for bit, because torchvision's
 * preprocessing is Pillow's. */
#include "picture/picture_resize.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

enum { weight_bits = 22 }; /* 8 of the pixel and 2 to spare make 32 */

/* The pixels that one new pixel is made of, along a side. */
struct taps {
    int first, n;
};

/* Of all new pixels along a side; `room` weights each. */
struct side {
    struct taps *taps;
    int32_t *weights;
    int n, room;
};

static void side_release(struct side *side)
{
    mem_free(side->taps);
    mem_free(side->weights);
}

static enum assay_status side_init(struct side *side, int to, double reach,
                                   struct error *err)
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

/* A triangle over the pixels around the centre; adds up to 1. */
static void weigh(struct side *side, int at, double centre, double reach,
                  int size)
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

static enum assay_status make_side(struct side *side, int from, int to,
                                   enum resize_filter filter, struct error *err)
{
    double scale = (double)from / to;
    double reach = filter == RESIZE_AREA && scale > 1 ? scale : 1;
    enum assay_status st = side_init(side, to, reach, err);

    for (int i = 0; !st && i < to; i++)
        weigh(side, i, (i + 0.5) * scale, reach, from);
    return st;
}

/* The three channels of one new pixel; `step` bytes lie between its taps. */
static void mix(const uint8_t *from, size_t step, const int32_t *weights, int n,
                uint8_t *to)
{
    int32_t sums[3] = {1 << (weight_bits - 1), 1 << (weight_bits - 1),
                       1 << (weight_bits - 1)};

    for (int i = 0; i < n; i++, from += step) {
        for (int c = 0; c < 3; c++)
            sums[c] += from[c] * weights[i];
    }
    for (int c = 0; c < 3; c++) {
        int32_t value = sums[c] >> weight_bits;

        to[c] = (uint8_t)(value > 255 ? 255 : value);
    }
}

static const int32_t *weights_of(const struct side *side, int at)
{
    return side->weights + (size_t)at * (size_t)side->room;
}

static void resize_rows(const struct picture *from, const struct side *side,
                        struct picture *to)
{
    for (int row = 0; row < to->height; row++) {
        const uint8_t *pixels =
            from->rgb + (size_t)row * (size_t)from->width * 3;
        uint8_t *out = to->rgb + (size_t)row * (size_t)to->width * 3;

        for (int i = 0; i < to->width; i++)
            mix(pixels + 3 * (size_t)side->taps[i].first, 3,
                weights_of(side, i), side->taps[i].n, out + 3 * (size_t)i);
    }
}

static void resize_columns(const struct picture *from, const struct side *side,
                           struct picture *to)
{
    size_t stride = (size_t)to->width * 3;

    for (int row = 0; row < to->height; row++) {
        const uint8_t *top = from->rgb + (size_t)side->taps[row].first * stride;
        uint8_t *out = to->rgb + (size_t)row * stride;

        for (size_t i = 0; i < stride; i += 3)
            mix(top + i, stride, weights_of(side, row), side->taps[row].n,
                out + i);
    }
}

/* Along the side that differs; the height where none does, which copies. */
static enum assay_status resize_along(const struct picture *from, int width,
                                      int height, enum resize_filter filter,
                                      struct picture *to, struct error *err)
{
    bool is_wide = width != from->width;
    struct side side = {0};
    enum assay_status st = picture_init(to, width, height, err);

    if (!st && is_wide)
        st = make_side(&side, from->width, width, filter, err);
    else if (!st)
        st = make_side(&side, from->height, height, filter, err);
    if (!st && is_wide)
        resize_rows(from, &side, to);
    else if (!st)
        resize_columns(from, &side, to);
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
