/* backend/dnnl/int8_turn.c - maps of bytes, from dense to channels last and
 * back.
 *
 * oneDNN's own reorder goes through float32 where it has no kernel for bytes,
 * and takes several times as long as these loops. */
#include "backend/dnnl/int8_internal.h"

/* As many pixels as stay in the nearest cache with some hundred channels. */
enum { turn_pixels = 64 };

static void turn_last(const uint8_t *x, uint8_t *y, int64_t channels,
                      int64_t pixels, int64_t first, int64_t end)
{
    for (int64_t c = 0; c < channels; c++) {
        const uint8_t *from = x + c * pixels;

        for (int64_t p = first; p < end; p++)
            y[p * channels + c] = from[p];
    }
}

static void turn_first(const uint8_t *x, uint8_t *y, int64_t channels,
                       int64_t pixels, int64_t first, int64_t end)
{
    for (int64_t c = 0; c < channels; c++) {
        uint8_t *to = y + c * pixels;

        for (int64_t p = first; p < end; p++)
            to[p] = x[p * channels + c];
    }
}

bool int8_turn(const struct layout *from, const void *data,
               const struct layout *to, void *out)
{
    const int64_t *dims = from->shape.dims;
    bool is_last = to->order == ORDER_CHANNELS_LAST;
    int64_t pixels, each, pieces;

    if (from->shape.rank != 4 || from->dtype != to->dtype ||
        dtype_bytes(from->dtype) != 1 ||
        !(is_last
              ? from->order == ORDER_DENSE
              : from->order == ORDER_CHANNELS_LAST && to->order == ORDER_DENSE))
        return false;
    pixels = dims[2] * dims[3];
    each = dims[1] * pixels;
    pieces = (pixels + turn_pixels - 1) / turn_pixels;
#pragma omp parallel for
    for (int64_t i = 0; i < dims[0] * pieces; i++) {
        const uint8_t *x = (const uint8_t *)data + i / pieces * each;
        uint8_t *y = (uint8_t *)out + i / pieces * each;
        int64_t first = i % pieces * turn_pixels;
        int64_t end =
            first + turn_pixels < pixels ? first + turn_pixels : pixels;

        if (is_last)
            turn_last(x, y, dims[1], pixels, first, end);
        else
            turn_first(x, y, dims[1], pixels, first, end);
    }
    return true;
}
