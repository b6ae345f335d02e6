/* backend/dnnl/int8_maps.c - see int8_internal.h: ops that move numbers of maps
 * whose channels lie last. */
#include "backend/dnnl/int8_internal.h"

#include "ops/movement/concat.h"
#include "ops/movement/resize.h"
#include "ops/movement/slice.h"
#include "ops/pooling/max_pool2d.h"

#include <string.h>

/* Below this, a second thread costs more than it saves. */
enum { map_bytes = 1 << 15 };

static int64_t map_pixels(const struct tensor *map)
{
    const int64_t *dims = map->shape.dims;

    return dims[0] * dims[2] * dims[3];
}

/* Copies `n` channels of every pixel from one map to another. */
static void copy_channels(const struct tensor *from, int64_t first,
                          const struct tensor *to, int64_t at, int64_t n)
{
    size_t bytes = dtype_bytes(from->dtype);
    size_t from_step = (size_t)from->shape.dims[1] * bytes;
    size_t to_step = (size_t)to->shape.dims[1] * bytes;
    const char *x = (const char *)tensor_data(from) + (size_t)first * bytes;
    char *y = (char *)tensor_data(to) + (size_t)at * bytes;
    int64_t pixels = map_pixels(from);

#pragma omp parallel for if ((size_t)pixels * to_step > map_bytes)
    for (int64_t i = 0; i < pixels; i++)
        memcpy(y + (size_t)i * to_step, x + (size_t)i * from_step,
               (size_t)n * bytes);
}

/* ---- Concat -------------------------------------------------------------- */

bool int8_concat_takes(const struct onednn *dn, const struct node *node,
                       const struct tensor *const *inputs)
{
    bool has_last = false;

    (void)dn;
    for (size_t i = 0; i < node->n_inputs; i++) {
        if (inputs[i]->shape.rank != 4 ||
            inputs[i]->dtype != inputs[0]->dtype ||
            tensor_elements(inputs[i]) == 0)
            return false;
        has_last |= int8_is_last(inputs[i]);
    }
    return has_last && concat_axis(node, 4) == 1;
}

enum assay_status int8_concat(struct onednn *dn, struct job *job,
                              const struct tensor *const *inputs,
                              struct tensor *outputs, struct error *err)
{
    struct pool *pool = job->context->pool;
    enum dtype dtype = inputs[0]->dtype;
    int64_t at = 0;
    enum assay_status st = layout_tensor(pool, int8_layout(dn, dtype, &job->y),
                                         &job->y, outputs, err);

    for (size_t i = 0; !st && i < job->node->n_inputs; i++) {
        int64_t n = inputs[i]->shape.dims[1];
        struct tensor own;

        st = layout_convert(dn, pool, inputs[i],
                            int8_layout(dn, dtype, &inputs[i]->shape), &own,
                            err);
        if (!st)
            copy_channels(&own, 0, outputs, at, n);
        tensor_release(&own);
        at += n;
    }
    return st;
}

/* ---- Split --------------------------------------------------------------- */

bool int8_split_takes(const struct onednn *dn, const struct node *node,
                      const struct tensor *const *inputs)
{
    const struct split_attrs *attrs = node->attrs;

    (void)dn;
    return int8_is_last(inputs[0]) && (attrs->axis == 1 || attrs->axis == -3);
}

enum assay_status int8_split(struct onednn *dn, struct job *job,
                             const struct tensor *const *inputs,
                             struct tensor *outputs, struct error *err)
{
    int64_t at = 0;
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < job->node->n_outputs; i++) {
        struct shape shape = outputs[i].shape;
        int64_t n = shape.dims[1];

        st = layout_tensor(job->context->pool,
                           int8_layout(dn, inputs[0]->dtype, &shape), &shape,
                           &outputs[i], err);
        if (!st)
            copy_channels(inputs[0], at, &outputs[i], 0, n);
        at += n;
    }
    return st;
}

/* ---- maps of integers ---------------------------------------------------- */

bool int8_map_takes(const struct onednn *dn, const struct node *node,
                    const struct tensor *const *inputs)
{
    (void)dn, (void)node;
    return (inputs[0]->dtype == DTYPE_U8 || inputs[0]->dtype == DTYPE_I8) &&
           int8_is_last(inputs[0]);
}

#define LARGEST(name, type)                                                    \
    static void name(type *y, const type *x, int64_t n)                        \
    {                                                                          \
        for (int64_t i = 0; i < n; i++)                                        \
            y[i] = x[i] > y[i] ? x[i] : y[i];                                  \
    }
LARGEST(largest_u8, uint8_t)
LARGEST(largest_i8, int8_t)

