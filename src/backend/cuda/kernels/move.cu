/* backend/cuda/kernels/move.cu - elements from one place to another: copies
 * between any strides, pads, repetitions, resizing, indices.
 *
 * SPDX-License-Identifier: MIT */

struct alignas(16) sixteen {
    uint64_t halves[2];
};

__device__ inline void copy_element(char *to, const char *from, int bytes)
{
    if (bytes == 4)
        *(uint32_t *)to = *(const uint32_t *)from;
    else if (bytes == 16)
        *(sixteen *)to = *(const sixteen *)from;
    else if (bytes == 8)
        *(uint64_t *)to = *(const uint64_t *)from;
    else if (bytes == 2)
        *(uint16_t *)to = *(const uint16_t *)from;
    else
        *to = *from;
}

extern "C" __global__ void copy(walk w, view from, view to, int bytes)
{
    const view *const views[2] = {&from, &to};

    for (int64_t i = FIRST; i < w.n; i += STEP) {
        int64_t at[2];

        walk_to(w, views, i, at);
        copy_element(to.data + at[1] * bytes, from.data + at[0] * bytes, bytes);
    }
}

/* ---- short rows ------------------------------------------------------------ */

/* Rows of c elements as rows of `wide`, with zeros after them. A block counts
 * the elements from the first row of its share on, so the numbers it divides
 * are below 2^16, where the product with 2^32 / wide, rounded up, is exact. */
struct short_rows {
    int64_t n; /* elements of y */
    uint32_t c, wide, reciprocal;
    int64_t in_x, in_y; /* from one row to the next */
};

enum { ROW_ELEMENTS = 16 }; /* of a thread */

template <typename T>
__device__ void copy_rows(const short_rows &rows, const T *__restrict__ x,
                          T *__restrict__ y)
{
    uint32_t share = ROW_ELEMENTS * blockDim.x;

    for (int64_t at = (int64_t)blockIdx.x * share; at < rows.n;
         at += (int64_t)gridDim.x * share) {
        int64_t row = at / rows.wide;
        uint32_t first = (uint32_t)(at - row * rows.wide);
        int64_t left = rows.n - at;

#pragma unroll
        for (int k = 0; k < ROW_ELEMENTS; k++) {
            uint32_t i = threadIdx.x + k * blockDim.x;
            uint32_t from = (first + i) * (uint64_t)rows.reciprocal >> 32;
            uint32_t column = first + i - from * rows.wide;

            if (i < left)
                y[(row + from) * rows.in_y + column] =
                    column < rows.c ? x[(row + from) * rows.in_x + column]
                                    : T();
        }
    }
}

#define COPY_ROWS(bytes, T)                                                    \
    extern "C" __global__ void copy_rows_##bytes(short_rows rows, const T *x,  \
                                                 T *y)                         \
    {                                                                          \
        copy_rows(rows, x, y);                                                 \
    }

COPY_ROWS(2, uint16_t)
COPY_ROWS(4, uint32_t)
COPY_ROWS(8, uint64_t)
COPY_ROWS(16, sixteen)

/* ---- other types ----------------------------------------------------------- */

extern "C" __global__ void copy_converted(walk w, view from, view to)
{
    const view *const views[2] = {&from, &to};

    for (int64_t i = FIRST; i < w.n; i += STEP) {
        int64_t at[2];

        walk_to(w, views, i, at);
        store_any(to.data, at[1], to.type, load_any(from.data, at[0],
                                                    from.type));
    }
}

/* ---- numbers of the host ---------------------------------------------------- */

struct numbers {
    int64_t of[32];
};

extern "C" __global__ void put_numbers(numbers some, int n, int64_t *to)
{
    if (threadIdx.x < n)
        to[threadIdx.x] = some.of[threadIdx.x];
}

/* ---- each axis by a rule --------------------------------------------------- */

/* In the order of cuda_move.h. */
enum { KEEP, CONSTANT, REFLECT, EDGE, WRAP, NEAREST, NEAREST_FLOAT };

/* In the order of ops/movement/resize.h. */
enum {
    HALF_PIXEL,
    PYTORCH_HALF_PIXEL,
    ALIGN_CORNERS,
    ASYMMETRIC,
    HALF_PIXEL_FOR_NEAREST,
    CROP
};
enum { PREFER_FLOOR, PREFER_CEIL, FLOOR, CEIL };

struct mapped_axis {
    int64_t from, to; /* sizes */
    int64_t in_x, in_y; /* strides */
    int64_t before;     /* of pads */
    double scale, start, end;
    int rule, place, nearest;
};

struct mapping {
    mapped_axis axes[8];
    int rank;
};

