/* backend/cuda/kernels/pool.cu - windows over maps, as ops/pooling has them.
 *
 * SPDX-License-Identifier: MIT */

/* In the order of cuda_pool.c. */
enum { MAX, AVG, ADAPTIVE };

struct pool2d {
    int64_t n, c, height, width, to_height, to_width;
    int64_t kernel[2], stride[2], before[2], after[2];
    int mode, counts_padding;
    int64_t in_x[4], in_y[4]; /* strides */
};

__device__ inline void reach_of(const pool2d &p, int side, int64_t i,
                                int64_t *first, int64_t *end, int64_t *counted)
{
    int64_t size = side ? p.width : p.height;
    int64_t n = side ? p.to_width : p.to_height;
    int64_t from, to, padded;

    if (p.mode == ADAPTIVE) {
        *first = i * size / n;
        *end = ((i + 1) * size + n - 1) / n;
        *counted = *end - *first;
        return;
    }
    from = i * p.stride[side] - p.before[side];
    to = from + p.kernel[side];
    padded = size + p.after[side];
    *first = from < 0 ? 0 : from;
    *end = to > size ? size : to;
    *counted = p.counts_padding ? (to > padded ? padded : to) - from
                                : *end - *first;
}

/* One element of y a thread, in the order of its memory: last is the dimension
 * that is contiguous, 1 or 3. places: which of its window's values each maximum
 * is, for a backward pass; 0: not asked for. */
template <typename T>
__device__ void pool2d_kernel(const pool2d &p, const T *x, T *y,
                              uint8_t *places)
{
    bool is_channels_last = p.in_y[1] == 1 && p.c > 1;
    int64_t total = p.n * p.c * p.to_height * p.to_width;

    for (int64_t i = FIRST; i < total; i += STEP) {
        int64_t left = i, n, c, row, column;
        int64_t top, bottom, down, start, end, across;

        if (is_channels_last) {
            c = left % p.c;
            left /= p.c;
            column = left % p.to_width;
            left /= p.to_width;
            row = left % p.to_height;
            n = left / p.to_height;
        } else {
            column = left % p.to_width;
            left /= p.to_width;
            row = left % p.to_height;
            left /= p.to_height;
            c = left % p.c;
            n = left / p.c;
        }
        reach_of(p, 0, row, &top, &bottom, &down);
        reach_of(p, 1, column, &start, &end, &across);
        const T *map = x + n * p.in_x[0] + c * p.in_x[1];
        float found = p.mode == MAX ? -INFINITY_F : 0;
        int64_t from = row * p.stride[0] - p.before[0];
        int64_t left_of = column * p.stride[1] - p.before[1];
        int64_t place = (top - from) * p.kernel[1] + start - left_of;
        int64_t to = n * p.in_y[0] + c * p.in_y[1] + row * p.in_y[2] +
                     column * p.in_y[3];

        for (int64_t r = top; r < bottom; r++) {
            for (int64_t k = start; k < end; k++) {
                float v = load(map[r * p.in_x[2] + k * p.in_x[3]]);

                if (p.mode != MAX)
                    found += v;
                else if (v > found || v != v) {
                    found = v;
                    place = (r - from) * p.kernel[1] + k - left_of;
                }
            }
        }
        if (p.mode != MAX)
            found /= (float)(down * across);
        y[to] = store<T>(found);
        if (places)
            places[to] = (uint8_t)place;
    }
}

FOR_STORED(pool2d, (pool2d p, const T *x, T *y, uint8_t *places),
           (p, x, y, places))

/* ---- its gradients ---------------------------------------------------------- */

/* The windows that value r is in, along one side. */
__device__ inline void windows_of(const pool2d &p, int side, int64_t r,
                                  int64_t *first, int64_t *end)
{
    int64_t size = side ? p.width : p.height;
    int64_t n = side ? p.to_width : p.to_height;

    if (p.mode == ADAPTIVE) {
        *first = r * n / size;
        *end = ((r + 1) * n + size - 1) / size;
    } else {
        /* Sides are shorter than 2^31. */
        int from = (int)(r + p.before[side] - p.kernel[side] + p.stride[side]);
        int step = (int)p.stride[side];

        *first = from < 0 ? 0 : from / step;
        *end = (int)(r + p.before[side]) / step + 1;
    }
    *end = *end > n ? n : *end;
}

/* Where element i of [n,h,w,c] is. */
__device__ inline void place_of(int64_t i, const int64_t (&dims)[3],
                                int64_t (&at)[4])
{
    if (i >> 31 == 0) { /* many times faster */
        uint32_t left = (uint32_t)i;

        for (int k = 2; k >= 0; k--) {
            uint32_t size = (uint32_t)dims[k], next = left / size;

            at[k + 1] = left - next * size;
            left = next;
        }
        at[0] = left;
        return;
    }
    for (int k = 2; k >= 0; k--) {
        at[k + 1] = i % dims[k];
        i /= dims[k];
    }
    at[0] = i;
}

