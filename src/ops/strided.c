/* ops/strided.c - see strided_internal.h. */
#include "ops/strided_internal.h"

#include "ops/op_threads.h"
#include "ops/rows_internal.h"

#include <string.h>
#ifdef __x86_64__
#include <xmmintrin.h>
#endif

enum {
    parallel_elements = 1 << 15, /* fewer are not worth a second thread */
    tile = 32 /* rows and columns of a transpose that fit the cache */
};

struct strides strides_dense(const struct shape *shape)
{
    struct strides strides = {{0}};
    int64_t step = 1;

    for (int i = shape->rank - 1; i >= 0; i--) {
        strides.of[i] = step;
        step *= shape->dims[i];
    }
    return strides;
}

struct strides strides_repeat(const struct shape *from, const struct shape *to)
{
    struct strides dense = strides_dense(from), strides = {{0}};
    int missing = to->rank - from->rank;

    for (int i = 0; i < from->rank; i++) {
        if (from->dims[i] != 1)
            strides.of[missing + i] = dense.of[i];
    }
    return strides;
}

/* Whether dimension `source` continues where the walk's last one ends. */
static bool walk_continues(const struct walk *walk, int dimension, int64_t size,
                           const struct strides *strides, int source)
{
    for (int a = 0; a < walk->n_arrays; a++) {
        if (walk->strides[a].of[dimension] != strides[a].of[source] * size)
            return false;
    }
    return true;
}

struct walk walk_start(const struct shape *shape, const struct strides *strides,
                       int n_arrays)
{
    struct walk walk = {.n_arrays = n_arrays, .n_rows = 1, .length = 1};

    for (int i = 0; i < shape->rank; i++) {
        int64_t size = shape->dims[i];

        if (size == 0) /* nothing to walk over */
            return (struct walk){.n_arrays = n_arrays};
        if (size == 1)
            continue;
        if (walk.rank && walk_continues(&walk, walk.rank - 1, size, strides, i))
            walk.rank--, size *= walk.dims[walk.rank];
        walk.dims[walk.rank] = size;
        for (int a = 0; a < n_arrays; a++)
            walk.strides[a].of[walk.rank] = strides[a].of[i];
        walk.rank++;
    }
    if (walk.rank) {
        walk.rank--;
        walk.length = walk.dims[walk.rank];
        for (int a = 0; a < n_arrays; a++)
            walk.steps[a] = walk.strides[a].of[walk.rank];
    }
    for (int i = 0; i < walk.rank; i++)
        walk.n_rows *= walk.dims[i];
    return walk;
}

void walk_seek(struct walk *walk, int64_t row)
{
    memset(walk->at, 0, sizeof walk->at);
    for (int i = walk->rank - 1; i >= 0; i--) {
        walk->index[i] = row % walk->dims[i];
        row /= walk->dims[i];
        for (int a = 0; a < walk->n_arrays; a++)
            walk->at[a] += walk->index[i] * walk->strides[a].of[i];
    }
}

void walk_next(struct walk *walk)
{
    for (int i = walk->rank - 1; i >= 0; i--) {
        walk->index[i]++;
        for (int a = 0; a < walk->n_arrays; a++)
            walk->at[a] += walk->strides[a].of[i];
        if (walk->index[i] < walk->dims[i])
            return;
        for (int a = 0; a < walk->n_arrays; a++)
            walk->at[a] -= walk->dims[i] * walk->strides[a].of[i];
        walk->index[i] = 0;
    }
}

/* n elements, from_step and to_step apart. */
static void copy_row(size_t bytes, const char *from, int64_t from_step,
                     char *to, int64_t to_step, int64_t n)
{
#define COPY(type)                                                             \
    for (int64_t i = 0; i < n; i++)                                            \
        ((type *)to)[i * to_step] = ((const type *)from)[i * from_step];

    if (from_step == 1 && to_step == 1)
        memcpy(to, from, (size_t)n * bytes);
    else if (bytes == 1)
        COPY(uint8_t)
    else if (bytes == 2)
        COPY(uint16_t)
    else if (bytes == 4)
        COPY(uint32_t)
    else
        COPY(uint64_t)
#undef COPY
}

#ifdef __x86_64__
/* Squares of 4: rows of `to` are columns of `from`, whose elements are
 * neighbours. How many columns were copied is a multiple of 4. */