__device__ inline double place_of(const mapped_axis &axis, int64_t i)
{
    double last = (double)axis.from - 1, x = (double)i;
    double length = __dmul_rn(axis.scale, (double)axis.from);

    switch (axis.place) {
    case PYTORCH_HALF_PIXEL:
        return axis.to > 1 ? (x + 0.5) / axis.scale - 0.5 : 0;
    case ALIGN_CORNERS:
        return length == 1 ? 0 : x * last / (length - 1);
    case ASYMMETRIC:
        return x / axis.scale;
    case HALF_PIXEL_FOR_NEAREST:
        return (x + 0.5) / axis.scale;
    case CROP:
        if (axis.to > 1)
            return __dadd_rn(__dmul_rn(axis.start, last),
                             __ddiv_rn(__dmul_rn(__dmul_rn(x, axis.end -
                                                                  axis.start),
                                                 last),
                                       (double)axis.to - 1));
        return 0.5 * (axis.start + axis.end) * last;
    default:
        return (x + 0.5) / axis.scale - 0.5;
    }
}

__device__ inline int64_t held_place(double place, int64_t size)
{
    return place < 0                  ? 0
           : place > (double)size - 1 ? size - 1
                                      : (int64_t)place;
}

__device__ inline int64_t nearest_of(const mapped_axis &axis, int64_t i)
{
    double place = place_of(axis, i);

    if (axis.nearest == PREFER_CEIL)
        place = floor(place + 0.5);
    else if (axis.nearest == FLOOR)
        place = floor(place);
    else if (axis.nearest == CEIL)
        place = ceil(place);
    else
        place = ceil(place - 0.5);
    return held_place(place, axis.from);
}

/* Which element of x; -1: none. */
__device__ inline int64_t source_of(const mapped_axis &axis, int64_t i)
{
    int64_t size = axis.from, at = i - axis.before, period = 2 * (size - 1);

    switch (axis.rule) {
    case KEEP:
        return i;
    case CONSTANT:
        return at >= 0 && at < size ? at : -1;
    case EDGE:
        return at < 0 ? 0 : at >= size ? size - 1 : at;
    case WRAP:
        return (at % size + size) % size;
    case NEAREST:
        return nearest_of(axis, i);
    case NEAREST_FLOAT:
        at = (int64_t)mul((float)i, __fdiv_rn((float)size, (float)axis.to));
        return at < size ? at : size - 1;
    default: /* REFLECT */
        if (size == 1)
            return 0;
        at = (at % period + period) % period;
        return at < size ? at : period - at;
    }
}

extern "C" __global__ void mapped(mapping m, const char *x, char *y, int64_t n,
                                  int bytes, uint64_t fill)
{
    for (int64_t i = FIRST; i < n; i += STEP) {
        int64_t left = i, from = 0, to = 0;
        bool is_inside = true;

        for (int r = m.rank - 1; r >= 0; r--) {
            const mapped_axis &axis = m.axes[r];
            int64_t next = n >> 31 ? left / axis.to
                                   : (uint32_t)left / (uint32_t)axis.to;
            int64_t index = left - next * axis.to, at = source_of(axis, index);

            is_inside = is_inside && at >= 0;
            from += at * axis.in_x;
            to += index * axis.in_y;
            left = next;
        }
        copy_element(y + to * bytes,
                     is_inside ? x + from * bytes : (const char *)&fill, bytes);
    }
}

/* The same for maps whose channels are last and enlarged as NEAREST_FLOAT does:
 * sixteen bytes a thread. `row` is how many of those a pixel has. */
extern "C" __global__ void nearest_pixels(const uint4 *x, uint4 *y, int n,
                                          int row, int height, int width,
                                          int to_height, int to_width)
{
    float down = __fdiv_rn((float)height, (float)to_height);
    float across = __fdiv_rn((float)width, (float)to_width);

    for (int64_t i = FIRST; i < n; i += STEP) {
        int at = (int)i / row, c = (int)i - at * row, line = at / to_width;
        int image = line / to_height;
        int from_y = (int)mul((float)(line - image * to_height), down);
        int from_x = (int)mul((float)(at - line * to_width), across);

        from_y = from_y < height ? from_y : height - 1;
        from_x = from_x < width ? from_x : width - 1;
        y[i] = x[((int64_t)(image * height + from_y) * width + from_x) * row +
                 c];
    }
}

/* ---- Resize by interpolation ------------------------------------------------- */

struct resize_taps {
    int64_t at[4];
    float weights[4];
    int is_outside;
};