/* One element of dx a thread; both are [n,h,w,c]. */
template <typename T>
__device__ void pool2d_back_kernel(const pool2d &p, const T *dy,
                                   const uint8_t *places, T *dx)
{
    int64_t total = p.n * p.c * p.height * p.width;
    const int64_t dims[3] = {p.height, p.width, p.c};

    for (int64_t i = FIRST; i < total; i += STEP) {
        int64_t at_i[4];

        place_of(i, dims, at_i);
        int64_t n = at_i[0], row = at_i[1], column = at_i[2], c = at_i[3];
        int64_t top, bottom, start, end;
        float sum = 0;

        windows_of(p, 0, row, &top, &bottom);
        windows_of(p, 1, column, &start, &end);
        for (int64_t r = top; r < bottom; r++) {
            for (int64_t k = start; k < end; k++) {
                int64_t at = ((n * p.to_height + r) * p.to_width + k) * p.c + c;
                int64_t place = (row + p.before[0] - r * p.stride[0]) *
                                    p.kernel[1] +
                                column + p.before[1] - k * p.stride[1];
                int64_t first, last, down, across;

                if (p.mode == MAX) {
                    sum += places[at] == place ? load(dy[at]) : 0;
                    continue;
                }
                reach_of(p, 0, r, &first, &last, &down);
                reach_of(p, 1, k, &first, &last, &across);
                sum += load(dy[at]) / (float)(down * across);
            }
        }
        dx[i] = store<T>(sum);
    }
}

FOR_STORED(pool2d_back,
           (pool2d p, const T *dy, const uint8_t *places, T *dx),
           (p, dy, places, dx))

/* ---- in 1 to 3 dimensions, dense -------------------------------------------- */

enum { MAX_ND, AVG_ND, LP_ND };

/* As struct fitted_window in ops/convolution/window.h. */
struct window {
    int64_t kernel[3], stride[3], dilation[3], before[3], after[3];
    int64_t in[3], out[3];
};

struct pool_nd {
    window w;
    int64_t planes, power;
    int mode, counts_padding, is_by_column;
};

extern "C" __global__ void pool_nd(struct pool_nd p, const float *x, float *y,
                                   int64_t *places)
{
    const window &w = p.w;
    int64_t positions = w.out[0] * w.out[1] * w.out[2];
    int64_t volume = w.in[0] * w.in[1] * w.in[2];

    for (int64_t i = FIRST; i < p.planes * positions; i += STEP) {
        int64_t plane = i / positions, rest = i % positions, best = -1;
        int64_t at[3], begin[3], first[3], end[3], count = 1;
        const float *map = x + plane * volume;
        double sum = 0;
        float largest = -INFINITY_F;

        at[2] = rest % w.out[2];
        at[1] = rest / w.out[2] % w.out[1];
        at[0] = rest / (w.out[2] * w.out[1]);
        for (int k = 0; k < 3; k++) {
            int64_t step = w.dilation[k], room, steps;

            begin[k] = at[k] * w.stride[k] - w.before[k];
            room = w.in[k] - begin[k];
            first[k] = begin[k] < 0 ? (-begin[k] + step - 1) / step : 0;
            end[k] = room <= 0 ? 0 : (room + step - 1) / step;
            end[k] = end[k] < w.kernel[k] ? end[k] : w.kernel[k];
            steps = end[k] - first[k];
            if (p.counts_padding) {
                steps = (room + w.after[k] + step - 1) / step;
                steps = steps > w.kernel[k] ? w.kernel[k] : steps;
            }
            count *= steps;
        }
        for (int64_t a = first[0]; a < end[0]; a++) {
            for (int64_t b = first[1]; b < end[1]; b++) {
                for (int64_t c = first[2]; c < end[2]; c++) {
                    int64_t from = ((begin[0] + a * w.dilation[0]) * w.in[1] +
                                    begin[1] + b * w.dilation[1]) *
                                       w.in[2] +
                                   begin[2] + c * w.dilation[2];
                    float v = map[from];

                    if (p.mode == AVG_ND)
                        sum += v;
                    else if (p.mode == LP_ND)
                        sum += pow(fabs((double)v), (double)p.power);
                    else if (best < 0 || v > largest || v != v) {
                        best = from;
                        largest = v;
                    }
                }
            }
        }
        if (p.mode == AVG_ND)
            y[i] = (float)(sum / (double)count);
        else if (p.mode == LP_ND)
            y[i] = (float)pow(sum, 1 / (double)p.power);
        else
            y[i] = largest;
        if (p.mode == MAX_ND && places) {
            int64_t a = best / (w.in[1] * w.in[2]);
            int64_t b = best / w.in[2] % w.in[1], c = best % w.in[2];

            if (p.is_by_column)
                best = (c * w.in[1] + b) * w.in[0] + a;
            places[i] = best < 0 ? 0 : plane * volume + best;
        }
    }
}