static int64_t copy_squares(const float *from, int64_t step, float *to,
                            int64_t row_to, int64_t n)
{
    int64_t c = 0;

    for (; c + 4 <= n; c += 4) {
        __m128 a = _mm_loadu_ps(from + c * step);
        __m128 b = _mm_loadu_ps(from + (c + 1) * step);
        __m128 d = _mm_loadu_ps(from + (c + 2) * step);
        __m128 e = _mm_loadu_ps(from + (c + 3) * step);

        _MM_TRANSPOSE4_PS(a, b, d, e);
        _mm_storeu_ps(to + c, a);
        _mm_storeu_ps(to + row_to + c, b);
        _mm_storeu_ps(to + 2 * row_to + c, d);
        _mm_storeu_ps(to + 3 * row_to + c, e);
    }
    return c;
}
#else
static int64_t copy_squares(const float *from, int64_t step, float *to,
                            int64_t row_to, int64_t n)
{
    (void)from, (void)step, (void)to, (void)row_to, (void)n;
    return 0;
}
#endif

/* Four rows of a tile, of numbers of 4 bytes. */
static void copy_four(const char *from, int64_t step, char *to, int64_t row_to,
                      int64_t n)
{
    int64_t done = copy_squares((const float *)(const void *)from, step,
                                (float *)(void *)to, row_to, n);

    for (int64_t i = 0; i < 4 && done < n; i++)
        copy_row(4, from + (i + done * step) * 4, step,
                 to + (i * row_to + done) * 4, 1, n - done);
}

/* Tiles of the rows [r, last), which start one element apart in `from`: copied
 * row by row, every element would come from another cache line. */
static void copy_tiled(const struct walk *walk, size_t bytes, const char *from,
                       char *to, int64_t r, int64_t last)
{
    int64_t row_from = walk->strides[0].of[walk->rank - 1];
    int64_t row_to = walk->strides[1].of[walk->rank - 1];

    for (int64_t c = 0; c < walk->length; c += tile) {
        int64_t n = walk->length - c < tile ? walk->length - c : tile;

        int64_t i = r;

        for (; bytes == 4 && i + 4 <= last; i += 4)
            copy_four(from + (i + c * walk->steps[0]) * 4, walk->steps[0],
                      to + (i * row_to + c) * 4, row_to, n);
        for (; i < last; i++)
            copy_row(bytes,
                     from +
                         (i * row_from + c * walk->steps[0]) * (int64_t)bytes,
                     walk->steps[0],
                     to + (i * row_to + c * walk->steps[1]) * (int64_t)bytes,
                     walk->steps[1], n);
    }
}

/* How many tiles there are down the rows of a matrix. */
static int64_t tiles_down(const struct walk *walk)
{
    return (walk->dims[walk->rank - 1] + tile - 1) / tile;
}

/* The pieces [first, last), each of them a tile's rows of one matrix. */
static void copy_tiles(const struct walk *walk, size_t bytes, const char *from,
                       char *to, int64_t first, int64_t last)
{
    int64_t rows = walk->dims[walk->rank - 1], down = tiles_down(walk);
    struct walk now = *walk;

    for (int64_t i = first; i < last; i++) {
        int64_t r = i % down * tile;

        if (i == first || r == 0)
            walk_seek(&now, i / down * rows);
        copy_tiled(&now, bytes, from + now.at[0] * (int64_t)bytes,
                   to + now.at[1] * (int64_t)bytes, r,
                   r + tile < rows ? r + tile : rows);
    }
}

/* Copies rows [first, last) of the walk. */
static void copy_rows(const struct walk *walk, size_t bytes, const char *from,
                      char *to, int64_t first, int64_t last)
{
    struct walk now = *walk;

    for (int64_t i = first; i < last; i++) {
        if (i == first)
            walk_seek(&now, i);
        else
            walk_next(&now);
        copy_row(bytes, from + now.at[0] * (int64_t)bytes, now.steps[0],
                 to + now.at[1] * (int64_t)bytes, now.steps[1], now.length);
    }
}

/* Rows so short that a call for each takes longer than the copy, and many of
 * them next to each other. */
static bool walk_is_short(const struct walk *walk, size_t bytes)
{
    enum { longest = 16, least_rows = 8 };

    return bytes == 4 && walk->rank && walk->steps[0] == 1 &&
           walk->steps[1] == 1 && walk->length <= longest &&
           walk->dims[walk->rank - 1] >= least_rows;
}

/* n numbers of 4 bytes. */
static void copy_short(const float *from, float *to, int64_t n)
{
    enum { at_once = 4 };

    for (; n >= at_once; n -= at_once, from += at_once, to += at_once)
        memcpy(to, from, at_once * sizeof *to);
    for (; n > 0; n--)
        *to++ = *from++;
}

/* n rows of them; the steps are numbers from one row to the next. Backwards
 * they are rare. */