/* The weight of an element at a distance, by Keys's cubic. */
__device__ inline double cubic_weight(double a, double distance)
{
    double d = fabs(distance);

    if (d <= 1)
        return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

/* What the new elements of an axis are made of. n_taps: 2, or 4 for cubics. */
extern "C" __global__ void make_taps(mapped_axis axis, int n_taps, float cubic,
                                     int excludes_outside, resize_taps *taps)
{
    for (int64_t i = FIRST; i < axis.to; i += STEP) {
        double place = place_of(axis, i), base = floor(place), sum = 0;
        double weights[4] = {0, 0, 0, 0};
        resize_taps t;

        t.is_outside = axis.place == CROP &&
                       (place < 0 || place > (double)axis.from - 1);
        for (int k = 0; k < n_taps; k++) {
            double at = base + k - (n_taps / 2 - 1), distance = place - at;
            bool is_there = at >= 0 && at < (double)axis.from;

            t.at[k] = held_place(at, axis.from);
            weights[k] = n_taps == 4 ? cubic_weight((double)cubic, distance)
                                     : 1 - fabs(distance);
            if (excludes_outside && !is_there)
                weights[k] = 0;
            sum += weights[k];
        }
        for (int k = 0; k < n_taps; k++)
            t.weights[k] =
                (float)(excludes_outside ? weights[k] / sum : weights[k]);
        taps[i] = t;
    }
}

/* x [outer, from, inner] to y [outer, to, inner]. */
extern "C" __global__ void resize_axis(const float *x, float *y,
                                       const resize_taps *taps, int64_t outer,
                                       int64_t from, int64_t to, int64_t inner,
                                       int n_taps, float outside)
{
    for (int64_t i = FIRST; i < outer * to * inner; i += STEP) {
        const resize_taps &t = taps[i / inner % to];
        const float *line = x + i / (inner * to) * from * inner + i % inner;
        float sum = mul(t.weights[0], line[t.at[0] * inner]);

        for (int k = 1; k < n_taps; k++)
            sum = add(sum, mul(t.weights[k], line[t.at[k] * inner]));
        y[i] = t.is_outside ? outside : sum;
    }
}

/* ---- indices --------------------------------------------------------------- */

/* Counted from 0; -1 where it is outside. That is told to the host, which looks
 * when it has waited: fault[0] is set last. */
__device__ inline int64_t index_at(const view &indices, int64_t i, int64_t size,
                                   volatile int64_t *fault)
{
    int64_t given = load_as<int64_t>(indices, i);
    int64_t at = given < 0 ? given + size : given;

    if (at >= 0 && at < size)
        return at;
    fault[1] = given;
    fault[2] = size;
    __threadfence_system();
    fault[0] = 1;
    return -1;
}

/* x [outer, size, inner] to y [outer, n, inner]. An index that is outside makes
 * zeros. */
extern "C" __global__ void gather(const char *x, view indices, char *y,
                                  int64_t outer, int64_t size, int64_t n,
                                  int64_t inner, int bytes, int64_t *fault)
{
    const uint64_t zero[2] = {0, 0};

    for (int64_t i = FIRST; i < outer * n * inner; i += STEP) {
        int64_t at = index_at(indices, i / inner % n, size, fault);
        int64_t from = (i / (inner * n) * size + at) * inner + i % inner;

        copy_element(y + i * bytes,
                     at < 0 ? (const char *)zero : x + from * bytes, bytes);
    }
}

/* Element by element along one axis: the walk goes over the indices; along the
 * axis x has the stride `step`, and its view the stride 0. */
extern "C" __global__ void gather_elements(walk w, view x, view indices, view y,
                                           int64_t size, int64_t step,
                                           int bytes, int64_t *fault)
{
    const view *const views[3] = {&x, &indices, &y};
    const uint64_t zero[2] = {0, 0};

    for (int64_t i = FIRST; i < w.n; i += STEP) {
        int64_t at[3], index;

        walk_to(w, views, i, at);
        index = index_at(indices, at[1], size, fault);
        copy_element(y.data + at[2] * bytes,
                     index < 0 ? (const char *)zero
                               : x.data + (at[0] + index * step) * bytes,
                     bytes);
    }
}

struct nd_sizes {
    int64_t of[8], strides[8];
    int n;
};

/* indices [outer, per, s.n]; y [outer, per, slice]; x has x_step elements for
 * each of outer. */
extern "C" __global__ void gather_nd(const char *x, view indices, char *y,
                                     nd_sizes s, int64_t outer, int64_t per,
                                     int64_t slice, int64_t x_step, int bytes,
                                     int64_t *fault)
{
    const uint64_t zero[2] = {0, 0};

    for (int64_t i = FIRST; i < outer * per * slice; i += STEP) {
        int64_t tuple = i / slice, from = tuple / per * x_step + i % slice;
        bool is_inside = true;

        for (int k = 0; k < s.n; k++) {
            int64_t at = index_at(indices, tuple * s.n + k, s.of[k], fault);

            is_inside = is_inside && at >= 0;
            from += at * s.strides[k];
        }
        copy_element(y + i * bytes,
                     is_inside ? x + from * bytes : (const char *)zero, bytes);
    }
}