/* The largest of every channel in the window at one place. */
static void pool_pixel(const struct max_pool2d_attrs *attrs,
                       const struct tensor *x, int64_t image, int64_t row,
                       int64_t column, uint8_t *y)
{
    const int64_t *dims = x->shape.dims;
    const uint8_t *data = tensor_data(x);
    bool is_signed = x->dtype == DTYPE_I8;

    memset(y, is_signed ? 0x80 : 0, (size_t)dims[1]);
    for (int64_t i = 0; i < attrs->kernel[0]; i++) {
        int64_t h = row * attrs->stride[0] - attrs->before[0] + i;

        for (int64_t k = 0; h >= 0 && h < dims[2] && k < attrs->kernel[1];
             k++) {
            int64_t w = column * attrs->stride[1] - attrs->before[1] + k;
            const uint8_t *from =
                data + ((image * dims[2] + h) * dims[3] + w) * dims[1];

            if (w < 0 || w >= dims[3])
                continue;
            if (is_signed)
                largest_i8((int8_t *)y, (const int8_t *)from, dims[1]);
            else
                largest_u8(y, from, dims[1]);
        }
    }
}

enum assay_status int8_max_pool(struct onednn *dn, struct job *job,
                                const struct tensor *const *inputs,
                                struct tensor *outputs, struct error *err)
{
    const struct max_pool2d_attrs *attrs = max_pool2d_attrs(job->node);
    const struct tensor *x = inputs[0];
    const int64_t *dims = job->y.dims;
    uint8_t *y;
    enum assay_status st =
        layout_tensor(job->context->pool, int8_layout(dn, x->dtype, &job->y),
                      &job->y, outputs, err);

    if (st)
        return st;
    y = tensor_data(outputs);
#pragma omp parallel for
    for (int64_t i = 0; i < dims[0] * dims[2]; i++) {
        for (int64_t k = 0; k < dims[3]; k++)
            pool_pixel(attrs, x, i / dims[2], i % dims[2], k,
                       y + (i * dims[3] + k) * dims[1]);
    }
    return ASSAY_OK;
}

/* ---- Resize -------------------------------------------------------------- */

enum { resize_scales = 2 }; /* the input */

/* Whether element i of the result is element i / factor of x, for whole
 * factors: from the left edges, or the one whose square lies there. */
static bool resize_repeats(const struct resize_attrs *attrs)
{
    return attrs->mode == RESIZE_NEAREST && !attrs->n_axes &&
           attrs->aspect == RESIZE_STRETCH &&
           (attrs->place == RESIZE_HALF_PIXEL ||
            (attrs->place == RESIZE_ASYMMETRIC &&
             attrs->nearest == RESIZE_FLOOR));
}

bool int8_resize_takes(const struct onednn *dn, const struct node *node,
                       const struct tensor *const *inputs)
{
    const struct tensor *scales =
        node->n_inputs > resize_scales ? inputs[resize_scales] : NULL;

    if (!int8_map_takes(dn, node, inputs) || !resize_repeats(node->attrs) ||
        !scales || scales->dtype != DTYPE_F32 || tensor_elements(scales) != 4)
        return false;
    for (size_t i = 0; i < 4; i++) {
        float scale = tensor_f32(scales)[i];

        if (i < 2 ? scale != 1
                  : !(scale >= 1 && scale <= 64 && scale == (float)(int)scale))
            return false;
    }
    return true;
}

/* A row of pixels, each so many times. */
static void repeat_pixels(const uint8_t *x, uint8_t *y, int64_t pixels,
                          size_t bytes, int64_t times)
{
    for (int64_t i = 0; i < pixels; i++, x += bytes) {
        for (int64_t k = 0; k < times; k++, y += bytes)
            memcpy(y, x, bytes);
    }
}

enum assay_status int8_resize(struct onednn *dn, struct job *job,
                              const struct tensor *const *inputs,
                              struct tensor *outputs, struct error *err)
{
    const struct tensor *x = inputs[0];
    const int64_t *from = x->shape.dims, *to = job->y.dims;
    size_t pixel = (size_t)from[1], row = pixel * (size_t)to[3];
    int64_t down = to[2] / from[2], across = to[3] / from[3];
    enum assay_status st =
        layout_tensor(job->context->pool, int8_layout(dn, x->dtype, &job->y),
                      &job->y, outputs, err);
    const uint8_t *data = tensor_data(x);
    uint8_t *y;

    if (st)
        return st;
    y = tensor_data(outputs);
#pragma omp parallel for if ((size_t)(to[0] * to[2]) * row > map_bytes)
    for (int64_t i = 0; i < from[0] * from[2]; i++) {
        uint8_t *first = y + (size_t)(i * down) * row;

        repeat_pixels(data + (size_t)(i * from[3]) * pixel, first, from[3],
                      pixel, across);
        for (int64_t k = 1; k < down; k++)
            memcpy(first + (size_t)k * row, first, row);
    }
    return ASSAY_OK;
}
