/* backend/cuda/kernels/reorder.cu - from one layout to another.
 *
 * SPDX-License-Identifier: MIT */

/* The same order, another stored type. */
template <typename A, typename B>
__device__ void cast_elements(const A *x, B *y, int64_t n)
{
    for (int64_t i = FIRST; i < n; i += STEP)
        y[i] = store<B>(load(x[i]));
}

/* Of each of `n` matrices [rows, columns], the transpose: of maps, channels by
 * places or places by channels. Blocks of 32 x 8 threads, tiles of 32 x 32. */
template <typename A, typename B>
__device__ void turn_elements(const A *x, B *y, int64_t n, int64_t rows,
                              int64_t columns)
{
    __shared__ float tile[32][33];
    int64_t across = (columns + 31) / 32, down = (rows + 31) / 32;
    int column = threadIdx.x % 32, row = threadIdx.x / 32;

    for (int64_t at = blockIdx.x; at < n * across * down; at += gridDim.x) {
        int64_t matrix = at / (across * down);
        int64_t first_row = at / across % down * 32;
        int64_t first_column = at % across * 32;
        const A *from = x + matrix * rows * columns;
        B *to = y + matrix * rows * columns;

        for (int k = row; k < 32; k += 8) {
            int64_t r = first_row + k, c = first_column + column;

            if (r < rows && c < columns)
                tile[k][column] = load(from[r * columns + c]);
        }
        __syncthreads();
        for (int k = row; k < 32; k += 8) {
            int64_t r = first_column + k, c = first_row + column;

            if (r < columns && c < rows)
                to[r * rows + c] = store<B>(tile[column][k]);
        }
        __syncthreads();
    }
}

/* From rows to places of c channels with zeros up to `wide`. */
template <typename A, typename B>
__device__ void widen_elements(const A *x, B *y, int64_t n, int64_t plane,
                               int c, int wide)
{
    for (int64_t i = FIRST; i < n; i += STEP) {
        const A *from = x + i / plane * c * plane + i % plane;

        for (int k = 0; k < wide; k++)
            y[i * wide + k] = store<B>(k < c ? load(from[k * plane]) : 0.0f);
    }
}

/* Places of c channels, which are in_x elements apart, as places that are in_y
 * elements apart, with zeros after the channels. */
template <typename A, typename B>
__device__ void pad_elements(const A *x, B *y, int64_t n, int c, int in_x,
                             int in_y)
{
    for (int64_t i = FIRST; i < n; i += STEP) {
        int64_t place = i >> 32 ? i / in_y : (uint32_t)i / (uint32_t)in_y;
        int k = (int)(i - place * in_y);

        y[i] = store<B>(k < c ? load(x[place * in_x + k]) : 0.0f);
    }
}

/* Zeros from channel c on at each place of `wide`; n of them in all. */
template <typename T>
__device__ void clear_padding_kernel(T *y, int64_t n, int c, int wide)
{
    int more = wide - c;

    for (int64_t i = FIRST; i < n; i += STEP)
        y[i / more * wide + c + i % more] = store<T>(0.0f);
}

FOR_STORED(clear_padding, (T *y, int64_t n, int c, int wide), (y, n, c, wide))

#define PAIR(from, A, to, B)                                                   \
    extern "C" __global__ void cast_##from##_##to(const A *x, B *y, int64_t n) \
    {                                                                          \
        cast_elements(x, y, n);                                                \
    }                                                                          \
    extern "C" __global__ void turn_##from##_##to(                             \
        const A *x, B *y, int64_t n, int64_t rows, int64_t columns)            \
    {                                                                          \
        turn_elements(x, y, n, rows, columns);                                 \
    }                                                                          \
    extern "C" __global__ void widen_##from##_##to(                            \
        const A *x, B *y, int64_t n, int64_t plane, int c, int wide)           \
    {                                                                          \
        widen_elements(x, y, n, plane, c, wide);                               \
    }                                                                          \
    extern "C" __global__ void pad_##from##_##to(                              \
        const A *x, B *y, int64_t n, int c, int in_x, int in_y)                \
    {                                                                          \
        pad_elements(x, y, n, c, in_x, in_y);                                  \
    }

PAIR(f32, float, f32, float)
PAIR(f32, float, f16, half)
PAIR(f32, float, bf16, bfloat)
PAIR(f16, half, f32, float)
PAIR(f16, half, f16, half)
PAIR(f16, half, bf16, bfloat)
PAIR(bf16, bfloat, f32, float)
PAIR(bf16, bfloat, f16, half)
PAIR(bf16, bfloat, bf16, bfloat)
