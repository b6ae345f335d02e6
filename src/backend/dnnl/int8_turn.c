/* backend/dnnl/int8_turn.c - maps of bytes, from dense to channels last and
 * back.
 *
 * oneDNN's own reorder goes through float32 where it has no kernel for bytes,
 * and takes several times as long as these loops. */
#include "backend/dnnl/int8_internal.h"

#include "base/variants.h"

/* Of a block; as many pixels as stay in the nearest cache with some hundred
 * channels; below so many bytes a second thread costs more than it saves. */
enum { turn_side = 16, turn_pixels = 64, turn_bytes = 1 << 15 };

/* ---- matrices of bytes --------------------------------------------------- */

#ifdef __x86_64__
#include <immintrin.h>

/* A block of 16 by 16. Four times, row i of the first half alternates with row
 * i of the second: that is a transpose. */
static void turn_block(const uint8_t *x, int64_t x_step, uint8_t *y,
                       int64_t y_step)
{
    __m128i rows[turn_side], next[turn_side];

    for (int i = 0; i < turn_side; i++)
        rows[i] = _mm_loadu_si128((const __m128i *)(x + i * x_step));
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < turn_side / 2; i++) {
            next[2 * i] = _mm_unpacklo_epi8(rows[i], rows[i + turn_side / 2]);
            next[2 * i + 1] =
                _mm_unpackhi_epi8(rows[i], rows[i + turn_side / 2]);
        }
        for (int i = 0; i < turn_side; i++)
            rows[i] = next[i];
    }
    for (int i = 0; i < turn_side; i++)
        _mm_storeu_si128((__m128i *)(y + i * y_step), rows[i]);
}
#else
static void turn_block(const uint8_t *x, int64_t x_step, uint8_t *y,
                       int64_t y_step)
{
    for (int i = 0; i < turn_side; i++) {
        for (int k = 0; k < turn_side; k++)
            y[k * y_step + i] = x[i * x_step + k];
    }
}
#endif

/* y[k][i] = x[i][k] for n rows of x and m columns; a step is a row's length in
 * memory. */
static void turn_matrix(const uint8_t *x, int64_t x_step, int64_t n, uint8_t *y,
                        int64_t y_step, int64_t m)
{
    int64_t rows = n - n % turn_side, columns = m - m % turn_side;

    for (int64_t i = 0; i < rows; i += turn_side) {
        for (int64_t k = 0; k < columns; k += turn_side)
            turn_block(x + i * x_step + k, x_step, y + k * y_step + i, y_step);
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = i < rows ? columns : 0; k < m; k++)
            y[k * y_step + i] = x[i * x_step + k];
    }
}

/* The pixels of a photograph, whose colours are apart. */
VARIANTS(void, turn_colours,
         (const uint8_t *restrict r, const uint8_t *restrict g,
          const uint8_t *restrict b, uint8_t *restrict y, int64_t n),
         (r, g, b, y, n))
{
    for (int64_t i = 0; i < n; i++) {
        y[3 * i] = r[i];
        y[3 * i + 1] = g[i];
        y[3 * i + 2] = b[i];
    }
}

/* ---- maps ---------------------------------------------------------------- */

static void turn_last(const uint8_t *x, uint8_t *y, int64_t channels,
                      int64_t pixels, int64_t first, int64_t n)
{
    if (channels == 3)
        turn_colours(x + first, x + pixels + first, x + 2 * pixels + first,
                     y + 3 * first, n);
    else
        turn_matrix(x + first, pixels, channels, y + first * channels, channels,
                    n);
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
#pragma omp parallel for if (dims[0] * each > turn_bytes)
    for (int64_t i = 0; i < dims[0] * pieces; i++) {
        const uint8_t *x = (const uint8_t *)data + i / pieces * each;
        uint8_t *y = (uint8_t *)out + i / pieces * each;
        int64_t first = i % pieces * turn_pixels;
        int64_t n = pixels - first < turn_pixels ? pixels - first : turn_pixels;

        if (is_last)
            turn_last(x, y, dims[1], pixels, first, n);
        else
            turn_matrix(x + first * dims[1], dims[1], n, y + first, pixels,
                        dims[1]);
    }
    return true;
}