static void copy_short_run(const float *from, int64_t from_step, float *to,
                           int64_t to_step, int64_t length, int64_t n)
{
    size_t bytes = (size_t)length * sizeof *to;

    bool is_forward = from_step >= 0 && to_step >= 0;

    if (is_forward && (length == 1 || length == 2 || length == 4)) {
        rows_copy((char *)to, (size_t)to_step * sizeof *to, (const char *)from,
                  (size_t)from_step * sizeof *from, bytes, (size_t)n);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        copy_short(from + i * from_step, to + i * to_step, length);
}

/* The same as copy_rows() for them. */
static void copy_short_rows(const struct walk *walk, const float *from,
                            float *to, int64_t first, int64_t last)
{
    int inner = walk->rank - 1;
    struct walk now = *walk;

    while (first < last) {
        int64_t n;

        walk_seek(&now, first);
        n = walk->dims[inner] - now.index[inner];
        n = n < last - first ? n : last - first;
        copy_short_run(from + now.at[0], walk->strides[0].of[inner],
                       to + now.at[1], walk->strides[1].of[inner], walk->length,
                       n);
        first += n;
    }
}

void strided_copy(const struct op_context *context, const struct shape *shape,
                  size_t element_bytes, const void *from,
                  const struct strides *from_strides, void *to,
                  const struct strides *to_strides)
{
    struct strides both[] = {*from_strides, *to_strides};
    struct walk walk = walk_start(shape, both, 2);
    bool is_tiled = walk.rank && walk.steps[0] != 1 && walk.steps[1] == 1 &&
                    walk.strides[0].of[walk.rank - 1] == 1;
    int64_t n = walk.n_rows;
    int threads = op_threads(context);

    if (is_tiled)
        n = walk.n_rows / walk.dims[walk.rank - 1] * tiles_down(&walk);
    if (walk.n_rows * walk.length < parallel_elements || n < 2)
        threads = 1;
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (int part = 0; part < threads; part++) {
        int64_t first = n * part / threads, last = n * (part + 1) / threads;

        if (is_tiled)
            copy_tiles(&walk, element_bytes, from, to, first, last);
        else if (walk_is_short(&walk, element_bytes))
            copy_short_rows(&walk, from, to, first, last);
        else
            copy_rows(&walk, element_bytes, from, to, first, last);
    }
}

void strided_take(const struct op_context *context, const struct tensor *x,
                  int64_t first, const struct strides *strides,
                  const struct tensor *y)
{
    struct strides dense = strides_dense(&y->shape);
    size_t bytes = dtype_bytes(x->dtype);

    if (tensor_elements(y))
        strided_copy(context, &y->shape, bytes,
                     (char *)tensor_data(x) + first * (int64_t)bytes, strides,
                     tensor_data(y), &dense);
}

void strided_put(const struct op_context *context, const struct tensor *x,
                 const struct tensor *y, int64_t first,
                 const struct strides *strides)
{
    struct strides dense = strides_dense(&x->shape);
    size_t bytes = dtype_bytes(x->dtype);

    if (tensor_elements(x))
        strided_copy(context, &x->shape, bytes, tensor_data(x), &dense,
                     (char *)tensor_data(y) + first * (int64_t)bytes, strides);
}

void strided_fill(const struct tensor *y, const void *element)
{
    static const char zeros[8];
    size_t bytes = dtype_bytes(y->dtype), n = tensor_elements(y);
    char *data = tensor_data(y);

    if (memcmp(element, zeros, bytes) == 0) {
        memset(data, 0, n * bytes);
        return;
    }
    for (size_t i = 0; i < n; i++)
        memcpy(data + i * bytes, element, bytes);
}

enum assay_status strided_broadcast(const struct tensor *const *inputs,
                                    size_t n, struct shape *shape,
                                    struct error *err)
{
    char a[64], b[64];

    *shape = (struct shape){0};
    for (size_t i = 0; i < n; i++) {
        const struct shape *other = &inputs[i]->shape;
        struct shape old = *shape;
        int rank = old.rank > other->rank ? old.rank : other->rank;

        shape->rank = rank;
        for (int k = 1; k <= rank; k++) {
            int64_t x = k <= old.rank ? old.dims[old.rank - k] : 1;
            int64_t y = k <= other->rank ? other->dims[other->rank - k] : 1;

            if (x != y && x != 1 && y != 1)
                return error_set(err, ASSAY_BAD_INPUT,
                                 "%s and %s cannot be broadcast together",
                                 shape_text(&old, a, sizeof a),
                                 shape_text(other, b, sizeof b));
            shape->dims[rank - k] = x == 1 ? y : x;
        }
    }
    return ASSAY_OK;
}
